"""HPL902 unknown-code: a comment that shall silence a rule which does not exist."""

from collections.abc import Iterator

from hplint.rule import (
    Case,
    ChangeComment,
    Fault,
    Finding,
    Proposal,
    listing,
    near,
    on_fault,
    one_near,
    quote,
    rename_in_comment,
)

RULE = on_fault("HPL902", "unknown-code")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        word, names = fault.data["word"], near(fault.data["word"], fault.data["names"])
        yield Finding(
            fault.span,
            f"there is no rule {quote(word)}: the comment silences nothing by it",
            help=f"did you mean {listing(names, 'or')}?" if names else "`hplint rules` lists all rules",
            fixes=_fixes(fault),
        )


def _fixes(fault: Fault) -> tuple[Proposal, ...]:
    word, names, others = fault.data["word"], fault.data["names"], fault.data["others"]
    if one_near(word, names) in others:
        gone = tuple(ChangeComment(*e) for e in fault.data["without"])
        return (Proposal(f"remove {quote(word)}", gone, True),)
    return rename_in_comment(fault.span, word, [n for n in names if n not in others])
