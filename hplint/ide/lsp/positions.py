"""Character offsets and the positions of the protocol: 0-based lines, columns in the units that the client counts."""

from collections.abc import Iterable

from lsprotocol import types

from hplint.text.source import Source
from hplint.text.span import Span


def edited(text: str, changes: Iterable[types.TextDocumentContentChangeEvent], encoding: str) -> str:
    """A text after changes that come one after the other, each of a range or of the whole."""
    for change in changes:
        if isinstance(change, types.TextDocumentContentChangePartial):
            positions = Positions(Source("", text), encoding)
            start, end = positions.offset(change.range.start), positions.offset(change.range.end)
            text = text[:start] + change.text + text[max(start, end) :]
        else:
            text = change.text
    return text


class Positions:
    """Translates places of one text. ``encoding`` is utf-16 (what clients count by default), utf-8 or utf-32."""

    def __init__(self, source: Source, encoding: str = "utf-16") -> None:
        self.source = source
        self.encoding = encoding

    def offset(self, position: types.Position) -> int:
        """The offset of a position; one outside the text is clamped to it."""
        starts = self.source.starts
        if position.line >= len(starts):
            return len(self.source.text)
        start = starts[position.line]
        line = self._line(position.line)
        if self.encoding == "utf-32" or line.isascii():
            return start + min(position.character, len(line))
        left = position.character
        for index, letter in enumerate(line):
            if left <= 0:
                return start + index
            left -= self._units(letter)
        return start + len(line)

    def position(self, offset: int) -> types.Position:
        """The position of an offset."""
        place = self.source.position(offset)
        start = self.source.starts[place.line - 1]
        before = self.source.text[start : max(start, min(offset, len(self.source.text)))]
        column = len(before) if self.encoding == "utf-32" else sum(map(self._units, before))
        return types.Position(place.line - 1, column)

    def range(self, span: Span) -> types.Range:
        """The range of a span."""
        return types.Range(self.position(span.start), self.position(span.end))

    def _line(self, number: int) -> str:
        starts = self.source.starts
        end = starts[number + 1] if number + 1 < len(starts) else len(self.source.text)
        return self.source.text[starts[number] : end].rstrip("\r\n")

    def _units(self, letter: str) -> int:
        if self.encoding == "utf-8":
            return len(letter.encode("utf-8", "surrogatepass"))
        return 2 if ord(letter) > 0xFFFF else 1
