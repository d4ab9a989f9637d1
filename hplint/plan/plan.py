"""A plan: entries in file order, with what the file says about the run around them."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hplint.plan.entry import Entry, Flag, Text
from hplint.plan.fault import Fault
from hplint.text.source import Source
from hplint.text.span import START, Span

if TYPE_CHECKING:
    from hplint.plan.style import Carrier, StyleEntry, WrapPolicy
    from hplint.plan.suppression import Suppression


@dataclass(slots=True)
class Number:
    """A whole number and the token that wrote it."""

    value: int
    span: Span


@dataclass(slots=True)
class Accelerator:
    """What the file (or a Python ``.plan(…)`` call) says of the run. None: not written."""

    span: Span
    sizes: dict[str, Number] = field(default_factory=dict)
    """Axis name (tp, cp, ep, pp, dp) -> size."""
    unread: set[str] = field(default_factory=set)
    """Axes whose size was written but could not be read: a fault tells."""
    sequence_parallel: Flag | None = None
    loss_parallel: Flag | None = None
    implied: bool = True
    """Whether sizes that are not written are 1 (an accelerator section) or unknown (a Python call)."""


@dataclass(slots=True)
class Plan:
    """One plan of one file; nothing in it is resolved against a model or a mesh.

    ``dialect`` is "yaml" or "python", or, for plans of styles, "torch" or "tp_plan": these hold ``styles`` and no
    ``entries``. ``anchor`` is the place for findings that no entry wrote: the ``plan_overrides``
    key, the assigned name of a Python dict, else the start of the file. ``model`` is the model that the file itself
    names (``model.pretrained_model_name_or_path``), ``inline_config`` the ``model.config`` mapping of a trainer file.
    """

    source: Source
    dialect: str
    entries: tuple[Entry, ...]
    faults: tuple[Fault, ...] = ()
    anchor: Span = START
    accelerator: Accelerator | None = None
    model: Text | None = None
    derive: bool = True
    allow_uncovered_params: bool = False
    name: str | None = None
    """The variable or function that holds a Python plan, for people."""
    styles: "tuple[StyleEntry, ...]" = ()
    other_styles: "tuple[StyleEntry, ...]" = ()
    """Entries that the same code applies where its conditions go other ways, and those that other functions of the
    file apply; numbered on from ``styles``."""
    wraps: "tuple[WrapPolicy, ...]" = ()
    """What FSDP wraps, as the file of a PyTorch plan says beside it; the first plan of a file has them."""
    carrier: "Carrier | None" = None
    """Where a ``tp_plan`` stands; None for plans of other dialects."""

    @property
    def size(self) -> int:
        """How many entries it has, of whatever kind."""
        return len(self.styles) or len(self.entries)


@dataclass(slots=True)
class Directive:
    """One ``key=value`` of a ``# hplint:`` comment; the span marks the value."""

    key: str
    value: str
    span: Span


@dataclass(slots=True)
class Document:
    """All that was read from one file: its plans (none, one, or several in Python), the directives and suppressions of
    its comments, and the faults that belong to the file and to no plan (HPL001, say)."""

    source: Source
    plans: tuple[Plan, ...] = ()
    directives: tuple[Directive, ...] = ()
    faults: tuple[Fault, ...] = ()
    suppressions: "tuple[Suppression, ...]" = ()


_MARKS = ("hplint:", "noqa", "NOQA", "NoQA")


def may_speak(text: str) -> bool:
    """Whether comments of a text may say something of its check: a quick look."""
    return any(mark in text for mark in _MARKS)
