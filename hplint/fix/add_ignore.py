"""Comments that ignore what is found: ``# hplint: ignore[…]`` behind the line at fault, or above it where a string is
in the way. A list that speaks for the place already gets the code; nothing else of the text changes."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hplint.fix.comment_places import CommentPlaces
from hplint.fix.edit import apply
from hplint.lint.diagnostic import Diagnostic, Edit
from hplint.lint.registry import OWN_PREFIX, Registry
from hplint.lint.select import UNREADABLE
from hplint.lint.suppress import BY_NAME_ONLY, UNUSED, Suppressor, lines_of
from hplint.plan.plan import Document
from hplint.plan.suppression import NOQA, Suppression
from hplint.text.source import Source
from hplint.text.span import START, Span

Check = Callable[[str], Sequence[Diagnostic]]
"""What is told of a text."""
NOT_IGNORED = frozenset((UNREADABLE, *BY_NAME_ONLY))
"""Codes that no comment is added for: a file that cannot be read, and comments that are wrong themselves."""


@dataclass(slots=True)
class Added:
    """The text with comments, what was put in for that, the findings that are ignored, and those for which there is no
    place."""

    text: str
    edits: tuple[Edit, ...] = ()
    ignored: list[Diagnostic] = field(default_factory=list)
    left: list[Diagnostic] = field(default_factory=list)


class _Spot(NamedTuple):
    """Where codes go: ``at`` an offset, into the list of ``into``, at the end of a line, or ``above`` one."""

    at: int
    into: Suppression | None = None
    above: bool = False


def add_ignores(document: Document, registry: Registry, check: Check, reason: str = "") -> Added:
    """Ignore everything that ``check`` tells of a file. A comment that would not do, or would change the plan, is left
    out again."""
    text = document.source.text
    found = list(check(text))
    if document.source.path.endswith(".json") or not document.plans:
        return Added(text, left=found)
    spots: dict[_Spot, list[Diagnostic]] = {}
    left = [d for d in found if d.code in NOT_IGNORED]
    finder = _Finder(document, registry)
    for diagnostic in found:
        if diagnostic.code not in NOT_IGNORED:
            spot = finder.spot(diagnostic)
            if spot is None:
                left.append(diagnostic)
            else:
                spots.setdefault(spot, []).append(diagnostic)
    return _tried(document, found, spots, left, check, reason)


def _tried(
    document: Document,
    found: Sequence[Diagnostic],
    spots: dict[_Spot, list[Diagnostic]],
    left: list[Diagnostic],
    check: Check,
    reason: str,
) -> Added:
    """All comments at once; where that does not do, one after the other."""
    text, before = document.source.text, document.source
    chosen = dict(spots)
    if spots and not _does(check(apply(text, _edits(before, spots, reason))), found, _all(spots)):
        chosen = {}
        for spot, diagnostics in spots.items():
            more = {**chosen, spot: diagnostics}
            if _does(check(apply(text, _edits(before, more, reason))), found, _all(more)):
                chosen = more
            else:
                left.extend(diagnostics)
    edits = _edits(before, chosen, reason)
    return Added(apply(text, edits), edits, _all(chosen), left)


def _all(spots: dict[_Spot, list[Diagnostic]]) -> list[Diagnostic]:
    return [d for diagnostics in spots.values() for d in diagnostics]


def _does(after: Iterable[Diagnostic], before: Iterable[Diagnostic], ignored: Iterable[Diagnostic]) -> bool:
    """Whether what shall be ignored is, and nothing came: a comment within a string would change the plan. Only
    comments may turn out to be for nothing, once the errors are gone."""
    left, expected, gone = (
        Counter((d.code, d.match, d.field) for d in found if d.code != UNUSED) for found in (after, before, ignored)
    )
    expected.subtract(gone)
    return all(count <= expected[key] for key, count in left.items())


class _Finder:
    def __init__(self, document: Document, registry: Registry) -> None:
        self.source = document.source
        self.places = CommentPlaces(document.source)
        self.suppressor = Suppressor(document, registry)

    def spot(self, diagnostic: Diagnostic) -> _Spot | None:
        """Where a comment on a finding goes; None where there is no place."""
        for active in self.suppressor.covering(diagnostic):
            if not active.written.of_file and active.words is not None and self._is_list(active.written):
                return _Spot(active.written.words[-1].span.end if active.written.words else 0, active.written)
        first, last = lines_of(self.source, diagnostic.span)
        if diagnostic.span == START and first in self.places.comments and self._above(1):
            return self._above(1)  # What a tool says to another in the first line stays as it is.
        for line in dict.fromkeys((first, last)):
            if self.places.takes_trailing(line):
                return _Spot(self._end(line))
        return self._above(first)

    @staticmethod
    def _is_list(written: Suppression) -> bool:
        """Whether codes may join a list: not where it names rules of other tools alone."""
        words = written.words or ()
        return written.form != NOQA or any(w.value.upper().startswith(OWN_PREFIX) for w in words)

    def _above(self, line: int) -> _Spot | None:
        if not self.places.takes_above(line):
            return None
        start = self.source.offset(line, 1)
        return _Spot(start, above=True)

    def _end(self, line: int) -> int:
        starts, text = self.source.starts, self.source.text
        end = starts[line] if line < len(starts) else len(text)
        return starts[line - 1] + len(text[starts[line - 1] : end].rstrip("\r\n"))


def _edits(source: Source, spots: dict[_Spot, list[Diagnostic]], reason: str) -> tuple[Edit, ...]:
    """What is put into the text."""
    why = f" -- {reason}" if reason else ""
    edits = []
    for spot, diagnostics in spots.items():
        codes = sorted({d.code for d in diagnostics})
        comment = f"# hplint: ignore[{','.join(codes)}]{why}"
        line = source.position(spot.at).line
        if spot.into is not None:
            between = _separator(source.text, spot.into)
            new = "".join(between + code for code in codes)
        elif spot.above:
            content = source.line(line)
            new = content[: len(content) - len(content.lstrip())] + comment + _line_end(source.text, spot.at)
        else:
            new = f"  {comment}" if source.line(line).strip() else comment
        edits.append(Edit(Span(spot.at, spot.at), new))
    return tuple(edits)


def _separator(text: str, written: Suppression) -> str:
    words = written.words or ()
    return text[words[0].span.end : words[1].span.start] if len(words) > 1 else ","


def _line_end(text: str, at: int) -> str:
    """The line end that the line around an offset has, else that of the file."""
    for start in (at, 0):
        for index in range(start, len(text)):
            if text[index] in "\r\n":
                return "\r\n" if text.startswith("\r\n", index) else text[index]
    return "\n"
