"""Faults: what the stages of the flow could not accept, to be worded by the rule of the same name."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from hplint.text.span import START, Span


@dataclasses.dataclass(slots=True)
class Fault:
    """One thing that a stage had to set aside.

    ``rule`` is the kebab-case name of the rule that words it (``not-a-placement``). ``entry`` is the index of the plan
    entry, None for faults of the whole file. ``data`` holds what the rule needs for its message; each producer's
    docstring lists the keys. ``related`` are further places, each with what stands there.
    """

    rule: str
    span: Span = START
    entry: int | None = None
    field: str | None = None
    module: str | None = None
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    related: tuple[tuple[str, Span], ...] = ()
