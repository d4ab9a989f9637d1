"""A YAML text as it is written: every token with its place, anchors and aliases kept apart, nothing merged.

The plan says what the text means; this says where its pieces stand, so that they can be edited.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from hplint.fix.edit import CannotRealise
from hplint.text.source import BOM
from hplint.text.span import Span

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_BLANK = r"(?:\s|\ufeff|(?<![^\s\ufeff])#[^\n\r\x85\u2028\u2029]*)*"
_PROPERTY = re.compile(_BLANK + r"(?:&[\w-]+|!\S*)")
_SPACE = re.compile(_BLANK)
_COLON = re.compile(_BLANK + ":")
_DASH = re.compile(_BLANK + "-")
_COMMA = re.compile(_BLANK + ",")
_LINE_REST = re.compile(r"[ \t]*(?:#[^\n\r\x85\u2028\u2029]*)?(?=[\n\r\x85\u2028\u2029]|\Z)")


@dataclass(slots=True, eq=False)
class Piece:
    """One node as written. ``start`` is its first character, anchor and tag included; ``token`` its first own one.

    ``kind`` is scalar, mapping, sequence or alias. ``text`` is the value of a scalar, or the name that an alias calls.
    """

    kind: str
    start: int
    token: int
    end: int
    flow: bool = False
    style: str = ""
    text: str = ""
    anchor: str | None = None
    tag: str | None = None
    items: "list[Item]" = field(default_factory=list)
    item: "Item | None" = None
    """The item that it is the key or the value of; None for a root."""

    @property
    def span(self) -> Span:
        """The place as plans record it."""
        return Span(self.token, self.end)

    @property
    def is_empty(self) -> bool:
        """Whether it is a value that nobody wrote."""
        return self.kind == "scalar" and self.token == self.end


@dataclass(slots=True, eq=False)
class Item:
    """One item of a collection. ``start`` is the dash, the ``?`` or the key's first character."""

    parent: Piece
    start: int
    key: Piece | None
    value: Piece

    @property
    def end(self) -> int:
        """Past its last character."""
        return max(self.value.end, self.key.end if self.key else self.start + (not self.parent.flow))


class YamlTree:
    """The pieces of one text. Raises CannotRealise where it is no YAML."""

    def __init__(self, text: str, is_json: bool = False) -> None:
        self.text = text
        self.is_json = is_json
        self.roots: list[Piece] = []
        self.aliased: dict[str, list[Piece]] = {}
        """Name of an anchor -> the aliases that call it."""
        self.keeps = False
        """Whether a block scalar keeps the blank lines below it."""
        self._places: dict[Span, Piece] = {}
        self._read(text.replace("\t", " ") if is_json else text)
        newline = _BREAK.search(text)
        self.eol = newline[0] if newline else "\n"

    def _read(self, text: str) -> None:
        loaders: list[Any] = [yaml.CSafeLoader, yaml.SafeLoader] if yaml.__with_libyaml__ else [yaml.SafeLoader]
        for loader in loaders:
            try:
                _Reader(self, text).run(loader)
                return
            except (yaml.YAMLError, ValueError, OverflowError):
                # One parser may take what another refuses: forget what was read so far.
                self.roots, self.aliased, self._places = [], {}, {}
        raise CannotRealise("the text is no YAML")

    def record(self, piece: Piece) -> None:
        """Make a finished piece known by its place."""
        if piece.kind == "alias":
            self.aliased.setdefault(piece.text, []).append(piece)
        else:
            self._places.setdefault(piece.span, piece)

    def at(self, span: Span) -> Piece | None:
        """The scalar or collection that stands exactly there."""
        return self._places.get(span)

    def around(self, span: Span) -> Piece | None:
        """The scalar that holds a place."""
        return next(
            (p for s, p in self._places.items() if p.kind == "scalar" and s.start <= span.start and span.end <= s.end),
            None,
        )

    def pieces(self, piece: Piece) -> Iterator[Piece]:
        """A piece and all below it, in reading order."""
        stack = [piece]
        while stack:
            found = stack.pop()
            yield found
            for item in reversed(found.items):
                stack.append(item.value)
                if item.key:
                    stack.append(item.key)

    def check_own(self, piece: Piece) -> None:
        """Raise CannotRealise where an anchor lets other places of the text share the piece."""
        here: Piece | None = piece
        while here is not None:
            if here.anchor in self.aliased:
                raise CannotRealise(f"what stands there is shared by other places through the anchor `&{here.anchor}`")
            here = here.item.parent if here.item else None

    def check_removable(self, piece: Piece) -> None:
        """Raise CannotRealise where something below the piece is called from elsewhere."""
        inside = list(self.pieces(piece))
        for found in inside:
            if found.anchor in self.aliased:
                raise CannotRealise(f"other places call the anchor `&{found.anchor}` that stands in there")

    # Lines

    def line_start(self, at: int) -> int:
        """Where the line of an offset begins, the byte order mark left out."""
        last = max(self.text.rfind(b, 0, at) for b in "\n\r\x85\u2028\u2029")
        return len(BOM) if last < 0 and self.text.startswith(BOM) and at else last + 1

    def line_end(self, at: int) -> int:
        """Where the line of an offset ends, its line end left out."""
        found = _BREAK.search(self.text, at)
        return found.start() if found else len(self.text)

    def next_line(self, at: int) -> int:
        """Where the line after the one of an offset begins; the end of the text after the last one."""
        found = _BREAK.search(self.text, at)
        return found.end() if found else len(self.text)

    def column(self, at: int) -> int:
        """Characters before an offset in its line."""
        return at - self.line_start(at)

    def starts_line(self, at: int) -> bool:
        """Whether only spaces stand before an offset in its line."""
        return not self.text[self.line_start(at) : at].strip(" \t")

    def ends_line(self, at: int) -> bool:
        """Whether only spaces and a comment stand behind an offset in its line."""
        return _LINE_REST.match(self.text, at) is not None

    def comma(self, at: int) -> int | None:
        """The offset past the comma that follows, if one does."""
        found = _COMMA.match(self.text, at)
        return found.end() if found else None

    def indicator_end(self, piece: Piece) -> int | None:
        """The offset past the colon, the dash or the properties that a value follows; None for a root."""
        if piece.token > piece.start:
            at = piece.start
            while found := _PROPERTY.match(self.text, at, piece.token):
                at = found.end()
            return at
        if piece.item is None:
            return None
        if piece.item.key is None:
            return piece.item.start + 1
        found = _COLON.match(self.text, piece.item.key.end)
        return found.end() if found else None


class _Reader:
    def __init__(self, tree: YamlTree, text: str) -> None:
        self.tree = tree
        self.shift = len(text) - len(text.lstrip(BOM))
        self.text = text
        self.stack: list[Piece] = []
        self.keys: list[Piece | None] = []
        self.last = 0

    def run(self, loader: Any) -> None:
        """Take in all events of a parser."""
        for event in iter(loader(self.text[self.shift :]).get_event, None):
            self._take(event)

    def _take(self, event: Any) -> None:
        match type(event).__name__:
            case "ScalarEvent":
                self._scalar(event)
            case "MappingStartEvent":
                self._open("mapping", event)
            case "SequenceStartEvent":
                self._open("sequence", event)
            case "MappingEndEvent" | "SequenceEndEvent":
                self._close(event)
            case "AliasEvent":
                start, end = event.start_mark.index + self.shift, event.end_mark.index + self.shift
                self.last = end
                self._add(Piece("alias", start, start, end, text=event.anchor))

    def _token(self, event: Any) -> int:
        start = int(event.start_mark.index) + self.shift
        count = (event.anchor is not None) + (event.tag is not None)
        for _ in range(count):
            found = _PROPERTY.match(self.text, start)
            start = found.end() if found else start
        if count:
            found = _SPACE.match(self.text, start)
            return found.end() if found else start
        return start

    def _scalar(self, event: Any) -> None:
        start, end, token = event.start_mark.index + self.shift, event.end_mark.index + self.shift, self._token(event)
        style = event.style or ""
        if style in ("|", ">"):
            written = self.text[token:end]
            self.tree.keeps = self.tree.keeps or "+" in written[:3]
            end = token + len(written.rstrip())
        if token >= end:
            token = end = min(token, end) if start < end else self._nothing(start)
            start = min(start, token)
        self.last = max(end, start)
        self._add(Piece("scalar", start, token, end, False, style, event.value, event.anchor, event.tag))

    def _nothing(self, start: int) -> int:
        if self.stack and self.stack[-1].kind == "mapping" and self.keys[-1] is not None:
            colon = _COLON.match(self.text, self.last)
            if colon:
                return colon.end()
        if self.stack and self.stack[-1].kind == "sequence" and not self.stack[-1].flow:
            return self._dash(self.stack[-1]) + 1
        return start

    def _open(self, kind: str, event: Any) -> None:
        start = event.start_mark.index + self.shift
        token = self._token(event)
        piece = Piece(kind, start, token, token + 1, bool(event.flow_style), anchor=event.anchor, tag=event.tag)
        self._place(piece)
        self.stack.append(piece)
        self.keys.append(None)
        if piece.flow:
            self.last = max(self.last, token)

    def _close(self, event: Any) -> None:
        piece = self.stack.pop()
        self.keys.pop()
        if event.end_mark.index > event.start_mark.index:
            self.last = event.end_mark.index + self.shift
        piece.end = max(piece.token, self.last)
        self.tree.record(piece)

    def _add(self, piece: Piece) -> None:
        self._place(piece)
        self.tree.record(piece)

    def _place(self, piece: Piece) -> None:
        """Put a piece where it belongs; its end may not be known yet."""
        if not self.stack:
            self.tree.roots.append(piece)
            return
        parent = self.stack[-1]
        if parent.kind == "sequence":
            start = piece.start if parent.flow else self._dash(parent)
            piece.item = Item(parent, start, None, piece)
            parent.items.append(piece.item)
            return
        key = self.keys[-1]
        if key is None:
            # The value is not here yet: the key stands for it until then.
            piece.item = Item(parent, self._explicit(piece.start), piece, piece)
            self.keys[-1] = piece
            return
        assert key.item is not None
        piece.item = key.item
        key.item.value = piece
        parent.items.append(key.item)
        self.keys[-1] = None

    def _dash(self, parent: Piece) -> int:
        """The dash of the item that comes next."""
        if not parent.items:
            return parent.token
        found = _DASH.match(self.text, parent.items[-1].end)
        return found.end() - 1 if found else parent.items[-1].end

    def _explicit(self, start: int) -> int:
        before = self.text[max(0, start - 40) : start]
        mark = before.rstrip(" \t")
        if mark.endswith("?") and mark != before and mark[-2:-1] in ("", " ", "\t", "\n", "\r", "{", ",", "-"):
            return start - len(before) + len(mark) - 1
        return start
