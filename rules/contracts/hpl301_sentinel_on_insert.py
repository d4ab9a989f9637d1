"""HPL301 sentinel-on-insert: auto / none where nothing was derived (R124)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, on_fault, quote

RULE = on_fault("HPL301", "sentinel-on-insert")

_DOES = {"auto": "keeps the derived layouts", "none": "clears the derived layouts"}


def check(case: Case) -> Iterator[Finding]:
    why = "the module has no derived boundary" if case.topology.derive else "derivation is off"
    for fault in case.faults(RULE.name):
        sentinel = fault.data["sentinel"]
        message = f"{quote(sentinel)} {_DOES[sentinel]}, but there are none: {why}, so the runtime refuses the plan"
        advice = f"declare {quote(fault.field)} as a mapping, or remove it"
        yield Finding(fault.span, message, help=advice, entry=case.entry(fault), module=fault.module, field=fault.field)
