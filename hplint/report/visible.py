"""Text as it looks on a terminal: how wide it is, and what is shown for characters that show nothing."""

from hplint.report.style import Style, encodes
from hplint.text.source import Source
from hplint.text.span import Span

TAB = 4
"""Tabs reach to the next multiple of this many columns."""
_HIDDEN = frozenset((*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0xAD, 0x061C))
"""Code points that show nothing or turn the direction of what follows: they could make a plan look like another."""


def width(text: str) -> int:
    """Columns that a text without control characters takes."""
    return len(text) if text.isascii() else sum(_char_width(c) for c in text)


def cells(line: str, style: Style, column: int = 0) -> list[str]:
    """What is shown for each character of a line, starting at a display column (tabs depend on it)."""
    if line.isascii() and line.isprintable():
        return list(line)
    shown = []
    for char in line:
        cell = " " * (TAB - column % TAB) if char == "\t" else show(char, style)
        column += width(cell)
        shown.append(cell)
    return shown


def show(char: str, style: Style) -> str:
    """One character, made visible and encodable."""
    code = ord(char)
    if code < 0x20 or code == 0x7F:
        if style.ascii_only:
            return f"^{chr(code ^ 0x40)}"
        return chr(0x2421 if code == 0x7F else 0x2400 + code)
    if 0x80 <= code < 0xA0 or 0xD800 <= code < 0xE000 or code in _HIDDEN:
        return f"<U+{code:04X}>"
    if code >= 0x80 and not encodes(char, style.encoding):
        return char.encode("ascii", "backslashreplace").decode()
    return char


def printable(text: str, style: Style) -> str:
    """A message or a path on one line: line ends and control characters are shown, never obeyed."""
    if text.isascii() and text.isprintable():
        return text
    return "".join({"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(c) or show(c, style) for c in text)


def place(source: Source, span: Span, style: Style) -> str:
    """``path:line:column`` of the start of a span."""
    line, column = source.position(span.start)
    return f"{printable(source.path, style)}:{line}:{column}"


def wrap(text: str, columns: int, style: Style) -> list[str]:
    """Break a text at spaces into lines of at most ``columns``; line ends in it stay. Words are never broken."""
    lines: list[str] = []
    for paragraph in text.splitlines() or [""]:
        line, used = "", 0
        for word in printable(paragraph, style).split(" "):
            size = width(word)
            if line and used + 1 + size > columns:
                lines.append(line)
                line, used = word, size
            else:
                line = f"{line} {word}" if line else word
                used += size + (used > 0)
        lines.append(line)
    return lines


def _char_width(char: str) -> int:
    if char < "\u0300":
        return 1
    from unicodedata import category, east_asian_width

    if category(char) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1
