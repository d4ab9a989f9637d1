"""HPL302 missing-contract: an entry that creates a boundary and declares no layouts (R125)."""

from collections.abc import Iterator

from hplint.rule import CONTRACT_FIELDS, Case, Draft, Entry, Finding, Proposal, listing, on_fault, quote, rename

RULE = on_fault("HPL302", "missing-contract")


def check(case: Case) -> Iterator[Finding]:
    why = "has no derived boundary" if case.topology.derive else "has no boundary, as derivation is off"
    for fault in case.faults(RULE.name):
        message = (
            f"the module {why}, and the entry declares none of {listing(CONTRACT_FIELDS, 'or')} "
            "to create one from, so the runtime refuses the plan"
        )
        outer = _outer(case, fault.module or "")
        advice = "declare the layouts of its parameters, inputs and outputs"
        if outer is not None:
            advice += f", or match {quote(outer)}, the boundary around it"
        entry = case.entry(fault)
        fixes = _fixes(entry, fault.module or "", outer) if entry else ()
        yield Finding(fault.span, message, help=advice, entry=entry, module=fault.module, fixes=fixes)


def _fixes(entry: Entry, module: str, outer: str | None) -> tuple[Proposal, ...]:
    draft = Proposal("draft a contract", (Draft(entry, (module,)),))
    if not outer or entry.match is None:
        return (draft,)
    return draft, rename(entry.match.span, module, outer)


def _outer(case: Case, fqn: str) -> str | None:
    """The nearest boundary above a module."""
    while case.resolved and "." in fqn:
        fqn = fqn.rpartition(".")[0]
        if fqn in case.resolved.boundaries:
            return fqn
    return None
