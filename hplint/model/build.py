"""Building a model in a child process: start it, wait for it, say in one line what went wrong."""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from hplint.model.failure import ModelError
from hplint.model.spec import ModelSpec
from hplint.model.tree import ModuleTree
from hplint.text.wording import quote

if TYPE_CHECKING:
    from subprocess import Popen

__all__ = ["TIMEOUT", "Built", "ModelError", "build"]

TIMEOUT = 300.0
"""Seconds."""
_QUIET_SECONDS = 1.0
_TAIL = 4000


class Built(NamedTuple):
    """``files`` are those that the build read: path -> (size, mtime in ns), None for files looked for in vain."""

    tree: ModuleTree
    files: dict[str, tuple[int, int] | None]


def build(
    spec: ModelSpec,
    *,
    src: tuple[str, ...] = (),
    timeout: float = TIMEOUT,
    memory: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Built:
    """Build an ``hf`` or ``py`` model on the meta device in a child process and read its tree.

    ``src`` are folders that imports of a ``py`` factory may come from; ``timeout`` is in seconds; ``memory`` is the
    resident size in bytes at which the child is ended (default: six tenths of the machine's). ``progress`` is called
    with a line when it takes longer than a second. Raises ModelError with the cause. KeyboardInterrupt ends the child.
    """
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="hplint-", ignore_cleanup_errors=True) as folder:
        answer = os.path.join(folder, "answer.json")
        output = os.path.join(folder, "output")
        request = _request(spec, src, answer, memory)
        status = _run(request, spec, output, timeout, progress)
        return _read_answer(answer, output, status)


def _request(spec: ModelSpec, src: tuple[str, ...], answer: str, memory: int | None) -> dict[str, Any]:
    return {**model_request(spec, src), "answer": answer, "memory": memory}


def model_request(spec: ModelSpec, src: tuple[str, ...]) -> dict[str, Any]:
    """What :func:`hplint.model.make_model.make_model` needs to know, as plain values."""
    root, name = package_root(spec.path) if spec.kind == "py" and spec.path else ("", spec.name)
    folders = [root, *(os.path.abspath(s) for s in src), spec.base]
    return {
        "kind": spec.kind,
        "path": spec.path,
        "name": name,
        "shown": os.path.basename(spec.path) if spec.path else spec.name,
        "factory": spec.factory,
        "arguments": dict(spec.arguments),
        "sys_path": list(dict.fromkeys(f for f in folders if f)),
    }


def package_root(path: str) -> tuple[str, str]:
    """The folder that a Python file is imported from, and its dotted name there."""
    folder, file = os.path.split(path)
    names = [] if file == "__init__.py" else [file.removesuffix(".py")]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    return folder, ".".join(names)


def _run(
    request: Mapping[str, Any],
    spec: ModelSpec,
    output: str,
    timeout: float,
    progress: Callable[[str], None] | None,
) -> int:
    """Run the child to its end and return its exit status."""
    import subprocess

    with open(output, "wb") as sink:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "hplint.model.build_worker"],
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=subprocess.STDOUT,
            cwd=spec.base if os.path.isdir(spec.base) else None,
            env=child_environment(),
            start_new_session=True,
        )
    try:
        assert child.stdin
        with suppress(OSError):  # when it ended at once, its status and output tell why
            child.stdin.write(json.dumps(_literals(request)).encode() + b"\n")
            child.stdin.flush()
        return _wait(child, spec, timeout, progress)
    finally:
        _end(child)


def _literals(request: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments may be any Python literals: they travel as text."""
    return {**request, "arguments": repr(request["arguments"])}


def _wait(child: "Popen[bytes]", spec: ModelSpec, timeout: float, progress: Callable[[str], None] | None) -> int:
    from subprocess import TimeoutExpired

    start = time.monotonic()
    if progress and timeout > _QUIET_SECONDS:
        try:
            return child.wait(_QUIET_SECONDS)
        except TimeoutExpired:
            progress(f"building the model {spec.text} on the meta device; the result is kept for the next time")
    try:
        return child.wait(max(0.0, timeout - (time.monotonic() - start)))
    except TimeoutExpired:
        raise ModelError(
            f"the build took longer than {timeout:g} seconds and was ended",
            "allow it more time (build-timeout in the configuration), or build fewer layers",
        ) from None


def _end(child: "Popen[bytes]") -> None:
    """End the child and whatever it started."""
    import signal

    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    if child.poll() is None:
        child.kill()
    if child.stdin:
        with suppress(OSError):
            child.stdin.close()
    child.wait()


def child_environment() -> dict[str, str]:
    """The user's environment, offline and quiet, for processes that run a user's model. hplint's own folder is added
    for runs from a source tree."""
    env = dict(os.environ)
    env.update(
        HF_HUB_OFFLINE="1",
        TRANSFORMERS_OFFLINE="1",
        HF_DATASETS_OFFLINE="1",
        HF_HUB_DISABLE_TELEMETRY="1",
        TRANSFORMERS_VERBOSITY="error",
        TOKENIZERS_PARALLELISM="false",
        PYTHONIOENCODING="utf-8",
        PYTHONDONTWRITEBYTECODE="1",
    )
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if os.path.basename(here) not in ("site-packages", "dist-packages"):
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (here, env.get("PYTHONPATH", ""))))
    return env


def _read_answer(path: str, output: str, status: int) -> Built:
    try:
        with open(path, encoding="utf-8") as file:
            answer = json.load(file)
    except (OSError, ValueError):
        raise _without_answer(status, _last_line(output)) from None
    if "tree" not in answer:
        raise ModelError(answer["reason"], answer["hint"])
    files = {p: None if s is None else (s[0], s[1]) for p, s in answer["files"].items()}
    return Built(ModuleTree.from_json(answer["tree"]), files)


def _without_answer(status: int, last: str) -> ModelError:
    said = f"; the last line that it wrote: {quote(last)}" if last else ""
    if status >= 0:
        return ModelError(f"the process that builds it ended with status {status} before it was done{said}")
    import signal

    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "unknown"
    cause = ", as it is when memory runs out" if name == "SIGKILL" else ""
    return ModelError(f"the process that builds it was killed by signal {-status} ({name}){cause}{said}")


def _last_line(path: str) -> str:
    """The last line that is not blank of what the child wrote."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - _TAIL))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
