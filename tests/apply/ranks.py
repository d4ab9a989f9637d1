"""Run functions on several gloo ranks, without starting processes for every test.

    from ranks import on_ranks

    def _sums(number):                      # module level: the ranks import it by name
        tensor = torch.tensor([dist.get_rank() + number])
        dist.all_reduce(tensor)
        return tensor.item()                # anything that can be pickled (tensors as well)

    def test_the_ranks_add_up():
        assert on_ranks(2, _sums, 1) == [3, 3]

``backend="nccl"`` gives each rank the CUDA device of its number.

The ranks are started when first used, at most four, and serve the whole test session; each call gets a process group of
its own (gloo, a fresh store), so that nothing of one test reaches another. A rank that raises makes ``on_ranks`` raise
RankError with the rank's traceback as text; a call that takes longer than ``timeout`` seconds (60) is ended, and so are
its ranks, which start anew for the next call. Mark modules that use it with ``pytestmark = RANKS`` so that pytest-xdist
runs them on one worker (``--dist loadgroup``).
"""

import atexit
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import pytest

RANKS = pytest.mark.xdist_group("ranks")
MOST = 4


class RankError(Exception):
    """What went wrong on the ranks, as text."""


def on_ranks(
    count: int, function: Callable[..., Any], *args: Any, timeout: float = 60.0, backend: str = "gloo"
) -> list[Any]:
    """What ``function(*args)`` returns on each of ``count`` ranks, in rank order."""
    if not _pool:
        _pool.append(_Pool())
        atexit.register(_pool[0].stop)
    return _pool[0].run(count, function, args, timeout, backend)


class _Pool:
    def __init__(self) -> None:
        self.context = multiprocessing.get_context("spawn")
        self.members: list[tuple[Any, Connection]] = []
        self.calls = 0
        self.folder = tempfile.TemporaryDirectory(prefix="ranks-")

    def run(
        self, count: int, function: Callable[..., Any], args: tuple[Any, ...], timeout: float, backend: str
    ) -> list[Any]:
        __tracebackhide__ = True
        if not 1 <= count <= MOST:
            raise ValueError(f"{count} ranks; there are {MOST}")
        timeout += 60 if self._start(count) else 0
        self.calls += 1
        store = f"file://{self.folder.name}/{os.getpid()}-{self.calls}"
        for rank, (_, pipe) in enumerate(self.members[:count]):
            pipe.send((store, rank, count, backend, function, args))
        deadline = time.monotonic() + timeout
        answers: dict[int, tuple[bool, Any]] = {}
        while len(answers) < count and time.monotonic() < deadline:
            for rank, (process, pipe) in enumerate(self.members[:count]):
                if rank not in answers and pipe.poll(0.002):
                    try:
                        answers[rank] = pipe.recv()
                    except EOFError:
                        answers[rank] = (False, f"the process ended with {process.exitcode}")
                    if not answers[rank][0]:
                        # The others may wait for this one for ever: give them a moment to say what they know.
                        deadline = min(deadline, time.monotonic() + 2)
        bad = {rank: text for rank, (good, text) in answers.items() if not good}
        if len(answers) < count:
            self.stop()
        if bad or len(answers) < count:
            silent = [f"rank {r} did not answer within {timeout:.0f} s" for r in range(count) if r not in answers]
            raise RankError("\n".join([*(f"rank {r}: {t}" for r, t in sorted(bad.items())), *silent]))
        return [answers[rank][1] for rank in range(count)]

    def _start(self, count: int) -> bool:
        missing = range(len(self.members), count)
        for _ in missing:
            here, there = self.context.Pipe()
            process = self.context.Process(target=_serve, args=(there, list(sys.path)), daemon=True)
            process.start()
            there.close()
            self.members.append((process, here))
        return len(missing) > 0

    def stop(self) -> None:
        for process, pipe in self.members:
            pipe.close()
            process.kill()
        for process, _ in self.members:
            process.join(5)
        self.members.clear()


_pool: list[_Pool] = []


def _serve(pipe: Connection, path: list[str]) -> None:
    """A rank: answer calls until the pipe is closed."""
    sys.path[:] = path
    import torch

    torch.set_num_threads(1)
    while True:
        try:
            call = pipe.recv()
        except (EOFError, OSError):
            return
        except BaseException:
            pipe.send((False, traceback.format_exc()))
            continue
        pipe.send(_answer(*call))


def _answer(
    store: str, rank: int, count: int, backend: str, function: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[bool, Any]:
    from datetime import timedelta

    import torch
    import torch.distributed as dist

    try:
        wait = timedelta(seconds=50)
        if backend == "nccl":
            torch.cuda.set_device(rank)
        dist.init_process_group(backend, init_method=store, rank=rank, world_size=count, timeout=wait)
        try:
            torch.manual_seed(0)
            result = function(*args)
        except BaseException:
            return False, traceback.format_exc()
        dist.barrier()
        return True, _plain(result)
    except BaseException:
        return False, traceback.format_exc()
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _plain(value: Any) -> Any:
    """Tensors travel by value: shared memory would end with the rank."""
    import torch

    if isinstance(value, torch.Tensor):
        return _Packed(value)
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(v) for v in value)
    return value


class _Packed:
    """A tensor that is pickled by value."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __reduce__(self) -> Any:
        import io

        import torch

        buffer = io.BytesIO()
        torch.save(self.tensor.detach().cpu(), buffer)
        return _unpack, (buffer.getvalue(),)


def _unpack(data: bytes) -> Any:
    import io

    import torch

    return torch.load(io.BytesIO(data))
