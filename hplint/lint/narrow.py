"""An injection on fewer modules: a glob hits some that the function does not fit."""

from collections.abc import Sequence

from hplint.lint.proposal import AddEntries, Change, Proposal, Remove, Rename
from hplint.lint.remedies import injection_fields
from hplint.plan.entry import Entry
from hplint.plan.plain import plain_fields
from hplint.plan.ranges import globs
from hplint.text.wording import listing, quote

MOST = 12
"""Entries into which one is split at most."""


def narrow_injection(entry: Entry, field: str, right: Sequence[str]) -> tuple[Proposal, ...]:
    """Inject into the modules of ``right`` alone: unsafe. None where that takes too many entries, or where what the
    entry says could not be read."""
    goes = injection_fields(entry, field)
    said = plain_fields(entry, ("when", *goes))
    patterns = globs(right)
    if said is None or len(entry.matches) != 1 or not 0 < len(patterns) <= MOST:
        return ()
    match = entry.matches[0]
    if entry.keys.keys() <= {"match", "when", *goes}:
        first, *others = patterns
        changes: list[Change] = [Rename(match.span, first)]
        title = f"replace {quote(match.value)} by {listing(patterns)}"
    else:
        others = patterns
        changes = [Remove(entry.keys[name]) for name in goes]
        title = f"move {quote(field)} to entries of its own, for {listing(patterns)}"
    if others:
        changes.append(AddEntries(tuple({"match": p, **said} for p in others), after=entry))
    return (Proposal(title, tuple(changes)),)
