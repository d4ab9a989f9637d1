"""HPL001 syntax-error: the file is no text that a loader can read."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Related, on_fault

RULE = on_fault("HPL001", "syntax-error")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        related = tuple(Related(*place) for place in fault.related)
        yield Finding(fault.span, fault.data["message"], help=fault.data.get("help", ""), related=related)
