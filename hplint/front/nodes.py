"""Value nodes: what a YAML document or a Python literal says, before it is known to be a plan.

Both dialects produce these, so that one reader (``entries.py``) turns them into plan entries.
"""

from dataclasses import dataclass
from typing import Any

from hplint.plan.entry import Target
from hplint.plan.placement import Placement
from hplint.text.span import Span


@dataclass(slots=True)
class Scalar:
    """A string, number, bool or null. ``quoted`` tells a string that could not be read as another type."""

    value: str | int | float | bool | None
    span: Span
    quoted: bool = False


@dataclass(slots=True)
class PlacementNode:
    """A Python placement object: ``Shard(0)``, ``Replicate()``, ``Partial()``."""

    placement: Placement
    span: Span


@dataclass(slots=True)
class TargetNode:
    """A Python ``Target(…)`` (YAML targets are mappings with ``_target_``) or a plain callable reference."""

    target: Target
    span: Span
    plain: bool = False


@dataclass(slots=True)
class UnknownNode:
    """A Python expression that cannot be read statically. ``reason`` finishes the sentence "not evaluated: …"."""

    span: Span
    reason: str


@dataclass(slots=True)
class Sequence:
    items: "list[Node]"
    span: Span


@dataclass(slots=True)
class Mapping:
    """Items in writing order, duplicates included (the last one counts); ``merged`` holds what YAML ``<<`` brought in,
    already without keys that ``items`` has."""

    items: "list[tuple[Node, Node]]"
    span: Span
    flow: bool = False

    def get(self, key: str) -> "Node | None":
        """The value that counts for a string key: the last one written."""
        found = None
        for k, value in self.items:
            if isinstance(k, Scalar) and k.value == key:
                found = value
        return found


Node = Scalar | PlacementNode | TargetNode | UnknownNode | Sequence | Mapping


def plain(node: Node) -> Any:
    """The node's value as plain Python values (for messages and for ``plan show``); placements as their spelling."""
    match node:
        case Scalar():
            return node.value
        case PlacementNode():
            return str(node.placement)
        case Sequence():
            return [plain(i) for i in node.items]
        case Mapping():
            return {plain(k) if isinstance(k, Scalar) else "?": plain(v) for k, v in node.items}
        case TargetNode():
            return node.target.path.value
    return "?"
