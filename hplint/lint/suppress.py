"""Suppressions at work: which findings comments silence, and which comments silence nothing.

A comment speaks for its own line: for findings that begin or end there. Alone on a line it speaks for the next line of
code as well, whatever comments stand between. HPL001 is silenced for whole files alone, for nothing else is known of
such a file; HPL901 and HPL902 on a line only by a comment that names them.

Faults recorded here:

- ``unknown-code``, at the word: ``word``, ``names`` (codes and names of all rules), ``others`` (what else the comment
  names), ``without`` (edits that take the word out).
- ``unused-suppression``, at the words or the whole: ``written``, ``words`` (those that silence nothing; empty: all of
  it), ``of_file``, ``edits`` (that take them out).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hplint.lint.comment_cuts import taken_out, words_taken_out
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.registry import OWN_PREFIX, Registry
from hplint.lint.run import fingerprint
from hplint.lint.select import UNREADABLE, codes_of
from hplint.plan.entry import Text
from hplint.plan.fault import Fault
from hplint.plan.plan import Document
from hplint.plan.suppression import NOQA, Suppression
from hplint.text.source import Source
from hplint.text.span import Span

if TYPE_CHECKING:
    from hplint.lint.run import Engine

UNUSED, UNKNOWN = "HPL901", "HPL902"
BY_NAME_ONLY = frozenset((UNUSED, UNKNOWN))
"""Codes that a comment on a line silences only where it names them: they are about such comments."""

Ran = Callable[[str], bool]
"""Whether the rule of a code looked at everything that the file holds, so that its silence means something."""


class _Word(NamedTuple):
    text: Text
    codes: frozenset[str]


@dataclass(slots=True)
class Active:
    """A suppression with the rules that its words mean. ``words`` is None where it is about all rules; ``lines`` are
    the 1-based lines that it speaks for, the one it stands on first."""

    written: Suppression
    words: list[_Word] | None
    lines: tuple[int, ...]
    used: set[Span | None] = field(default_factory=set)
    """The words that silenced something, by place; None for the whole."""

    def silences(self, code: str) -> bool:
        """Whether it is about a rule; if so, that is noted as its use."""
        if self.words is None:
            if not self.written.of_file and code in BY_NAME_ONLY:
                return False
            self.used.add(None)
            return True
        meant = [w.text.span for w in self.words if code in w.codes]
        self.used.update(meant)
        return bool(meant)


def silence(
    document: Document, found: Iterable[Diagnostic], engine: "Engine", ran: Ran
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """The findings of a file in two, those that are told and those that its comments silence; what is wrong with the
    comments themselves is among them."""
    suppressor = Suppressor(document, engine.registry)
    kept, gone = suppressor.sort([*found, *_found(engine, document, suppressor.faults)])
    for_nothing = _found(engine, document, suppressor.unused(ran, kept))
    more, silent = suppressor.sort(for_nothing)
    return sorted([*kept, *more], key=lambda d: (d.span, d.code)), [*gone, *silent]


def _found(engine: "Engine", document: Document, faults: Sequence[Fault]) -> list[Diagnostic]:
    if not faults:
        return []
    return fingerprint(engine.check_document(Document(document.source, faults=tuple(faults))))


class Suppressor:
    """The suppressions of one file."""

    def __init__(self, document: Document, registry: Registry) -> None:
        self.source = document.source
        self.registry = registry
        self.document = document
        self.faults: list[Fault] = []
        """The unknown codes."""
        self.active = [a for s in document.suppressions if (a := self._activated(s))]
        self.of_file = [a for a in self.active if a.written.of_file]
        self.by_line: dict[int, list[Active]] = {}
        for active in self.active:
            for line in active.lines if not active.written.of_file else ():
                self.by_line.setdefault(line, []).append(active)

    def sort(self, found: Iterable[Diagnostic]) -> tuple[list[Diagnostic], list[Diagnostic]]:
        """Findings in two: those that stay, and those that are silenced."""
        kept: list[Diagnostic] = []
        gone: list[Diagnostic] = []
        for diagnostic in found:
            (gone if self._is_silenced(diagnostic) else kept).append(diagnostic)
        return kept, gone

    def _is_silenced(self, diagnostic: Diagnostic) -> bool:
        # All that speak for a finding are in use: which of two is one too many is not for a tool to say.
        silent = [a.silences(diagnostic.code) for a in self.covering(diagnostic)]
        return any(silent)

    def covering(self, diagnostic: Diagnostic) -> Iterator[Active]:
        """The suppressions that speak for the place of a finding, those on its line first."""
        if diagnostic.code != UNREADABLE:
            first, last = lines_of(self.source, diagnostic.span)
            yield from self.by_line.get(first, ())
            if last != first:
                yield from (a for a in self.by_line.get(last, ()) if a.lines[0] == last and first not in a.lines)
        yield from self.of_file

    def unused(self, ran: Ran, left: Sequence[Diagnostic]) -> list[Fault]:
        """Faults for the suppressions that silence nothing although their rules looked. ``left`` are the findings that
        remain: where an error does, other rules may keep quiet because of it."""
        wrong = [d for d in left if d.severity == "error" and d.code != UNKNOWN]
        return [f for a in self.active if not self._is_open(a, wrong) and (f := self._unused(a, ran))]

    def _unused(self, active: Active, ran: Ran) -> Fault | None:
        written = active.written
        data = {"written": self.source.cut(written.span), "of_file": written.of_file}
        if active.words is None:
            # A bare noqa may be meant for another tool.
            if active.used or written.form == NOQA or not all(ran(r.code) for r in self.registry):
                return None
            words: list[_Word] = []
        else:
            words = [w for w in active.words if w.text.span not in active.used and self._is_idle(w, ran)]
            if not words:
                return None
        if not words or len(words) == len(written.words or ()):
            cut = taken_out(self.source, written)
            return Fault("unused-suppression", written.span, data={**data, "words": (), "edits": (cut,)})
        gone = tuple(w.text for w in words)
        cuts = words_taken_out(self.source, written, gone)
        named = tuple(w.value for w in gone)
        return Fault("unused-suppression", gone[0].span, data={**data, "words": named, "edits": cuts})

    @staticmethod
    def _is_idle(word: _Word, ran: Ran) -> bool:
        codes = word.codes - {UNUSED}
        return bool(codes) and all(map(ran, codes))

    def _is_open(self, active: Active, errors: Sequence[Diagnostic]) -> bool:
        """Whether errors that are still to be repaired may be why nothing is found where a suppression stands."""
        if not errors:
            return False
        entries = [e.span for p in self.document.plans for e in p.entries]
        around = [span for span in entries if not active.written.of_file and self._stands_in(active, span)]
        if not around:
            return True
        return any(s.start <= d.span.start < s.end for s in around for d in errors)

    def _stands_in(self, active: Active, span: Span) -> bool:
        first, last = lines_of(self.source, span)
        return first <= active.lines[-1] <= last

    def _activated(self, written: Suppression) -> Active | None:
        words = None if written.words is None else list(self._resolved(written))
        if words == [] and written.form == NOQA:
            return None
        return Active(written, words, () if written.of_file else _lines(self.source, written))

    def _resolved(self, written: Suppression) -> Iterator[_Word]:
        for text in written.words or ():
            codes = self._codes(written.form, text.value)
            if codes:
                yield _Word(text, codes)
            elif written.form != NOQA or _is_own(text.value):
                self.faults.append(self._unknown(written, text))

    def _codes(self, form: str, word: str) -> frozenset[str]:
        """The rules that a word means; in a noqa comment short words and ALL belong to other tools."""
        if form == NOQA and not _is_own(word) and self.registry.get(word) is None:
            return frozenset()
        return frozenset(codes_of(self.registry, word))

    def _unknown(self, written: Suppression, text: Text) -> Fault:
        others = tuple(w for w in written.words or () if w is not text)
        cuts = words_taken_out(self.source, written, (text,)) if others else (taken_out(self.source, written),)
        names = (*self.registry.rules, *(r.name for r in self.registry))
        data = {"word": text.value, "names": names, "others": tuple(w.value for w in others), "without": cuts}
        return Fault("unknown-code", text.span, data=data)


def _is_own(word: str) -> bool:
    return word.upper().startswith(OWN_PREFIX)


def lines_of(source: Source, span: Span) -> tuple[int, int]:
    """The 1-based lines on which a place begins and ends."""
    return source.position(span.start).line, source.position(max(span.start, span.end - 1)).line


def _lines(source: Source, written: Suppression) -> tuple[int, ...]:
    """The lines that a comment speaks for: its own and, if it stands alone there, the next one that is no comment."""
    line = source.position(written.comment.start).line
    if not stands_alone(source, written.comment):
        return (line,)
    count = len(source.starts)
    following = line + 1
    while following <= count and source.line(following).lstrip().startswith("#"):
        following += 1
    return (line, following)


def stands_alone(source: Source, comment: Span) -> bool:
    """Whether nothing but white space stands before a comment on its line."""
    line = source.position(comment.start).line
    return source.line(line).lstrip().startswith("#")
