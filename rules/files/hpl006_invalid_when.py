"""HPL006 invalid-when: a condition that the runtime does not know (R9, R52)."""

from collections.abc import Iterator

from hplint.rule import Case, Fault, Finding, Proposal, listing, near, on_fault, quote, remove_fields, rename_to_one

RULE = on_fault("HPL006", "invalid-when")

_MEANT = {"sp": "sequence_parallel", "context": "cp", "context_parallel": "cp", "expert": "ep", "expert_parallel": "ep"}
_ALWAYS = ("always", "true", "on", "yes", "tp", "dp")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        written = quote(case.plan.source.cut(fault.span) or "''")
        kind = f" (read as {fault.data['type']})" if fault.data["type"] != "a string" else ""
        message = f"{written}{kind} is no condition for `when`: the runtime refuses the entry"
        yield Finding(
            fault.span,
            message,
            help=_advice(fault),
            entry=case.entry(fault),
            field="when",
            fixes=_fixes(case, fault),
            severity="error",
        )


def _advice(fault: Fault) -> str:
    value, allowed = fault.data["value"], listing(fault.data["allowed"], "or")
    if names := _meant(fault):
        return f"did you mean {listing(names, 'or')}? Allowed are {allowed}"
    if value is True or str(value).lower() in _ALWAYS:
        return f"leave `when` out for an entry that always applies; allowed are {allowed}"
    return f"allowed are {allowed}"


def _meant(fault: Fault) -> list[str]:
    word = str(fault.data["value"]).strip().lower()
    return [_MEANT[word]] if word in _MEANT else near(word, fault.data["allowed"])


def _fixes(case: Case, fault: Fault) -> tuple[Proposal, ...]:
    value, entry = fault.data["value"], case.entry(fault)
    if isinstance(value, str) and (names := _meant(fault)):
        return rename_to_one([fault.span], value, names, sure=value.strip().lower() in _MEANT)
    return (remove_fields(entry, "when"),) if entry else ()
