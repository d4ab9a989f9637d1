"""Under torchrun every rank runs the whole command: rank 0 checks the plan, the others wait for what it decides."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from hplint.apply.run.failure import FOUND, WRONG_REQUEST, failure_of
from hplint.apply.run.place import Place, spell_place
from hplint.apply.run.request import ApplyRequest
from hplint.apply.run.torchrun import own_rank
from hplint.errors import HplintError, RequestError

_PATIENCE = 5.0
"""Seconds in which torchrun ends a rank that only lost another one, before it speaks up itself."""


class Ended(HplintError):
    """Another rank tells what is wrong: this one leaves in silence with the same exit code."""

    def __init__(self, exit_code: int) -> None:
        super().__init__("")
        self.exit_code = exit_code


def join(decide: Callable[[], ApplyRequest | int], time_limit: float) -> dict[str, Any]:
    """Join the running group and do what rank 0 decides: a request, or the exit code of a plan that is refused.

    The machine output, on the rank that is to tell it. Raises Ended on the others, and on all where rank 0 refuses;
    RankFailed on the first rank that fails.
    """
    place = Place()
    with _standard_output_aside(), _limited(time_limit, place):
        group = _Group(place)
        try:
            result = group.run(decide, time_limit)
        except Ended:
            raise
        except BaseException as error:
            failure = failure_of(error, own_rank(), time.time(), place.phase, place.boundary)
            if failure.lost_peer:
                time.sleep(_PATIENCE)
            if not group.tells():
                raise Ended(failure.exit_code) from None
            raise failure.error() from error
        fault = bool((result.get("verified") or {}).get("fault"))
        if group.tells() if fault else own_rank() == 0:
            return result
        raise Ended(0 if (result.get("verified") or {}).get("agrees", True) else FOUND)


class _Group:
    """The process group of torchrun."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.store: Any = None

    def tells(self) -> bool:
        """Whether this rank is the first to have something to tell."""
        try:
            return self.store is None or bool(self.store.add("hplint/told", 1) == 1)
        except RuntimeError:  # the rank that kept the store is gone
            return False

    def run(self, decide: Callable[[], ApplyRequest | int], time_limit: float) -> dict[str, Any]:
        """Join, wait for what rank 0 decides, do it."""
        try:
            import torch
            import torch.distributed as dist
            from torch.distributed.rendezvous import rendezvous
        except ImportError as error:
            raise RequestError(f"torch cannot be imported: {error}") from None
        from hplint.apply.run.job import run_job
        from hplint.model.read_files import no_network

        self.place.at("joining the process group")
        beside = int(os.environ.get("LOCAL_WORLD_SIZE", os.environ["WORLD_SIZE"]))
        backend = "nccl" if torch.cuda.is_available() and torch.cuda.device_count() >= beside else "gloo"
        if backend == "nccl":
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        wait = timedelta(seconds=time_limit + 30)
        self.store, rank, size = next(rendezvous("env://", timeout=wait))
        dist.init_process_group(backend, store=self.store, rank=rank, world_size=size, timeout=wait)
        self.place.at("checking the plan")
        decided: list[Any] = [None]
        if rank == 0:
            try:
                decided = [decide()]
            except HplintError as error:
                dist.broadcast_object_list([error.exit_code])
                raise
        dist.broadcast_object_list(decided)
        if isinstance(decided[0], int):
            raise Ended(decided[0])
        no_network()
        result = run_job(decided[0], self.place)
        if not (result.get("verified") or {}).get("fault"):
            dist.barrier()
        return result


@contextmanager
def _standard_output_aside() -> Iterator[None]:
    """What the model's code prints goes to the standard error stream, so that the report stands alone."""
    import sys

    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def _limited(seconds: float, place: Place) -> Iterator[None]:
    """End the process when its time is up, with a word on where it stands."""

    def end() -> None:
        where = spell_place(place.phase, place.boundary)
        text = f"error: rank {own_rank()} was not done after {seconds:g} seconds: {where}\n"
        os.write(2, text.encode())
        os._exit(WRONG_REQUEST)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
