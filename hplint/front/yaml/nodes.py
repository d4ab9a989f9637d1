"""YAML text -> value nodes with exact places.

libyaml's events (or PyYAML's own, where libyaml is missing) are put together here instead of by PyYAML's composer: it
recurses, drops duplicate keys and keeps no places. Nothing is constructed but plain values. Depth, aliases and size
are bounded, so that no file can make this slow or large.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml
from yaml import events

from hplint.front.nodes import Mapping, Node, Scalar, Sequence, UnknownNode
from hplint.front.yaml.scalars import MERGE, STR, BadScalar, Value, construct, implicit_tag, short_tag
from hplint.front.yaml.words import DEPTH_LIMIT, TOO_DEEP, Problem, quoted_glob, word_error
from hplint.text.source import BOM
from hplint.text.span import Span

ALIAS_LIMIT = 1_000_000
"""Nodes that aliases may stand for, all in all."""
SIZE_LIMIT = 8_000_000
"""Characters of a file that is read at all."""
_RETRY_LIMIT = 64_000
"""Characters up to which a text that libyaml refuses is given to PyYAML's own, slower parser: the two disagree on
some texts, and what one of them accepts may be what the runtime reads."""

_new_tuple = tuple.__new__
"""Makes a named tuple without the detour through its own constructor: places are made for every token."""

_PROPERTY = re.compile(r"(?:\s|(?<=[\n\r])\ufeff|#[^\n\r]*)*(?:&[\w-]+|!\S*)")
_COLON = re.compile(r"(?:\s|(?<=\s)#[^\n\r]*)*:")
_BLANK = re.compile(r"(?:\s|(?<=[\n\r])\ufeff|(?<=\s)#[^\n\r]*)*")
_HALVES = re.compile("[\ud800-\udfff]")
_MAP, _SEQ = "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"
_LISTS = (_SEQ, "tag:yaml.org,2002:omap", "tag:yaml.org,2002:pairs")


class Tree(NamedTuple):
    """One document of a stream: its root, where it starts (its ``---``), and what a loader would refuse in it."""

    root: Node
    start: Span
    problems: tuple[Problem, ...]


class Stream(NamedTuple):
    """All documents of a text that could be read, and the syntax error that ended the reading. ``opaque`` are quoted
    and block scalars that hold a ``#``: no comment starts there."""

    trees: tuple[Tree, ...]
    error: Problem | None = None
    opaque: tuple[Span, ...] = ()


def compose(text: str, retry: bool = True) -> Stream:
    """Read a YAML text; never raises. Offsets count from the start of ``text``, a byte order mark included. ``retry``:
    what libyaml refuses is given to PyYAML's own parser, unless it is long."""
    # One parser drops every mark that it meets at its first character, and counts none of them.
    shift = len(text) - len(text.lstrip(BOM))
    if len(text) > SIZE_LIMIT:
        return Stream((), Problem(Span(0, 0), f"the file is too large for a plan: {len(text):,} characters"))
    body = text[shift:]
    found = _run(body, shift, _parsers()[0])
    if found.error and retry and len(text) <= _RETRY_LIMIT and not found.error.final:
        for parser in _parsers()[1:]:
            again = _run(body, shift, parser)
            if not again.error:
                return again
    return found


def _parsers() -> list[Callable[[str], Any]]:
    if yaml.__with_libyaml__:
        return [yaml.CSafeLoader, yaml.SafeLoader]
    return [yaml.SafeLoader]


def _run(text: str, shift: int, parser: Callable[[str], Any]) -> Stream:
    composer = _Composer(text, shift)
    problem = None
    try:
        composer.run(iter(parser(text).get_event, None))
    except _Stop as stop:
        problem = stop.problem
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        problem = word_error(error, text, shift)
    return Stream(tuple(composer.trees), problem, tuple(composer.opaque))


class _Stop(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class _Open:
    """A collection whose end has not come yet. ``count`` is the number of nodes in it, aliases expanded."""

    __slots__ = ("anchor", "count", "is_merge", "key", "merges", "node")

    def __init__(self, node: Mapping | Sequence, anchor: str | None) -> None:
        self.node = node
        self.anchor = anchor
        self.count = 1
        self.key: Node | None = None
        self.is_merge = False
        self.merges: list[Node] = []


class _Composer:
    def __init__(self, text: str, shift: int) -> None:
        self.text = text
        self.shift = shift
        self.trees: list[Tree] = []
        self.stack: list[_Open] = []
        self.problems: list[Problem] = []
        self.anchors: dict[str, tuple[Node, int] | None] = {}
        self.aliased = 0
        self.root: Node | None = None
        self.start = Span(0, 0)
        self.values: dict[str, tuple[Value, str]] = {}
        self.opaque: list[Span] = []
        self.refused: set[int] = set()
        """Collections whose tag no loader takes, by id."""
        self.last = 0
        """Where the last token ended: block collections end there."""

    def run(self, stream: Iterator[Any]) -> None:
        """Take in all events."""
        handlers: dict[type, Callable[[Any], None]] = {
            events.ScalarEvent: self._scalar,
            events.MappingStartEvent: self._open_mapping,
            events.SequenceStartEvent: self._open_sequence,
            events.MappingEndEvent: self._close,
            events.SequenceEndEvent: self._close,
            events.AliasEvent: self._alias,
            events.DocumentStartEvent: self._open_document,
            events.DocumentEndEvent: self._close_document,
        }
        for event in stream:
            handler = handlers.get(type(event))
            if handler:
                handler(event)

    def _open_document(self, event: Any) -> None:
        self.problems, self.anchors, self.aliased, self.root = [], {}, 0, None
        self.start = Span(event.start_mark.index + self.shift, event.end_mark.index + self.shift)

    def _close_document(self, event: Any) -> None:
        self.trees.append(Tree(self.root or Scalar(None, self.start), self.start, tuple(self.problems)))

    def _span(self, event: Any) -> Span:
        """The token itself, without its anchor and tag."""
        start, end = event.start_mark.index, event.end_mark.index
        if event.anchor is not None or event.tag is not None:
            start, end = self._without_properties(event, start, end)
        return _new_tuple(Span, (start + self.shift, end + self.shift))

    def _without_properties(self, event: Any, start: int, end: int) -> tuple[int, int]:
        for _ in range((event.anchor is not None) + (event.tag is not None)):
            match = _PROPERTY.match(self.text, start)
            start = match.end() if match else start
        blank = _BLANK.match(self.text, start)
        token = blank.end() if blank else start
        if isinstance(event, events.ScalarEvent):
            return (token, end) if token < end else (min(start, end), min(start, end))
        return token, token + 1

    def _tag(self, event: Any) -> Span:
        """The tag of a token."""
        start = event.start_mark.index
        for _ in range(2):
            match = _PROPERTY.match(self.text, start)
            if match is None:
                break
            start = match.end()
            if (found := match[0].rstrip()).rpartition("!")[1] and not found.split()[-1].startswith("&"):
                word = found.split()[-1]
                return Span(start - len(word) + self.shift, start + self.shift)
        return Span(event.start_mark.index + self.shift, event.start_mark.index + 1 + self.shift)

    def _scalar(self, event: Any) -> None:
        text = event.value
        if not text.isascii() and _HALVES.search(text):
            # PyYAML reads the two halves that JSON writes for one character as two.
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        span = self._span(event)
        style = event.style
        if style:
            if style in ("|", ">"):
                # A block scalar ends where the next token starts, after blank lines.
                written = self.text[span.start - self.shift : span.end - self.shift]
                span = Span(span.start, span.start + len(written.rstrip()))
            if "#" in text:
                self.opaque.append(span)
        if span.start == span.end:
            span = self._nothing(span)
        self.last = span.end
        tag = event.tag
        if tag is None or tag == "!":
            known = self.values.get(text) if event.implicit[0] else None
            if known:
                self._add(Scalar(known[0], span, False, known[1]), event.anchor)
                return
            tag = implicit_tag(text) if event.implicit[0] else STR
        is_merge = tag == MERGE
        try:
            value, kind = construct(STR if is_merge else tag, text)
        except BadScalar as error:
            place = self._tag(event) if str(error).startswith("has the tag") else span
            self.problems.append(Problem(place, f"`{text[:60]}` {error}"))
            self._add(UnknownNode(span, str(error)), event.anchor)
            return
        if event.tag is None and event.implicit[0] and not is_merge:
            self.values[text] = (value, kind)
        self._add(Scalar(value, span, style not in (None, ""), kind), event.anchor, is_merge)

    def _nothing(self, span: Span) -> Span:
        """Where an empty value stands: right behind its colon, whatever the parser says."""
        if self.stack and self.stack[-1].key is not None:
            colon = _COLON.match(self.text, self.last - self.shift)
            if colon:
                return Span(colon.end() + self.shift, colon.end() + self.shift)
        return span

    def _open(self, event: Any, node: Mapping | Sequence, tags: tuple[str, ...]) -> None:
        if len(self.stack) >= DEPTH_LIMIT:
            raise _Stop(Problem(Span(node.span.start, node.span.start + 1), TOO_DEEP, final=True))
        if event.tag not in (None, "!", *tags):
            message = f"has the tag `{short_tag(event.tag)}`, which a safe YAML loader refuses"
            self.problems.append(Problem(self._tag(event), f"the {type(node).__name__.lower()} {message}"))
            self.refused.add(id(node))
        if event.anchor is not None:
            self._check_anchor(event.anchor, node.span)
            self.anchors[event.anchor] = None
        self.stack.append(_Open(node, event.anchor))

    def _open_mapping(self, event: Any) -> None:
        span = self._span(event)
        self._open(event, Mapping([], span, bool(event.flow_style)), (_MAP, "tag:yaml.org,2002:set"))

    def _open_sequence(self, event: Any) -> None:
        self._open(event, Sequence([], self._span(event)), _LISTS)

    def _close(self, event: Any) -> None:
        frame = self.stack.pop()
        node = frame.node
        if event.end_mark.index > event.start_mark.index:
            self.last = event.end_mark.index + self.shift
        node.span = Span(node.span.start, max(node.span.start, self.last))
        if isinstance(node, Mapping) and frame.merges:
            self._merge(node, frame.merges)
        told: Node = node
        if (
            isinstance(node, Sequence)
            and id(node) in self.refused
            and not any(isinstance(i, Mapping) for i in node.items)
        ):
            # Nobody knows what the tag makes of it; entries are read all the same.
            told = UnknownNode(node.span, "its tag is refused")
        self._add(told, None, count=frame.count)
        if frame.anchor is not None:
            self.anchors[frame.anchor] = (told, frame.count)

    def _alias(self, event: Any) -> None:
        span = Span(event.start_mark.index + self.shift, event.end_mark.index + self.shift)
        self.last = span.end
        if event.anchor not in self.anchors:
            advice = f"if it is a glob, quote it: {quoted_glob(self.text, span.start - self.shift)}"
            self._unreadable(span, f"the alias `*{event.anchor}` has no anchor `&{event.anchor}` above it", advice)
            return
        known = self.anchors[event.anchor]
        if known is None:
            self._unreadable(span, f"the alias `*{event.anchor}` stands inside its own anchor")
            return
        node, count = known
        self.aliased += count
        if self.aliased > ALIAS_LIMIT:
            message = f"the aliases up to here stand for more than {ALIAS_LIMIT:,} values"
            raise _Stop(Problem(span, message, final=True))
        self._add(node, None, count=count)

    def _unreadable(self, span: Span, message: str, advice: str = "") -> None:
        self.problems.append(Problem(span, message, advice))
        self._add(UnknownNode(span, message), None)

    def _check_anchor(self, anchor: str, span: Span) -> None:
        if anchor in self.anchors:
            self.problems.append(Problem(span, f"the anchor `&{anchor}` is set twice"))

    def _add(self, node: Node, anchor: str | None, is_merge: bool = False, count: int = 1) -> None:
        """Put a finished node where it belongs."""
        if anchor is not None:
            self._check_anchor(anchor, node.span)
            self.anchors[anchor] = (node, count)
        if not self.stack:
            self.root = node
            return
        frame = self.stack[-1]
        frame.count += count
        parent = frame.node
        if isinstance(parent, Sequence):
            parent.items.append(node)
        elif frame.key is None:
            if isinstance(node, (Mapping, Sequence)):
                self._unhashable(node)
            frame.key, frame.is_merge = node, is_merge
        elif frame.is_merge:
            frame.merges.append(node)
            frame.key = None
        else:
            parent.items.append((frame.key, node))
            frame.key = None

    def _unhashable(self, node: Mapping | Sequence) -> None:
        word = "a list" if isinstance(node, Sequence) else "a mapping"
        advice = ""
        if self.text.startswith("{{", node.span.start - self.shift - 1):
            advice = "; a template (`{{ … }}`) must be filled in or quoted"
        self.problems.append(Problem(node.span, f"{word} cannot be a key{advice}"))

    def _merge(self, node: Mapping, sources: list[Node]) -> None:
        """Give a mapping what its ``<<`` keys bring in. What comes first wins, the mapping's own keys above all."""
        taken = {_mark(k) for k, _ in node.items}
        for source in sources:
            for part in source.items if isinstance(source, Sequence) else (source,):
                if isinstance(part, Mapping):
                    for key, value in part.pairs():
                        if _mark(key) not in taken:
                            taken.add(_mark(key))
                            node.merged.append((key, value))
                elif isinstance(part, UnknownNode):
                    node.merged.append((part, part))
                else:
                    self.problems.append(Problem(part.span, "`<<` merges mappings only"))


def _mark(key: Node) -> object:
    return (type(key.value), key.value) if isinstance(key, Scalar) else id(key)
