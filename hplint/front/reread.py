"""Reading a text again that was changed a little: only the entries around the change are read, the others move.

What comes out is what :func:`read_document` makes of the whole text; where that is not certain, the whole is read. An
entry of a block list can be read alone: what stands before it is over when its dash comes, and it is over when the
next dash comes, unless something in it reaches further than its lines (anchors, aliases, document marks).
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from hplint.front.keys import PLAN_OVERRIDES, YAML
from hplint.front.moved import Move
from hplint.front.read import read_document
from hplint.front.yaml.plan import read_yaml
from hplint.plan.entry import Entry
from hplint.plan.fault import Fault
from hplint.plan.plan import Document, Plan
from hplint.text.source import Source
from hplint.text.span import START

_OTHERS = (".py", ".json")
_DASH = re.compile(r" *(?=-(?: +|$))", re.M)
_INDENT = re.compile(r"^( *)(?:(-(?:[ \r\n]|\Z))|(?=[^ #\r\n]))", re.M)
"""What is before the first character of each line that says something, and a dash that it begins with."""
_FAR = re.compile(r"(?:^|[\s\[{,:-])[*&!]|^(?:---|\.\.\.|%)|\r(?!\n)|[\x85\u2028\u2029\ufeff]", re.M)
"""What may reach further than the lines of an entry: anchors, aliases and tags, marks of documents, and line ends that
only some count."""


class Rereader:
    """Reads the states of one file's text, one after the other."""

    def __init__(self) -> None:
        self._known: _Parts | None = None

    def read(self, path: str, text: str) -> Document:
        """The document of a text. Never raises."""
        data = text.encode("utf-8", "replace")
        text = data.decode("utf-8")
        known = self._known
        if known is None or known.document.source.path != path:
            return self._remember(read_document(path, data))
        if text == known.document.source.text:
            return known.document
        change = _change(known, text)
        if change is None:
            return self._remember(read_document(path, data))
        part = Source(path, known.head + text[change.start : change.new_end])
        read = read_yaml(part, retry=False)
        if any(f.rule == "syntax-error" for f in read.faults):
            if any(f.rule == "syntax-error" for f in read_yaml(part).faults):
                # No parser takes this part, so none takes the whole: the slower one need not be asked.
                return self._remember(read_yaml(Source(path, text), retry=False))
            return self._remember(read_document(path, data))
        put = _put(known, change, read, Source(path, text))
        return self._remember(put or read_document(path, data))

    def _remember(self, document: Document) -> Document:
        # A text that is broken for a while is compared with its last whole state.
        if (parts := _parts(document)) is not None:
            self._known = parts
        return document


class _Parts(NamedTuple):
    """A document whose entries can be read one by one. ``starts`` are the lines that open them, at ``column``, and the
    end of the last one; ``head`` is what makes a list of entries a plan."""

    document: Document
    starts: list[int]
    column: int
    head: str

    @property
    def plan(self) -> Plan:
        return self.document.plans[0]


class _Change(NamedTuple):
    """The entries ``first`` to ``last`` have changed: what was ``start`` to ``end`` is now ``start`` to ``new_end`` and
    holds ``size`` entries."""

    first: int
    last: int
    start: int
    end: int
    new_end: int
    size: int


def _parts(document: Document) -> _Parts | None:
    """The entries of a document, None where they are no block list or the document has faults of its own."""
    source = document.source
    if source.path.endswith(_OTHERS) or document.faults or len(document.plans) != 1:
        return None
    plan = document.plans[0]
    if plan.dialect != YAML or not plan.entries:
        return None
    if plan.anchor == START:
        head = ""
    elif source.cut(plan.anchor) == PLAN_OVERRIDES:
        head = f"{PLAN_OVERRIDES}:\n"
    else:
        return None
    starts: list[int] = []
    columns = set()
    for entry in plan.entries:
        start = source.text.rfind("\n", 0, entry.span.start) + 1
        before = _DASH.match(source.text, start)
        if before is None or source.text[before.end() + 1 : entry.span.start].strip(" "):
            return None
        starts.append(start)
        columns.add(before.end() - start)
    if len(columns) != 1 or any(a >= b for a, b in pairwise(starts)):
        return None
    (column,) = columns
    starts.append(_end(source.text, plan.entries[-1].span.end, column))
    return _Parts(document, starts, column, head)


def _end(text: str, start: int, column: int) -> int:
    """Where the list is over whose last token ends at ``start``."""
    for line in _INDENT.finditer(text, start):
        if len(line[1]) <= column:
            return line.start()
    return len(text)


def _change(known: _Parts, text: str) -> _Change | None:
    """Which entries are new; None where more than entries has changed."""
    old = known.document.source.text
    most = min(len(old), len(text))
    same = _most(most, lambda n: text.startswith(old[:n]))
    end = len(old) - _most(most - same, lambda n: text.endswith(old[len(old) - n :]))
    entries = known.plan.entries
    first = bisect_right([e.span.start for e in entries], same) - 1
    last = bisect_right(known.starts, end) - 1
    if last == len(entries) and end == known.starts[-1] == len(old):
        last -= 1
    if first < 0 or not first <= last < len(entries):
        return None
    start, stop = known.starts[first], known.starts[last + 1]
    new_stop = stop + len(text) - len(old)
    part = text[start:new_stop]
    if (stop < len(old) and not part.endswith("\n")) or _FAR.search(part) or _FAR.search(old, start, stop):
        return None
    lines = [(len(line[1]), bool(line[2])) for line in _INDENT.finditer(part)]
    if any(column < known.column or (column == known.column and not dash) for column, dash in lines):
        return None
    size = sum(column == known.column for column, _ in lines)
    return _Change(first, last, start, stop, new_stop, size)


def _most(limit: int, holds: Callable[[int], bool]) -> int:
    """The largest number up to a limit for which something holds that holds for all smaller ones."""
    low = 0
    while low < limit:
        middle = (low + limit + 1) // 2
        low, limit = (middle, limit) if holds(middle) else (low, middle - 1)
    return low


def _put(known: _Parts, change: _Change, read: Document, source: Source) -> Document | None:
    """The document with the entries that were read anew; None where these are more or less than entries."""
    if read.faults or len(read.plans) != 1:
        return None
    part, plan, document = read.plans[0], known.plan, known.document
    if len(part.entries) != change.size or any(f.entry is None for f in part.faults):
        return None
    here = Move(0, change.start - len(known.head))
    after = Move(change.end, change.new_end - change.end)
    more = change.size - (change.last + 1 - change.first)
    entries = (
        *plan.entries[: change.first],
        *(here.entry(e, e.index + change.first) for e in part.entries),
        *_after(plan, change, after, more),
    )
    accelerator = plan.accelerator and after.accelerator(plan.accelerator)
    faults = _faults(plan, part, change, (here, after))
    model = after.anything(plan.model)
    new = replace(plan, source=source, entries=entries, faults=faults, accelerator=accelerator, model=model)
    directives = (
        *(d for d in document.directives if d.span.start < change.start),
        *map(here.directive, read.directives),
        *(after.directive(d) for d in document.directives if d.span.start >= change.end),
    )
    suppressions = (
        *(s for s in document.suppressions if s.span.start < change.start),
        *map(here.suppression, read.suppressions),
        *(after.suppression(s) for s in document.suppressions if s.span.start >= change.end),
    )
    return Document(source, (new,), directives, (), suppressions)


def _after(plan: Plan, change: _Change, move: Move, more: int) -> tuple[Entry, ...]:
    kept = plan.entries[change.last + 1 :]
    return tuple([move.entry(e, e.index + more) for e in kept]) if move.by or more else kept


def _faults(plan: Plan, part: Plan, change: _Change, moves: tuple[Move, Move]) -> tuple[Fault, ...]:
    """The faults of the whole, those of entries in their order."""
    here, after = moves
    more = change.size - (change.last + 1 - change.first)
    kept = [(f, f.entry) for f in plan.faults]
    return (
        *(after.fault(f, None) for f, number in kept if number is None),
        *(f for f, number in kept if number is not None and number < change.first),
        *(here.fault(f, f.entry + change.first) for f in part.faults if f.entry is not None),
        *(after.fault(f, number + more) for f, number in kept if number is not None and number > change.last),
    )
