"""Where findings on the words of a ``tp_plan`` stand, and fixes that write other words or take rules out.

A word that is written beside its key, for that key alone, can be changed in its place. One that comes from elsewhere (a
constant, a loop, ``dict.fromkeys``) may serve other keys too: findings on it stand at the key, and no fix touches it.
"""

import re
from collections.abc import Iterable

from hplint.lint.proposal import Proposal, Remove, Rename
from hplint.plan.plan import Plan
from hplint.plan.style import StyleEntry
from hplint.text.span import Span
from hplint.text.wording import quote

_BETWEEN = re.compile(r"""["']?\s*\]?\s*[:=]\s*["']?""")


def own_word(plan: Plan, entry: StyleEntry) -> Span | None:
    """The place of an entry's word where it is written beside its key, for that key alone."""
    if entry.style is None or entry.key is None:
        return None
    span = entry.style.span
    between = plan.source.text[entry.key.span.end : span.start] if span.start >= entry.key.span.end else ""
    others = (e.style.span for e in (*plan.styles, *plan.other_styles) if e is not entry and e.style)
    return span if _BETWEEN.fullmatch(between) and span not in others else None


def word_place(plan: Plan, entry: StyleEntry) -> Span:
    """Where a finding on an entry's word stands: at the word, or at the key where the word comes from elsewhere."""
    return own_word(plan, entry) or (entry.key.span if entry.key else entry.span)


def write_words(
    plan: Plan, words: Iterable[tuple[StyleEntry | None, str]], safe: bool = False
) -> tuple[Proposal, ...]:  # fmt: skip
    """Write other words for entries, together; nothing where one of them has none of its own in the file."""
    changes: dict[Rename, str] = {}
    for entry, word in words:
        place = own_word(plan, entry) if entry and not entry.shipped else None
        if entry is None or entry.key is None or place is None:
            return ()
        changes[Rename(place, word)] = f"{quote(word)} for {quote(entry.key.value.rpartition('.')[2])}"
    return (Proposal(f"write {' and '.join(changes.values())}", tuple(changes), safe),) if changes else ()


def drop_rule(plan: Plan, entry: StyleEntry) -> tuple[Proposal, ...]:
    """Take an entry out of the file; nothing where its key stands for others too."""
    others = (e.key.span for e in (*plan.styles, *plan.other_styles) if e is not entry and e.key)
    if entry.key is None or entry.shipped or own_word(plan, entry) is None or entry.key.span in others:
        return ()
    return (Proposal(f"remove {quote(entry.key.value)}", (Remove(entry.key.span),)),)
