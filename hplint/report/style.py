"""Colours and glyphs: what a report may use on the stream that it goes to."""

from collections.abc import Mapping

_CODES = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "path": "1",
    "strong": "1",
    "dim": "2",
    "help": "1;32",
    "good": "1;32",
    "related": "1;34",
}
"""Role -> ANSI attributes. The sixteen basic colours follow the reader's own theme."""


class Style:
    """Paints by role. ``color`` off gives plain text; ``glyphs`` off keeps to ASCII; ``width`` is in columns."""

    __slots__ = ("ascii_only", "color", "encoding", "width")

    def __init__(self, color: bool = False, encoding: str = "utf-8", width: int = 100) -> None:
        self.color = color
        self.encoding = encoding
        self.width = width
        self.ascii_only = not encodes("│╭╰├└─…→·", encoding)

    def paint(self, text: str, role: str) -> str:
        """The text in the colour of its role."""
        return f"\x1b[{_CODES[role]}m{text}\x1b[0m" if self.color and text else text

    def glyph(self, fancy: str, plain: str) -> str:
        """A glyph, or its ASCII stand-in where the stream cannot show it."""
        return plain if self.ascii_only else fancy


def encodes(text: str, encoding: str) -> bool:
    """Whether a stream of that encoding can show the text."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def wants_color(choice: str, is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Whether to paint. ``choice`` is auto, always or never; auto heeds NO_COLOR, FORCE_COLOR (0 and false mean no) and
    TERM=dumb, in this order, then asks whether the stream is a terminal."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if forced := environment.get("FORCE_COLOR"):
        return forced not in ("0", "false")
    return is_terminal and environment.get("TERM") != "dumb"
