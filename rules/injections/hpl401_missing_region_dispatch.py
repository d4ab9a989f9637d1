"""HPL401 missing-region-dispatch: a boundary with an injected function and no region_dispatch (R158)."""

from collections.abc import Iterator

from hplint.rule import Boundary, Case, Finding, Injection, Proposal, injections, on_injection, quote, set_field

RULE = on_injection("HPL401", "missing-region-dispatch")


def check(case: Case) -> Iterator[Finding]:
    for injection in injections(case, "local_compute_fn", "inner_wrapper"):
        if not case.resolved:
            # Only a derived expert boundary could bring the field along: likely, not certain.
            if not any("region_dispatch" in e.keys for e in case.plan.entries):
                yield _finding(injection, None, "warning")
            continue
        for boundary in injection.boundaries:
            if boundary.region_dispatch is not None or not case.is_settled(boundary, "region_dispatch"):
                continue
            if injection.field == "local_compute_fn" or boundary.local_compute_fn is None:
                yield _finding(injection, boundary, None)


def _finding(injection: Injection, boundary: Boundary | None, severity: str | None) -> Finding:
    return Finding(
        injection.entry.keys[injection.field],
        f"`{injection.field}` without `region_dispatch`: nothing says whether DTensors may enter the function, and the "
        "runtime refuses it",
        _advice(injection),
        injection.entry,
        boundary.fqn if boundary else None,
        injection.field,
        fixes=(_fix(injection, boundary),),
        severity=severity,
    )


def _advice(injection: Injection) -> str:
    shipped = injection.shipped
    if shipped and shipped.context:
        return "write `region_dispatch: false`: the shipped wrappers communicate"
    effect = injection.reading.effect if injection.reading else None
    if effect and effect.answer == "yes":
        does = "communicates" if effect.kind == "communication" else "calls a custom kernel"
        return f"write `region_dispatch: false`: it {does} ({quote(effect.what)}, {effect.place})"
    if effect and effect.answer == "no":
        return "write `region_dispatch: true`: its source calls nothing that DTensors cannot follow"
    return (
        "write `region_dispatch: false` if it communicates or calls custom kernels, `region_dispatch: true` if it only "
        "calls torch operations"
    )


def _fix(injection: Injection, boundary: Boundary | None) -> Proposal:
    """What the source decides is safe; where it does not, any function may be called with plain tensors."""
    shipped, field = injection.shipped, "region_dispatch"
    effect = injection.reading.effect if injection.reading else None
    if (shipped and shipped.context) or (effect and effect.answer == "yes"):
        return set_field(injection.entry, field, False, safe=True)
    if boundary and boundary.local_compute_fn and boundary.inner_wrapper:
        return set_field(injection.entry, field, False, why="for two functions share it")
    if effect and effect.answer == "no":
        return set_field(injection.entry, field, True, safe=True)
    unread = f"{quote(effect.what)} ({effect.place}) may communicate" if effect and effect.what else "it cannot be read"
    return set_field(injection.entry, field, False, why=f"for {unread}")
