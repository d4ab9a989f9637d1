"""HPL008 not-evaluated: a Python expression whose value is known only at run time; what rests on it is not checked."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, on_fault

RULE = on_fault("HPL008", "not-evaluated", "info")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        message = f"not evaluated: {fault.data['reason']}. What depends on this is not checked"
        advice = "use constants of this file, literal loops and functions of this file where it should be checked"
        yield Finding(fault.span, message, help=advice, entry=case.entry(fault), field=fault.field)
