"""HPL305 dropped-parameters: params that replace derived ones and leave some out (R122)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, listing, on_fault

RULE = on_fault("HPL305", "dropped-parameters", "warning")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        dropped = fault.data["dropped"]
        message = (
            f"`params` replaces the boundary's parameters as a whole and drops {listing(dropped)}: "
            f"{'it loses its layout' if len(dropped) == 1 else 'they lose their layouts'}"
        )
        advice = "write the dropped ones too, or leave `params` out to keep what was derived"
        yield Finding(fault.span, message, help=advice, entry=case.entry(fault), module=fault.module, field=fault.field)
