"""HPL007 match-list: a list match on an entry that shards (R50)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, listing, on_fault

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
        yield Finding(fault.span, message, help=advice, entry=case.entry(fault), field="match", severity="error")
