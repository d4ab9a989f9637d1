"""HPL004 missing-match: an entry without match, or with an empty one (R7, R38)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, on_fault

RULE = on_fault("HPL004", "missing-match")

_HELP = "give `match` a module name such as `model.layers.0.mlp`, or a glob such as `*.mlp`"


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        has = "an empty `match`" if fault.data["problem"] == "empty" else "no `match`"
        message = f"this entry has {has}: the runtime cannot tell which modules it is about and refuses it"
        yield Finding(fault.span, message, help=_HELP, entry=case.entry(fault), field="match", severity="error")
