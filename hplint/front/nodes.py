"""Value nodes: what a YAML document or a Python literal says, before it is known to be a plan.

Both dialects produce these, so that one reader (``entries.py``) turns them into plan entries.
"""

from dataclasses import dataclass, field
from typing import Any

from hplint.plan.entry import UNKNOWN, Target
from hplint.plan.placement import Placement
from hplint.text.span import Span


@dataclass(slots=True)
class Scalar:
    """A string, number, bool or null. ``quoted`` tells a string that could not be read as another type.

    ``kind`` names a YAML type that is none of these (``date``, ``binary``, ``set``); ``value`` is then the text.
    """

    value: str | int | float | bool | None
    span: Span
    quoted: bool = False
    kind: str = ""


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
    already without keys that ``items`` has, and without duplicates."""

    items: "list[tuple[Node, Node]]"
    span: Span
    flow: bool = False
    merged: "list[tuple[Node, Node]]" = field(default_factory=list)

    def get(self, key: str) -> "Node | None":
        """The value that counts for a string key: the last one written, else a merged one."""
        found = None
        for k, value in (*self.merged, *self.items):
            if isinstance(k, Scalar) and k.value == key and not k.kind:
                found = value
        return found

    def pairs(self) -> "list[tuple[Node, Node]]":
        """The items that count, as the runtime's dict has them: merged ones first, a key that occurs twice at its first
        place with its last value."""
        if not self.merged and len(self.items) < 2:
            return self.items
        found: dict[object, tuple[Node, Node]] = {}
        for number, (k, value) in enumerate((*self.merged, *self.items)):
            found[(type(k.value), k.value) if isinstance(k, Scalar) else number] = (k, value)
        return list(found.values())


Node = Scalar | PlacementNode | TargetNode | UnknownNode | Sequence | Mapping


def is_text(node: "Node | None") -> bool:
    """Whether the node is a string."""
    return isinstance(node, Scalar) and isinstance(node.value, str) and not node.kind


def plain(node: Node) -> Any:
    """The node's value as plain Python values (for messages and for ``plan show``); placements as their spelling,
    what cannot be read as ``?``."""
    match node:
        case Scalar():
            return node.value
        case PlacementNode():
            return str(node.placement)
        case Sequence():
            return [plain(i) for i in node.items]
        case Mapping():
            return {plain(k) if isinstance(k, Scalar) else "?": plain(v) for k, v in node.pairs()}
        case TargetNode():
            return node.target.path.value
    return "?"


def static(node: Node) -> Any:
    """The node's value as plain Python values, UNKNOWN where any part of it cannot be read statically."""
    if isinstance(node, Sequence):
        values = [static(i) for i in node.items]
        return UNKNOWN if any(v is UNKNOWN for v in values) else values
    if isinstance(node, Mapping):
        pairs = [(static(k), static(v)) for k, v in node.pairs()]
        if any(k is UNKNOWN or v is UNKNOWN or isinstance(k, (list, dict)) for k, v in pairs):
            return UNKNOWN
        return dict(pairs)
    return node.value if isinstance(node, Scalar) and not node.kind else UNKNOWN


def type_name(node: Node) -> str:
    """What the node is, for messages: ``a list``, ``the number 3``, ``null``, ``the bool true`` …"""
    match node:
        case Scalar(kind=kind) if kind:
            return f"a {kind}"
        case Scalar(value=None):
            return "null"
        case Scalar(value=bool()):
            return "a bool"
        case Scalar(value=int() | float()):
            return "a number"
        case Scalar():
            return "a string" if node.value else "an empty string"
        case Sequence():
            return "a list"
        case Mapping():
            return "a mapping"
        case PlacementNode():
            return "a placement"
        case TargetNode():
            return "a target"
    return "an expression"
