"""One local rank: ``python -m hplint.apply.run.rank FOLDER``, started by launch.py.

The folder holds the request (``request``); the rank leaves ``result-N.json`` or ``failure-N.json`` there, and all the
while notes in ``place-N`` where it stands. What the model's code prints does no harm.
"""

import json
import os
import pickle
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hplint.apply.run.place import Place
    from hplint.apply.run.request import ApplyRequest


def main() -> None:
    """Do the job and end at once: taking a process group down orderly takes time and helps nobody."""
    folder, rank = Path(sys.argv[1]), int(os.environ["RANK"])
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    from hplint.apply.run.failure import failure_of
    from hplint.apply.run.place import Place

    place = Place(folder / f"place-{rank}")
    status = 0
    try:
        request: ApplyRequest = pickle.loads((folder / "request").read_bytes())
        result = _run(request, folder, rank, place)
        write(folder / f"result-{rank}.json", result)
    except BaseException as error:
        import traceback

        traceback.print_exc()  # to the log of the rank
        failure = failure_of(error, rank, time.time(), place.phase, place.boundary)
        write(folder / f"failure-{rank}.json", failure.to_json())
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _run(request: "ApplyRequest", folder: Path, rank: int, place: "Place") -> dict[str, Any]:
    from hplint.model.read_files import no_network

    no_network()
    if request.options.dry_run:
        from hplint.apply.dry_run.dry_run import dry_run

        return dry_run(request, place)
    import torch
    import torch.distributed as dist

    from hplint.apply.run.job import run_job

    device = os.environ["HPLINT_DEVICE"]
    if device == "cuda":
        torch.cuda.set_device(rank)
    place.at("joining the process group")
    dist.init_process_group(
        "nccl" if device == "cuda" else "gloo",
        init_method=f"file://{folder / 'store'}",
        rank=rank,
        world_size=request.ranks,
        timeout=timedelta(seconds=request.options.time_limit + 30),
    )
    result = run_job(request, place)
    if not (result.get("verified") or {}).get("fault"):
        # A rank that leaves early takes what is on its way to the others with it.
        place.at("waiting for the others")
        dist.barrier()
    return result


def write(path: Path, value: dict[str, Any]) -> None:
    """Write JSON whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value), encoding="utf-8")
    part.replace(path)


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


if __name__ == "__main__":
    main()
