"""Edits of a text: applied together, cut down to what they really change."""

from collections.abc import Iterable, Sequence

from hplint.lint.diagnostic import Edit
from hplint.text.span import Span


class CannotRealise(Exception):
    """A proposal that cannot become edits of this text; ``reason`` finishes the sentence "not fixed: …"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made. Edits must not overlap; insertions at one offset keep their order."""
    parts: list[str] = []
    at = 0
    for (start, end), new in in_order(edits):
        if start < at:
            raise ValueError(f"the edit at {start} overlaps the one before it")
        parts += text[at:start], new
        at = end
    return "".join((*parts, text[at:]))


def in_order(edits: Iterable[Edit]) -> list[Edit]:
    """Edits by place; an insertion comes before a replacement that starts where it stands."""
    return sorted(edits, key=lambda e: e.span)


def overlap(one: Iterable[Edit], other: Iterable[Edit]) -> bool:
    """Whether two sets of edits touch a common character: only one of them may be made. Insertions at one offset do
    not: they are realised together, which puts both there."""
    return any(_touch(a.span, b.span) for a in one for b in other)


def _touch(a: Span, b: Span) -> bool:
    if a.start == a.end and b.start == b.end:
        return False
    return (a.start < b.end and b.start < a.end) or a.start == b.start


def smallest(text: str, edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """The same edits without the characters that both sides share, and without those that change nothing."""
    kept = []
    for span, new in in_order(edits):
        old = text[span.start : span.end]
        if old == new:
            continue
        head = _shared(old, new)
        tail = _shared(old[head:][::-1], new[head:][::-1])
        kept.append(Edit(Span(span.start + head, span.end - tail), new[head : len(new) - tail]))
    return tuple(kept)


def difference(old: str, new: str) -> tuple[Edit, ...]:
    """The smallest edits, line by line and then within lines, that make ``new`` of ``old``."""
    from difflib import SequenceMatcher

    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    edits = [
        Edit(Span(starts[a], starts[b]), "".join(after[c:d]))
        for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if tag != "equal"
    ]
    return smallest(old, edits)


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many leading characters two texts share."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
