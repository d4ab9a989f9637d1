"""HPL007 match-list: a list match on an entry that shards (R50)."""

from collections.abc import Iterator

from hplint.rule import AddEntries, Case, Entry, Finding, Proposal, Rewrite, listing, on_fault, plain_fields, quote

RULE = on_fault("HPL007", "match-list")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        if fault.data["problem"] == "sharding":
            what = f"`match` is a list beside {listing(fault.data['fields'])}"
        else:
            what = "`match` is a list on an entry without `replace_module`"
        message = f"{what}: a list is for module replacement alone, and the runtime refuses this entry"
        matches = fault.data["matches"]
        if len(matches) == 1:
            advice = f"write `match: {matches[0]}`"
        else:
            advice = f"write {len(matches)} entries, one for each match, or one glob that covers them"
        entry = case.entry(fault)
        fixes = _fixes(entry) if entry else ()
        yield Finding(fault.span, message, help=advice, entry=entry, field="match", fixes=fixes, severity="error")


def _fixes(entry: Entry) -> tuple[Proposal, ...]:
    """The entry stays for its first match; further entries say the same of the others."""
    first, *others = dict.fromkeys(m.value for m in entry.matches)
    fields = plain_fields(entry)
    if "match" in entry.broken or (others and fields is None):
        return ()
    shorter = Rewrite(entry.values["match"], first)
    if not others:
        return (Proposal(f"replace the list by {quote(first)}", (shorter,), safe=True),)
    more = AddEntries(tuple({"match": m, **(fields or {})} for m in others), after=entry)
    title = f"split the entry into {len(others) + 1}, one for each of {listing((first, *others))}"
    return (Proposal(title, (shorter, more), safe=True),)
