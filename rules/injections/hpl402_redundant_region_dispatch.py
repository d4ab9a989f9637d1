"""HPL402 redundant-region-dispatch: region_dispatch true on a boundary without an injected function (R159)."""

from collections.abc import Iterator

from hplint.rule import Case, Entry, Finding, on_injection, remove_fields

RULE = on_injection("HPL402", "redundant-region-dispatch")

FUNCTIONS = ("local_compute_fn", "inner_wrapper")


def check(case: Case) -> Iterator[Finding]:
    if not case.resolved:
        if not any("inner_target" in e.keys or not e.keys.keys().isdisjoint(FUNCTIONS) for e in case.plan.entries):
            yield from (_finding(e, None) for e in case.plan.entries if e.region_dispatch and e.region_dispatch.value)
        return
    for boundary in case.boundaries():
        # A lone inner_target means an injection that is half written: HPL403.
        injected = (boundary.local_compute_fn, boundary.inner_wrapper, boundary.inner_target)
        if boundary.region_dispatch is not True or any(value is not None for value in injected):
            continue
        entry = boundary.origin.get("region_dispatch")
        if entry and case.is_settled(boundary, "region_dispatch", "inner_target", *FUNCTIONS):
            yield _finding(entry, boundary.fqn)


def _finding(entry: Entry, module: str | None) -> Finding:
    return Finding(
        entry.values["region_dispatch"],
        "`region_dispatch: true` without an injected function: the runtime refuses the boundary, as its own forward "
        "takes DTensors anyway",
        "remove it, or add the `local_compute_fn` or `inner_wrapper` that it belongs to",
        entry,
        module,
        "region_dispatch",
        fixes=(remove_fields(entry, "region_dispatch", safe=True),),
    )
