"""The child process that builds a model on the meta device and writes its module tree as JSON.

``build.py`` starts it as ``python -m hplint.model.build_worker`` with a request (one line of JSON) on stdin, which it
keeps open: the end of stdin means that the parent is gone. The answer goes to the file that the request names, so that
whatever the user's code prints does no harm: {"tree": …, "files": …} or {"reason": …, "hint": …}.
"""

import json
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from hplint.model.failure import ModelError

if TYPE_CHECKING:
    from torch import nn

    from hplint.model.tree import ModuleTree


def read_tree(model: "nn.Module", spec: str) -> "ModuleTree":
    """Describe ``model``; see :func:`hplint.model.read_tree.read_tree`."""
    from hplint.model.read_tree import read_tree as read

    return read(model, spec)


def main() -> None:
    """Answer one request and end the process at once: taking torch down orderly costs time and helps nobody."""
    from ast import literal_eval

    request = json.loads(sys.stdin.buffer.readline())
    request["arguments"] = literal_eval(request["arguments"])
    _stand_alone(request)
    try:
        answer = _answer(request)
    except ModelError as error:
        answer = {"reason": error.reason, "hint": error.hint}
    except MemoryError:
        answer = {"reason": "the build ran out of memory", "hint": ""}
    _write(request, answer)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise ModelError(f"torch cannot be imported: no module `{error.name}`") from None
        raise ModelError("torch is not installed here", f"pip install torch; hplint ran {sys.executable}") from None
    except Exception as error:
        raise ModelError(f"torch cannot be imported: {type(error).__name__}: {error}") from None

    from hplint.model.make_model import make_model
    from hplint.model.read_files import FilesRead, no_network

    no_network()
    files = FilesRead()
    model = make_model(request)
    read = files.stop() if request["kind"] == "py" else {}
    return {"tree": read_tree(model, "").to_json(), "files": read}


def _write(request: dict[str, Any], answer: dict[str, Any]) -> None:
    path = request["answer"]
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(answer, file)
    os.replace(path + ".part", path)
    os._exit(0)


def _stand_alone(request: dict[str, Any]) -> None:
    """Move the parent's pipe away from the user's code, and watch it and the memory."""
    pipe = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    threading.Thread(target=_end_with_parent, args=(pipe,), daemon=True).start()
    threading.Thread(target=_watch_memory, args=(request,), daemon=True).start()


def _end_with_parent(pipe: int) -> None:
    while os.read(pipe, 1024):
        pass
    os._exit(1)


def _watch_memory(request: dict[str, Any]) -> None:
    """A factory that builds real weights would take the machine down; it is ended before."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        limit = request["memory"] or page * os.sysconf("SC_PHYS_PAGES") * 6 // 10
        while True:
            with open("/proc/self/statm", "rb") as file:
                resident = int(file.read().split()[1]) * page
            if resident > limit:
                reason = f"the build took more than {limit / 2**30:.1f} GiB of memory"
                _write(request, {"reason": reason, "hint": "build the model on torch.device('meta'), without weights"})
            time.sleep(0.1)
    except (OSError, ValueError, AttributeError):
        return  # no /proc here


if __name__ == "__main__":
    main()
