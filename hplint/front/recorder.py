"""Collects faults while nodes are read, and reads mappings with an eye on keys written twice."""

from collections.abc import Iterator
from typing import Any

from hplint.front.nodes import Mapping, Node, Scalar, plain
from hplint.plan.fault import Fault
from hplint.text.span import Span


class Recorder:
    """The faults of one plan; ``entry`` and ``field`` are what is being read now.

    Records ``duplicate-key`` itself, at the later key. Data: ``key`` (as written), ``section`` (what holds the two:
    entry, field, tensor, target, accelerator, plan). Related: the earlier key.
    """

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.entry: int | None = None
        self.field: str | None = None

    def add(self, rule: str, span: Span, *related: tuple[str, Span], **data: Any) -> None:
        """Record one fault in the current entry and field."""
        self.faults.append(Fault(rule, span, self.entry, self.field, data=data, related=related))

    def pairs(self, node: Mapping, section: str) -> list[tuple[Node, Node]]:
        """The items that count (see :meth:`Mapping.pairs`); keys written twice are recorded."""
        for first, again in duplicates(node):
            self.add("duplicate-key", again.span, ("first written here", first.span), key=plain(again), section=section)
        return node.pairs()


def duplicates(node: Mapping) -> Iterator[tuple[Scalar, Scalar]]:
    """The keys that a mapping writes twice, each with the one before it. ``1`` and ``true`` are different keys here
    although Python's dict holds them for equal."""
    if len(node.items) < 2:
        return
    seen: dict[object, Scalar] = {}
    for key, _ in node.items:
        if isinstance(key, Scalar):
            mark = (type(key.value), key.value)
            if mark in seen:
                yield seen[mark], key
            seen[mark] = key
