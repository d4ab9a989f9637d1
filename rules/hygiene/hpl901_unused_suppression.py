"""HPL901 unused-suppression: a comment that silences a rule where that rule finds nothing."""

from collections.abc import Iterator

from hplint.rule import Case, ChangeComment, Finding, Proposal, listing, on_fault, quote

RULE = on_fault("HPL901", "unused-suppression", "warning")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        words, written = fault.data["words"], fault.data["written"]
        what = listing(words) if words else quote(written)
        verb = "silence" if len(words) > 1 else "silences"
        where = "in this file" if fault.data["of_file"] else "here"
        yield Finding(
            fault.span,
            f"{what} {verb} nothing {where}, and would hide the next fault of that kind",
            help=f"remove {what}",
            fixes=(Proposal(f"remove {what}", tuple(ChangeComment(*e) for e in fault.data["edits"]), True),),
        )
