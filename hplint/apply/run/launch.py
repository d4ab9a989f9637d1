"""Local ranks through torch.distributed's own launcher: start them, wait, say in one message what went wrong."""

import json
import os
import pickle
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hplint.apply.run.failure import WRONG_REQUEST, Failure, RankFailed, died, the_cause
from hplint.apply.run.place import read_place, spell_place
from hplint.apply.run.request import ApplyRequest
from hplint.errors import RequestError
from hplint.model.build import child_environment

_POLL = 0.05
_GRACE = 1.0
"""Seconds in which the other ranks may still say what they know once one has failed."""
_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")


def launch(request: ApplyRequest) -> dict[str, Any]:
    """Run a request on local ranks; the machine output. nccl on CUDA devices when there are enough, else gloo.

    Raises RankFailed when a rank ends before it is done or the time is up; all others are ended too. KeyboardInterrupt
    ends them as well.
    """
    ranks = 1 if request.options.dry_run else request.ranks
    with TemporaryDirectory(prefix="hplint-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "request").write_bytes(pickle.dumps(request))
        with _signals_restored():
            return _Ranks(folder, ranks, request.options.time_limit).run()


def local_device(ranks: int) -> str:
    """cuda where each rank can have a device of its own, else cpu."""
    import torch

    return "cuda" if torch.cuda.is_available() and torch.cuda.device_count() >= ranks else "cpu"


class _Ranks:
    def __init__(self, folder: Path, count: int, time_limit: float) -> None:
        self.folder, self.count, self.time_limit = folder, count, time_limit
        self.logs = folder / "logs"
        self.logs.mkdir()

    def run(self) -> dict[str, Any]:
        try:
            from torch.distributed.elastic import multiprocessing as elastic
        except ImportError as error:
            raise RequestError(f"torch cannot start ranks here: {error}") from None
        _quiet()
        deadline = time.monotonic() + self.time_limit
        variables = self._environment()
        context = result = None
        try:
            context = elastic.start_processes(
                name="hplint",
                entrypoint=sys.executable,
                args={r: ("-P", "-m", "hplint.apply.run.rank", str(self.folder)) for r in range(self.count)},
                envs={r: {**variables, "RANK": str(r), "LOCAL_RANK": str(r)} for r in range(self.count)},
                logs_specs=elastic.DefaultLogsSpecs(log_dir=str(self.logs), redirects=elastic.Std.ALL),
            )
            while result is None:
                if time.monotonic() > deadline:
                    raise self._late()
                self._await_last_words(context)
                result = context.wait(0)
                time.sleep(_POLL)
        except elastic.SignalException as stop:
            if stop.sigval == signal.SIGINT:
                raise KeyboardInterrupt from None
            raise RankFailed(f"ended by {stop.sigval.name}", 128 + stop.sigval, 0) from None
        finally:
            if context is not None:
                context.close(signal.SIGKILL, timeout=10)
        return self._answer({r: f.exitcode for r, f in result.failures.items()})

    def _await_last_words(self, context: Any) -> None:
        """Once a rank has ended badly, torch ends the others at its next look: let them say first what they know."""
        ended = [h.proc.poll() for h in context.subprocess_handlers.values()]
        if any(ended):
            until = time.monotonic() + _GRACE
            while time.monotonic() < until and any(h.proc.poll() is None for h in context.subprocess_handlers.values()):
                time.sleep(_POLL)

    def _environment(self) -> dict[str, str]:
        threads = max(1, (os.cpu_count() or 1) // self.count)
        return {
            "OMP_NUM_THREADS": str(threads),
            **child_environment(),
            "WORLD_SIZE": str(self.count),
            "LOCAL_WORLD_SIZE": str(self.count),
            "HPLINT_DEVICE": local_device(self.count),
        }

    def _answer(self, statuses: dict[int, int]) -> dict[str, Any]:
        results = {r: value for r in range(self.count) if (value := self._read("result", r))}
        told = [r for r, v in results.items() if (v.get("verified") or {}).get("fault")]
        if told:
            results[told[0]]["verified"]["fault"]["ranks"] = told
            return results[told[0]]
        if not statuses and 0 in results:
            return results[0]
        words = {r: Failure(**value) for r in range(self.count) if (value := self._read("failure", r))}
        dead = [
            died(r, status, *read_place(self.folder / f"place-{r}"), self._last_line(r))
            for r, status in sorted(statuses.items(), key=lambda item: item[1] == -signal.SIGTERM)
            if r not in words and r not in results
        ]
        if not words and not dead:
            raise RankFailed("the ranks ended without an answer", WRONG_REQUEST, 0)
        raise the_cause(words, dead).error()

    def _read(self, kind: str, rank: int) -> dict[str, Any] | None:
        try:
            value: dict[str, Any] = json.loads((self.folder / f"{kind}-{rank}.json").read_text(encoding="utf-8"))
            return value
        except (OSError, ValueError):
            return None

    def _late(self) -> RankFailed:
        """Where each rank stands when the time is up: ranks that wait for each other stand in different places."""
        words = {r: Failure(**value) for r in range(self.count) if (value := self._read("failure", r))}
        if own := [f for f in words.values() if not f.lost_peer]:
            return own[0].error()
        places: dict[str, list[int]] = {}
        for rank in range(self.count):
            places.setdefault(spell_place(*read_place(self.folder / f"place-{rank}")), []).append(rank)
        shown = "; ".join(f"{_spell_ranks(ranks)}: {where}" for where, ranks in places.items())
        boundary = read_place(self.folder / "place-0")[1]
        hint = "ranks that stand in different places wait for each other; else give more time with --time-limit"
        return RankFailed(
            f"the ranks were not done after {self.time_limit:g} seconds ({shown})", WRONG_REQUEST, 0, boundary, hint
        )

    def _last_line(self, rank: int) -> str:
        for log in sorted(self.logs.glob(f"**/{rank}/stderr.log")):
            text = log.read_text(encoding="utf-8", errors="replace")[-4000:]
            if lines := [line.strip() for line in text.splitlines() if line.strip()]:
                return lines[-1][:200]
        return ""


def _spell_ranks(ranks: list[int]) -> str:
    shown = ", ".join(str(r) for r in ranks[:4]) + (", …" if len(ranks) > 4 else "")
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}"


def _quiet() -> None:
    """torch tells of every process that it starts and ends; the one message is ours."""
    import logging

    for name in list(logging.Logger.manager.loggerDict):
        if name.startswith("torch.distributed.elastic"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def _signals_restored() -> Iterator[None]:
    """torch's launcher puts handlers of its own in place and leaves them there."""
    known = {s: signal.getsignal(s) for n in _SIGNALS if (s := getattr(signal, n, None)) is not None}
    try:
        yield
    finally:
        import threading

        if threading.current_thread() is threading.main_thread():
            for number, handler in known.items():
                signal.signal(number, handler)
