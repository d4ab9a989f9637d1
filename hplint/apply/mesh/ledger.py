"""What goes over the wire, told to whoever listens."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Communication(NamedTuple):
    """One collective call on this rank.

    ``boundary`` is an FQN ("" for the root module or for none), ``name`` the input, output or parameter that moves,
    ``direction`` is forward or backward. ``collective`` is all-gather, all-reduce, reduce-scatter, all-to-all or
    broadcast.
    ``bytes`` is the size of the message as communication benchmarks count it: the gathered result of an all-gather,
    the whole input of a reduce-scatter, the tensor itself otherwise.
    """

    boundary: str
    name: str
    direction: str
    collective: str
    axis: str
    bytes: int


class Recorder(Protocol):
    """Receives every communication of an applied model, in the order of the calls."""

    def record(self, communication: Communication) -> None:
        """Take note of one."""


@dataclass(frozen=True, slots=True)
class Note:
    """Who communicates: what a collective has to know in order to be recorded. Kept by autograd for the way back."""

    recorder: Recorder | None
    boundary: str
    name: str
    direction: str = "forward"

    @property
    def backward(self) -> "Note":
        """The same for the way back."""
        return Note(self.recorder, self.boundary, self.name, "backward")

    def __call__(self, collective: str, axis: str, size: int) -> None:
        """Record ``size`` bytes on ``axis``."""
        if self.recorder is not None:
            record = Communication(self.boundary, self.name, self.direction, collective, axis, size)
            self.recorder.record(record)


SILENT = Note(None, "", "")
"""Records nothing."""
