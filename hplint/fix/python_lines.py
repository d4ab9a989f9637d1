"""The lines of a Python text around a place: their indentation, comments and ends."""

import re
from collections import Counter

_INDENT = re.compile(r"[ \t\f]*")
_REST = re.compile(r"[ \t]*(?:#[^\n\r]*)?(?=[\n\r]|\Z)")
_LINE_END = re.compile(r"\r\n|\n|\r")
_OPENED = re.compile(r"(?:\A|[\n\r])([ \t]*)[^\n\r#]*[\[({:][ \t]*(?:\r\n|\n|\r)([ \t]+)[^\s#]")
_DIRECTIVE = re.compile(r"#\s*(?:hplint:\s*(?!ignore\b(?!-))|type:|fmt:|noqa-file|-\*-)")
NARROWEST, WIDEST = 88, 120


class Lines:
    """Asks about lines; offsets are those of the text. Nothing here may be asked about places inside of strings."""

    def __init__(self, text: str) -> None:
        self.text = text
        found = _LINE_END.search(text)
        self.eol = found[0] if found else "\n"
        steps = Counter(
            m[2][len(m[1]) :] for m in _OPENED.finditer(text) if m[2].startswith(m[1]) and len(m[2]) > len(m[1])
        )
        self.step = steps.most_common(1)[0][0] if steps else "    "
        longest = max((len(line) for line in _LINE_END.split(text)), default=0)
        self.width = max(NARROWEST, min(WIDEST, longest))

    def start(self, at: int) -> int:
        """Where the line around an offset begins."""
        found = max(self.text.rfind("\n", 0, at), self.text.rfind("\r", 0, at)) + 1
        return found + 1 if found == 0 and self.text.startswith("\ufeff") else found

    def end(self, at: int) -> int:
        """Where the line around an offset ends, its line end left out."""
        found = _LINE_END.search(self.text, at)
        return found.start() if found else len(self.text)

    def following(self, at: int) -> int:
        """Where the next line begins; the end of the text where there is none."""
        found = _LINE_END.search(self.text, at)
        return found.end() if found else len(self.text)

    def above(self, at: int) -> int | None:
        """Where the line above the one around an offset begins."""
        start = self.start(at)
        if start == self.start(0):
            return None
        return self.start(start - 2 if self.text.startswith("\r\n", start - 2) else start - 1)

    def indent(self, at: int) -> str:
        """The indentation of the line around an offset."""
        found = _INDENT.match(self.text, self.start(at))
        return found[0] if found else ""

    def begins(self, at: int) -> bool:
        """Whether nothing stands before an offset on its line."""
        return not self.text[self.start(at) : at].strip(" \t\f")

    def rest(self, at: int) -> int | None:
        """The end of the line behind an offset where nothing but a comment follows; else None."""
        found = _REST.match(self.text, at)
        return found.end() if found else None

    def is_blank(self, at: int) -> bool:
        """Whether the line around an offset is blank."""
        return not self.text[self.start(at) : self.end(at)].strip(" \t\f")

    def own_comments(self, at: int, down_to: int = 0) -> int:
        """Where the comment lines directly above the line around an offset begin, those of its own indentation. Lines
        that are directives to tools stay, and so does what stands before ``down_to`` or heads the file."""
        column = self.indent(at)
        found = self.start(at)
        while (above := self.above(found)) is not None and above >= down_to:
            line = self.text[above : self.end(above)]
            if not line.startswith(column + "#") or _DIRECTIVE.match(line, len(column)):
                break
            if above == self.start(0):
                return self.start(at)
            found = above
        return found

    def block(self, start: int, end: int) -> tuple[int, int]:
        """Whole lines that go: from the start of the line around ``start`` to the end of the one around ``end``, with
        blank lines that would double, and the line end before them where they end a text that has none."""
        first, last = self.start(start), self.following(end)
        above = self.above(first)
        alone = above is None or self.is_blank(above)
        while alone and last < len(self.text) and self.is_blank(last):
            last = self.following(last)
        if last == len(self.text) and not self.text.endswith(("\n", "\r")) and above is not None:
            first = self.end(above)
        elif last == len(self.text):
            while (above := self.above(first)) is not None and self.is_blank(above):
                first = above
        return first, last
