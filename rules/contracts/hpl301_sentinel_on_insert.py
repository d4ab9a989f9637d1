"""HPL301 sentinel-on-insert: auto / none where nothing was derived (R124)."""

from collections.abc import Iterator

from hplint.rule import Case, Draft, Fault, Finding, Proposal, on_fault, quote, remove_fields

RULE = on_fault("HPL301", "sentinel-on-insert")

_DOES = {"auto": "keeps the derived layouts", "none": "clears the derived layouts"}


def check(case: Case) -> Iterator[Finding]:
    why = "the module has no derived boundary" if case.topology.derive else "derivation is off"
    modules: dict[int | None, dict[str, None]] = {}
    for fault in case.faults(RULE.name):
        modules.setdefault(fault.entry, {})[fault.module or ""] = None
    for fault in case.faults(RULE.name):
        sentinel = fault.data["sentinel"]
        message = f"{quote(sentinel)} {_DOES[sentinel]}, but there are none: {why}, so the runtime refuses the plan"
        advice = f"declare {quote(fault.field)} as a mapping, or remove it"
        fixes = _fixes(case, fault, tuple(modules[fault.entry]))
        yield Finding(fault.span, message, advice, case.entry(fault), fault.module, fault.field, fixes=fixes)


def _fixes(case: Case, fault: Fault, modules: tuple[str, ...]) -> tuple[Proposal, ...]:
    entry = case.entry(fault)
    if entry is None or fault.field not in entry.keys:
        return ()
    return Proposal("draft a contract", (Draft(entry, modules),)), remove_fields(entry, fault.field)
