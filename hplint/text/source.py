"""The text of one file and the way from character offsets to lines and columns."""

import re
from bisect import bisect_right
from typing import NamedTuple

from hplint.text.span import Span

_LINE_END = re.compile(r"\r\n|\n|\r")
BOM = "\ufeff"


class Position(NamedTuple):
    """A 1-based line and a 1-based column in characters. A byte order mark takes no column."""

    line: int
    column: int


class Source:
    """One file's text. ``path`` is spelled as the user gave it, joined with ``/``.

    Offsets are characters of ``text``, the byte order mark included. Lines end with LF, CRLF or CR, as editors count
    them; the other breaks that YAML and Python know (NEL, LS, PS) are ordinary characters here.
    """

    __slots__ = ("_starts", "path", "text")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._starts: list[int] | None = None

    @property
    def starts(self) -> list[int]:
        """Offsets at which the lines begin, in order."""
        if self._starts is None:
            self._starts = [0, *(m.end() for m in _LINE_END.finditer(self.text))]
        return self._starts

    def position(self, offset: int) -> Position:
        """Line and column of ``offset``; offsets outside the text are clamped to it."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.starts, offset)
        column = offset - self.starts[line - 1] + 1
        if line == 1 and column > 1 and self.text.startswith(BOM):
            column -= 1
        return Position(line, column)

    def offset(self, line: int, column: int) -> int:
        """Offset of a 1-based line and column: the inverse of :meth:`position`."""
        start = self.starts[min(line, len(self.starts)) - 1]
        if line == 1 and self.text.startswith(BOM):
            start += 1
        return min(start + column - 1, len(self.text))

    def line(self, number: int) -> str:
        """The text of a 1-based line, without its line end and without a byte order mark."""
        start = self.starts[number - 1]
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n").lstrip(BOM if number == 1 else "")

    def cut(self, span: Span) -> str:
        """The characters of ``span``."""
        return self.text[span.start : span.end]
