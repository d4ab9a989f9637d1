"""Where the entries of a Python plan are written: their items, their ModuleShardingSpec(…) calls, who shares those."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from hplint.fix.edit import CannotRealise
from hplint.fix.python_names import Names
from hplint.fix.python_tree import Node, PythonTree
from hplint.plan.entry import Entry
from hplint.plan.plan import Plan
from hplint.plan.style import StyleEntry
from hplint.text.span import Span

SHARED = "it is shared with other entries"
LOOPS = ("For", "While")
_COMPUTED = ("Name", "Attribute", "Call", "Subscript")


@dataclass(frozen=True, slots=True)
class Home:
    """What writes an entry into its plan.

    ``kind`` is "item" (of a dict, of ``dict(…)``, of a list of pairs), "comprehension" or "statement"
    (``plan[key] = …``). ``node`` is the item, the comprehension, or the small statement.
    """

    kind: str
    node: Node


class Homes:
    """The places of one plan's entries."""

    def __init__(self, tree: PythonTree, names: Names, plan: Plan) -> None:
        self.tree = tree
        self.names = names
        self.plan = plan
        self._readers: dict[Span, set[tuple[Span | None, str]]] | None = None

    def of(self, entry: Entry) -> Home:
        """What writes an entry. Raises CannotRealise."""
        for node in self.tree.at(entry.keys["match"]):
            if home := _by_key(node):
                return home
        node = self.spec(entry)
        for inner, outer in zip((node, *node.around()), node.around(), strict=False):
            if home := _by_value(inner, outer):
                return home
        raise CannotRealise("it cannot be told where the entry is written")

    def spec(self, entry: Entry) -> Node:
        """The call that makes an entry's spec. Raises CannotRealise."""
        side, at = self._side(entry)
        return self.tree.call(*((at, None) if side == "start" else (None, at)))

    def _side(self, entry: Entry) -> tuple[str, int]:
        """The end of the spec that is known: an entry's place runs from its key to its spec, or the other way round."""
        key, span = entry.keys["match"], entry.span
        if span.start < key.start and span.end == key.end:
            return "start", span.start
        if span.end > key.end and span.start == key.start:
            return "end", span.end
        raise CannotRealise("it cannot be told where the entry is written")

    def sharing_spec(self, entry: Entry) -> list[Entry]:
        """The entries of the plan with the same spec, the entry itself included. Raises CannotRealise."""
        span = self.spec(entry).span
        sides = (("start", span.start), ("end", span.end))
        return [e for e in self.plan.entries if e is entry or self._try_side(e) in sides]

    def _try_side(self, entry: Entry) -> tuple[str, int] | None:
        try:
            return self._side(entry)
        except CannotRealise:
            return None

    def sharing_key(self, entry: Entry) -> list[Entry]:
        """The entries that one key makes, in a loop, say."""
        return [e for e in self.plan.entries if e.keys.get("match") == entry.keys["match"]]

    def check_spec(self, entry: Entry, carrying: Collection[int]) -> Node:
        """The spec's call, which every entry that has it must want to change: their indexes are in ``carrying``. Raises
        CannotRealise."""
        sharing = self.sharing_spec(entry)
        node = self.spec(entry)
        self.check_own(node, sharing, carrying)
        return node

    def check_own(self, node: Node, sharing: Iterable[Entry], carrying: Collection[int]) -> None:
        """Raise CannotRealise where a value belongs to other entries too than those that want to change it."""
        entries = list(sharing)
        if not {e.index for e in entries} <= set(carrying):
            raise CannotRealise(SHARED)
        keys = {e.keys["match"] for e in entries}
        for inner, outer in zip((node, *node.around()), node.around(), strict=False):
            if _belongs(inner, outer, keys):
                return
            if name := _holder(inner, outer):
                if self.names.uses(name) > len(keys):
                    raise CannotRealise(SHARED)
                return

    def check_token(self, span: Span, faulty: Collection[Span]) -> None:
        """Raise CannotRealise where a token is read by several entries or fields that are no rounds of one loop, and
        may be right for some of them. ``faulty`` are tokens that are wrong wherever they are read."""
        if self._readers is None:
            self._readers = {}
            for entry in self.plan.entries:
                for field, place in _tokens(entry):
                    self._readers.setdefault(place, set()).add((entry.keys.get("match"), field))
            for styled in self.plan.styles:
                for field, place in _style_tokens(styled):
                    self._readers.setdefault(place, set()).add((styled.key and styled.key.span, field))
        if len(self._readers.get(span, ())) > 1 and span not in faulty:
            raise CannotRealise(SHARED)

    def check_style(self, entry: StyleEntry, carrying: Collection[int]) -> Node:
        """The call that makes an entry's style, which every entry that has it must want to change. Raises
        CannotRealise."""
        if entry.style is None:
            raise CannotRealise("the style cannot be read")
        span = entry.style.span
        sharing = {e.index for e in (*self.plan.styles, *self.plan.other_styles) if e.style and e.style.span == span}
        if not sharing <= set(carrying):
            raise CannotRealise(SHARED)
        node = next((n for n in self.tree.at(span) if n.kind == "Call"), None)
        if node is None or any(a.word or not a.part("value") for a in node.all("args")):
            raise CannotRealise("the style is not written as a call")
        return node

    def readers(self, span: Span) -> set[int]:
        """The entries that read a token."""
        return {e.index for e in self.plan.entries if any(place == span for _, place in _tokens(e))}

    def end_of_plan(self) -> tuple[Entry, Home] | None:
        """The last entry whose place is known."""
        for entry in reversed(self.plan.entries):
            try:
                return entry, self.of(entry)
            except CannotRealise:
                continue
        return None


def subscript_key(target: Node) -> Node | None:
    """The key of ``plan[key]``."""
    if target.kind != "Subscript" or len(target.all("slice")) != 1:
        return None
    index = target.all("slice")[0].part("slice")
    return index.part("value") if index and index.kind == "Index" else None


def _by_key(node: Node) -> Home | None:
    """The home of an entry whose key is this node."""
    parent = node.parent
    if parent is None:
        return None
    if node.slot == "key" and parent.kind == "DictElement":
        return Home("item", parent)
    if node.slot == "key" and parent.kind == "DictComp":
        return Home("comprehension", parent)
    if node.slot == "keyword" and parent.kind == "Arg":
        return Home("item", parent)
    if parent.kind == "Index":
        subscript = parent.parent and parent.parent.parent
        return _assignment(subscript) if subscript else None
    if parent.kind == "Arg" and _is_setdefault(parent):
        call = parent.parent
        return Home("statement", call.parent) if call and call.parent and call.parent.kind == "Expr" else None
    if parent.kind == "Element" and parent.parent and parent.parent.kind == "Tuple" and parent.parent.parent:
        pair = parent.parent
        if pair.all("elements")[0] is parent and pair.parent and pair.parent.kind == "Element":
            return Home("item", pair.parent)
    return None


def _by_value(inner: Node, outer: Node) -> Home | None:
    """The home of an entry whose spec is this node."""
    if inner.slot == "value" and outer.kind == "DictElement":
        return Home("item", outer)
    if inner.slot == "value" and outer.kind == "DictComp":
        return Home("comprehension", outer)
    if inner.slot == "value" and outer.kind == "Assign":
        target = outer.all("targets")[0].part("target")
        return Home("statement", outer) if target and subscript_key(target) else None
    return None


def _assignment(subscript: Node) -> Home | None:
    target = subscript.parent
    if target and target.kind == "AssignTarget" and target.parent and len(target.parent.all("targets")) == 1:
        return Home("statement", target.parent)
    if target and target.kind == "AnnAssign" and subscript.slot == "target":
        return Home("statement", target)
    return None


def _is_setdefault(argument: Node) -> bool:
    call = argument.parent
    function = call.part("func") if call else None
    name = function.part("attr") if function and function.kind == "Attribute" else None
    return bool(call and name and name.word == "setdefault" and call.all("args")[0] is argument)


def _belongs(inner: Node, outer: Node, keys: Collection[Span]) -> bool:
    """Whether a value stands in the item of one of these keys, and so belongs to it alone."""
    if outer.kind in ("DictElement", "DictComp") and inner.slot == "value":
        return _is_key(outer.part("key"), keys)
    if outer.kind in ("Assign", "AnnAssign") and inner.slot == "value":
        targets = [t.part("target") for t in outer.all("targets")] or outer.all("target")
        return any(t is not None and _is_key(subscript_key(t), keys) for t in targets)
    if outer.kind == "Arg":
        name = outer.part("keyword")
        first = outer.parent.all("args")[0] if outer.parent and outer.parent.kind == "Call" else None
        return (name is not None and name.span in keys) or (
            first is not None and first is not outer and _is_setdefault(first) and _is_key(first.part("value"), keys)
        )
    if outer.kind == "Element" and outer.parent and outer.parent.kind == "Tuple":
        return _is_key(outer.parent.all("elements")[0].part("value"), keys)
    return False


def _is_key(node: Node | None, keys: Collection[Span]) -> bool:
    return node is not None and (node.span in keys or node.outer in keys or node.kind in _COMPUTED)


def _holder(inner: Node, outer: Node) -> str | None:
    """The name of the variable or function that holds a value."""
    if outer.kind == "FunctionDef":
        return _last_word(outer.part("name"))
    if outer.kind == "NamedExpr" and inner.slot == "value":
        return _last_word(outer.part("target"))
    if outer.kind in ("Assign", "AnnAssign") and inner.slot == "value":
        targets = [t.part("target") for t in outer.all("targets")] or outer.all("target")
        return next((w for t in targets if (w := _last_word(t))), None)
    return None


def _last_word(node: Node | None) -> str | None:
    if node is not None and node.kind == "Attribute":
        node = node.part("attr")
    return node.word if node is not None and node.kind == "Name" else None


def _tokens(entry: Entry) -> Iterator[tuple[str, Span]]:
    """Every token that an entry reads, with the field that it is part of."""
    yield from entry.keys.items()
    yield from entry.values.items()
    for field, contract in entry.contract.items():
        for layout in (contract.layouts or {}).values():
            if layout.name_span:
                yield field, layout.name_span
            yield from ((field, span) for span in layout.axis_spans.values())
            yield from ((field, span) for span in layout.placement_spans.values())
    for field in ("local_compute_fn", "inner_wrapper", "inner_target"):
        value = getattr(entry, field)
        if value is not None:
            yield field, value.span
            if hasattr(value, "keywords"):
                yield field, value.path.span
                for keyword in value.keywords.values():
                    yield field, keyword.key_span
                    yield field, keyword.span


def _style_tokens(entry: StyleEntry) -> Iterator[tuple[str, Span]]:
    if entry.key is not None:
        yield "key", entry.key.span
    for name, argument in entry.style.arguments.items() if entry.style else ():
        yield name, argument.key_span
        yield name, argument.span
