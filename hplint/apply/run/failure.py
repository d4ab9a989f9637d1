"""What a rank says when it cannot go on, and which of several ranks is to blame."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hplint.apply.errors import BoundaryError, hint_on
from hplint.apply.run.place import spell_place
from hplint.errors import HplintError

FOUND, WRONG_REQUEST = 1, 2
"""Exit codes of the command line."""


class RankFailed(HplintError):
    """A rank that ended the run. ``rank`` and ``boundary`` (None outside of all) name where."""

    def __init__(self, message: str, exit_code: int, rank: int, boundary: str | None = None, hint: str = "") -> None:
        super().__init__(message, hint)
        self.exit_code = exit_code
        self.rank = rank
        self.boundary = boundary


@dataclass(frozen=True, slots=True)
class Failure:
    """A rank's last words. ``time`` is in seconds since the epoch; ``lost_peer`` tells that it only suffered from
    another one's end; ``common`` that the message holds for all ranks, whoever tells it first."""

    rank: int
    time: float
    message: str
    hint: str = ""
    exit_code: int = WRONG_REQUEST
    phase: str = ""
    boundary: str | None = None
    lost_peer: bool = False
    common: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def error(self) -> RankFailed:
        """The one error that the user sees."""
        told = self.message
        if not self.common:
            told = f"rank {self.rank} failed ({spell_place(self.phase, self.boundary)}): {told}"
        return RankFailed(told, self.exit_code, self.rank, self.boundary, self.hint)


def failure_of(error: BaseException, rank: int, time: float, phase: str, boundary: str | None) -> Failure:
    """Describe what a rank raised."""
    from hplint.apply.run.peers import is_lost_peer

    if isinstance(error, HplintError):
        fqn = error.boundary if isinstance(error, BoundaryError) else boundary
        return Failure(rank, time, error.message, error.hint, error.exit_code, phase, fqn, common=True)
    reason = next(iter(str(error).splitlines()), "")
    told = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        hint = "use more ranks, or a smaller configuration of the model"
        return Failure(rank, time, f"it ran out of memory: {reason}", hint, WRONG_REQUEST, phase, boundary)
    if isinstance(error, SystemExit):
        told = f"the model's code ended the process (sys.exit({error.code!r}))"
    if is_lost_peer(error):
        hint = "another rank ended or no longer answers"
        return Failure(rank, time, f"it lost another rank: {told}", hint, WRONG_REQUEST, phase, boundary, True)
    return Failure(rank, time, told, hint_on(error), WRONG_REQUEST, phase, boundary)


def died(rank: int, status: int, phase: str, boundary: str | None, last: str = "") -> Failure:
    """A rank that ended without a word. ``status`` is its exit status, negative for a signal; ``last`` the last line
    that it wrote."""
    import signal

    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = "unknown"
        cause = ", as it is when memory runs out" if name == "SIGKILL" else ""
        told = f"it was killed by signal {-status} ({name}){cause}"
    else:
        told = f"it ended with status {status} before it was done"
    said = f"the last line that it wrote: {last}" if last else ""
    return Failure(rank, 0.0, told, said, WRONG_REQUEST, phase, boundary)


def the_cause(words: Mapping[int, Failure], dead: Sequence[Failure]) -> Failure:
    """The failure that came first: ranks that died without a word, or raised by themselves, before those that lost
    them."""
    own = sorted((f for f in words.values() if not f.lost_peer), key=lambda f: (f.time, f.rank))
    if own:
        return own[0]
    if dead:
        return dead[0]
    return min(words.values(), key=lambda f: (f.time, f.rank))
