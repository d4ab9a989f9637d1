"""Evaluated Python values -> value nodes, which the entry reader knows from YAML too."""

from hplint.front.keys import ENTRY_KEYS, TARGET
from hplint.front.nodes import Mapping, Node, PlacementNode, Scalar, Sequence, TargetNode, UnknownNode, static
from hplint.front.python.scope import PLACEMENTS, SPEC
from hplint.front.python.values import (
    ClassValue,
    Const,
    Function,
    Items,
    PlacementValue,
    Reference,
    Spec,
    Table,
    TargetValue,
    Unknown,
    Value,
    named,
)
from hplint.plan.entry import Keyword, Target, Text
from hplint.text.source import Source
from hplint.text.span import Span

NODES = 1_000_000
"""Nodes of one plan; what is beyond them is unknown."""
DEPTH = 20


class Converter:
    """Makes the nodes of one plan. ``unknown`` collects what could not be evaluated, with the item it stands in."""

    def __init__(self, source: Source) -> None:
        self.module = source.path.rpartition("/")[2].removesuffix(".py")
        self.unknown: list[tuple[int, UnknownNode]] = []
        self.entry = 0
        self._left = NODES

    def items(self, table: Table) -> list[tuple[Node | None, Node]]:
        """The items of a plan dict: match and spec. Of keys that a literal wrote twice only the last counts."""
        found: list[tuple[Node | None, Node]] = []
        for index, (key, value) in enumerate(table.entries.values()):
            self.entry = index
            found.append((self.node(key), self._spec(value)))
        return found

    def node(self, value: Value, depth: int = 0) -> Node:
        """The node of any value. A function reads as unknown: only fields that take one accept it."""
        self._left -= 1
        if depth > DEPTH or self._left < 0:
            return self._unknown(value.span, "it is too large")
        match value:
            case Const():
                return Scalar(value.value, value.span, isinstance(value.value, str))
            case PlacementValue():
                return PlacementNode(value.placement, value.span)
            case Items(kind="set"):
                return Scalar("{…}", value.span, kind="set")
            case Items():
                items = [self.node(i, depth + 1) for i in value.items]
                if value.rest:
                    items.append(self._unknown(value.rest.span, value.rest.reason))
                return Sequence(items, value.span)
            case Table():
                pairs = value.written()
                return Mapping([(self.node(k, depth + 1), self.node(v, depth + 1)) for k, v in pairs], value.span)
            case TargetValue():
                return self._target(value)
            case Reference() if value.word in (*PLACEMENTS, SPEC):
                # A class where an object of it belongs: the parentheses were forgotten.
                return Scalar(value.word, value.span, kind="class")
            case Spec():
                return Scalar(f"{SPEC}(…)", value.span, kind=SPEC)
            case Unknown():
                return self._unknown(value.span, value.reason)
            case Reference():
                return self._unknown(value.span, f"`{value.path}` comes from another module")
        return self._unknown(value.span, f"{named(value)} is no constant")

    def _spec(self, value: Value) -> Node:
        """The value of one plan item: a mapping for a spec, other things as they are."""
        match value:
            case Spec():
                pairs: list[tuple[Node, Node]] = []
                for name, place, given in value.twice:
                    pairs.append((Scalar(name, place, True), self._field(name, given)))
                for name, (place, given) in value.fields.items():
                    pairs.append((Scalar(name, place, True), self._field(name, given)))
                for strange in value.strange:
                    unknown = self._unknown(strange.span, strange.reason)
                    pairs.append((unknown, unknown))
                return Mapping(pairs, value.span)
            case Table():
                return Scalar("{…}", value.span, kind="dict")
            case Function() | ClassValue():
                return Scalar(value.path, value.span, kind="function" if isinstance(value, Function) else "class")
        return self.node(value)

    def _field(self, name: str, value: Value) -> Node:
        key = ENTRY_KEYS.get(name)
        if key is None or key.kind not in ("target", "wrapper"):
            return self.node(value)
        match value:
            case Table():
                return Scalar("{…}", value.span, kind="dict")
            case Reference() | Function() | ClassValue():
                path = self._path(value)
                if isinstance(path, UnknownNode):
                    return path
                return TargetNode(Target(path, span=value.span), value.span, plain=True)
        return self.node(value)

    def _path(self, value: Reference | Function | ClassValue) -> Text | UnknownNode:
        """The dotted path of a callable. One of this file is found under the file's own name."""
        if isinstance(value, Reference):
            return Text(value.path, value.span)
        if isinstance(value, Function) and (value.path == "<lambda>" or value.scope.function.kind == "function"):
            return self._unknown(value.span, "it is made by another function at run time")
        return Text(f"{self.module}.{value.path}", value.span)

    def _target(self, value: TargetValue) -> Node:
        path = value.path
        if path is None and value.strange:
            return self._unknown(value.strange[0].span, value.strange[0].reason)
        match path:
            case Reference() | Function() | ClassValue():
                found = self._path(path)
                if isinstance(found, UnknownNode):
                    return found
                target = Target(found, span=value.span)
            case Const(value=str() as text) if all(part.strip() for part in text.split(".")):
                target = Target(Text(text, path.span), span=value.span)
            case Unknown():
                return self._unknown(path.span, path.reason)
            case None:
                return Mapping([], value.span)
            case _:
                # The reader of YAML targets knows what is wrong with a path that is none.
                return Mapping([(Scalar(TARGET, path.span), self.node(path))], value.span)
        for name, (place, given) in value.keywords.items():
            target.keywords[name] = Keyword(static(self._keyword(given)), place, given.span)
        for strange in value.strange:
            self._unknown(strange.span, strange.reason)
        return TargetNode(target, value.span)

    def _keyword(self, value: Value) -> Node:
        """A configured keyword. Types, functions and the like are read, though no rule can judge them."""
        if isinstance(value, (Reference, Function, ClassValue)):
            return UnknownNode(value.span, "")
        return self.node(value)

    def _unknown(self, span: Span, reason: str) -> UnknownNode:
        found = UnknownNode(span, reason)
        self.unknown.append((self.entry, found))
        return found
