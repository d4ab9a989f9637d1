"""A Python text as concrete syntax: every expression, argument, comma and bracket with its place in the text.

The parser of the plans says what the text means; this says where its pieces stand, so that they can be edited. Only the
statements that are asked for are parsed, for a plan may be one of many in a long file.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from hplint.fix.edit import CannotRealise
from hplint.front.python.places import NotPython, Places, parse
from hplint.text.source import BOM, Source
from hplint.text.span import Span

_TRIVIA = frozenset((
    "SimpleWhitespace", "ParenthesizedWhitespace", "TrailingWhitespace", "EmptyLine", "Newline", "Comment", "Comma",
    "Dot", "AssignEqual", "Colon", "Semicolon", "LeftParen", "RightParen", "LeftSquareBracket", "RightSquareBracket",
    "LeftCurlyBrace", "RightCurlyBrace",
))  # fmt: skip
_PARENTHESES = ("lpar", "rpar")


@dataclass(slots=True, eq=False)
class Node:
    """One node. ``kind`` is the name of its libcst class, ``slot`` the field of its parent that holds it.

    ``span`` lies inside the parentheses that are put around an expression, ``outer`` includes them. ``comma`` is the
    offset behind the comma that follows it in a list. ``marks`` are its own brackets, by name.
    """

    kind: str
    span: Span
    outer: Span
    parent: "Node | None" = None
    slot: str = ""
    comma: int | None = None
    parts: "dict[str, list[Node]]" = field(default_factory=dict)
    marks: dict[str, Span] = field(default_factory=dict)
    word: str = ""
    """What a name says."""

    def part(self, name: str) -> "Node | None":
        """The node in a field that holds one."""
        found = self.parts.get(name)
        return found[0] if found else None

    def all(self, name: str) -> "list[Node]":
        """The nodes in a field that holds several."""
        return self.parts.get(name, [])

    def within(self) -> "Iterator[Node]":
        """The node itself and all below it, in reading order."""
        yield self
        for held in self.parts.values():
            for node in held:
                yield from node.within()

    def around(self) -> "Iterator[Node]":
        """The nodes that it stands in, the nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


class PythonTree:
    """One text. ``module`` is its abstract syntax, ``places`` the spans of that."""

    def __init__(self, text: str) -> None:
        self.source = Source("", text)
        self.text = text
        try:
            self.module = parse(self.source)
        except NotPython as error:
            raise CannotRealise(f"the file is no Python: {error.reason}") from None
        self.places = Places(self.source)
        self._starts = self._statements()
        self._roots: dict[int, Node] = {}
        self._index: dict[int, dict[Span, list[Node]]] = {}

    def cut(self, span: Span) -> str:
        """The characters of a span."""
        return self.text[span.start : span.end]

    def at(self, span: Span) -> list[Node]:
        """The nodes that stand exactly there, outer ones first. Parentheses may be part of the span."""
        index = self._indexed(span.start)
        found = index.get(span)
        while not found and self.cut(span)[:1] == "(" and self.cut(span)[-1:] == ")":
            inner = self.text[span.start + 1 : span.end - 1]
            start = span.start + 1 + len(inner) - len(inner.lstrip())
            span = Span(start, start + len(inner.strip()))
            found = index.get(span)
        return found or []

    def expression(self, span: Span) -> Node:
        """The innermost node that stands exactly there. Raises CannotRealise."""
        found = self.at(span)
        if not found:
            raise CannotRealise("the value does not stand there")
        return found[-1]

    def call(self, start: int | None, end: int | None) -> Node:
        """The shortest call that starts, or the one that ends, at an offset. Raises CannotRealise."""
        place = start if start is not None else (end or 1) - 1
        calls = [
            node
            for span, nodes in self._indexed(place).items()
            if span.start == start or span.end == end
            for node in nodes
            if node.kind == "Call"
        ]
        if not calls:
            raise CannotRealise("the entry's ModuleShardingSpec is not written as a call")
        return min(calls, key=lambda n: n.span.end - n.span.start)

    def root(self, offset: int) -> Node:
        """The module of the one statement around an offset."""
        number = self._number(offset)
        if number not in self._roots:
            self._roots[number] = self._parsed(*self._bounds(number))
        return self._roots[number]

    def _indexed(self, offset: int) -> dict[Span, list[Node]]:
        number = self._number(offset)
        if number not in self._index:
            index = self._index[number] = {}
            for node in self.root(offset).within():
                index.setdefault(node.span, []).append(node)
        return self._index[number]

    def _statements(self) -> list[int]:
        """The line starts at which the statements of the file begin; statements of one line count as one."""
        starts = {0}
        for node in self.module.body:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            starts.add(self.source.starts[first - 1])
        # A statement that begins on the line on which another ends is parsed with that one.
        ends = sorted(self.places.span(node) for node in self.module.body)
        inside = {s for s in starts for e in ends if e.start < s < e.end}
        return sorted(starts - inside)

    def _number(self, offset: int) -> int:
        from bisect import bisect_right

        return bisect_right(self._starts, offset) - 1

    def _bounds(self, number: int) -> tuple[int, int]:
        start = self._starts[number]
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return (start + len(BOM) if start == 0 and self.text.startswith(BOM) else start), end

    def _parsed(self, start: int, end: int) -> Node:
        import libcst
        from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

        # Line ends and page breaks that libcst does not know, by others of the same width.
        text = self.text[start:end].replace("\r\n", " \n").replace("\r", "\n").replace("\f", " ")
        try:
            module = libcst.parse_module(text)
            places = MetadataWrapper(module, unsafe_skip_copy=True).resolve(ByteSpanPositionProvider)
            return _Builder(text, start, places).node(module, None, "")
        except (libcst.ParserSyntaxError, RecursionError, UnicodeError):
            raise CannotRealise("the statement cannot be taken apart") from None


class _Builder:
    """Makes nodes of libcst's, with places in the whole text."""

    def __init__(self, text: str, start: int, places: Any) -> None:
        self.start = start
        self.places = places
        # libcst thinks a line end where the text has none: one place more than there are bytes.
        by_byte = [i for i, c in enumerate(text) for _ in c.encode()]
        self.characters = None if text.isascii() else [*by_byte, len(text), len(text)]

    def span(self, made: Any) -> Span:
        found = self.places[made]
        first, last = found.start, found.start + found.length
        if self.characters is not None:
            first, last = self.characters[first], self.characters[last]
        return Span(self.start + first, self.start + last)

    def node(self, made: Any, parent: Node | None, slot: str) -> Node:
        span = self.span(made)
        node = Node(type(made).__name__, span, span, parent, slot)
        if node.kind == "Name":
            node.word = made.value
        for name in _fields(made.__class__):
            held = getattr(made, name)
            several = held if isinstance(held, (list, tuple)) else (held,)
            for one in several:
                kind = type(one).__name__
                if kind in _TRIVIA:
                    self._mark(node, name, kind, one)
                elif hasattr(one, "visit"):
                    node.parts.setdefault(name, []).append(self.node(one, node, name))
        if "lpar" in node.marks and "rpar" in node.marks and node.kind != "ImportFrom":
            node.outer = Span(node.marks["lpar"].start, node.marks["rpar"].end)
        return node

    def _mark(self, node: Node, name: str, kind: str, made: Any) -> None:
        if kind == "Comma" and name == "comma":
            node.comma = self.span(made).end
        elif kind.startswith(("Left", "Right")):
            # libcst counts the white space and comments inside of a bracket to it.
            span = self.span(made)
            span = Span(span.start, span.start + 1) if kind.startswith("Left") else Span(span.end - 1, span.end)
            if name == "lpar":
                node.marks.setdefault(name, span)
                node.marks["innermost"] = span
            else:
                node.marks[name] = span


@lru_cache(maxsize=256)
def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a libcst class that may hold nodes with a place, in reading order."""
    names = tuple(getattr(kind, "__dataclass_fields__", ()))
    return tuple(n for n in names if not n.startswith(("whitespace", "leading", "header", "footer", "lines_")))


@lru_cache(maxsize=4)
def read_tree(text: str) -> PythonTree:
    """The tree of a text. Raises CannotRealise for what is no Python."""
    return PythonTree(text)
