"""HPL410 attention-without-wrapper: cp above 1, and an attention boundary without inner_wrapper (R149)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Proposal, add_entries, fitting_wrapper, listing, on_plan

RULE = on_plan("HPL410", "attention-without-wrapper")


def check(case: Case) -> Iterator[Finding]:
    size = case.topology.size("cp")
    # With assumed axes nothing new is found here, only the same once more at an entry that this run skips.
    if size is None or size < 2 or case.topology.assumed:
        return
    bare = [
        b
        for b in case.boundaries()
        if b.kind == "attention" and b.inner_wrapper is None and case.is_settled(b, "inner_wrapper")
    ]
    fixes = _fixes(case, [b.fqn for b in bare]) if bare else ()
    for boundary in bare:
        span, entry = case.place(boundary)
        yield Finding(
            span,
            f"cp is {size}, but an attention module has no `inner_wrapper`: each rank would attend to its own part of "
            "the sequence alone, so the runtime refuses the plan",
            _advice(case, boundary.fqn),
            entry,
            boundary.fqn,
            fixes=fixes,
        )


def _fixes(case: Case, modules: list[str]) -> tuple[Proposal, ...]:
    """One entry for each wrapper, over all the modules; none where some need another one."""
    wrappers: dict[str, list[str]] = {}
    for fqn in modules:
        wrappers.setdefault(_wrapper(case, fqn), []).append(fqn)
    condition = {"when": "cp"} if case.plan.dialect == "yaml" else {}
    rest = {"region_dispatch": False, "inner_target": "self"}
    added = [add_entries(case, m, {**condition, **rest, "inner_wrapper": w}) for w, m in wrappers.items() if w]
    if len(added) < len(wrappers) or not all(added):
        return ()
    return (Proposal(f"add an entry with {listing(wrappers)}", tuple(c for one in added for c in one)),)


def _wrapper(case: Case, fqn: str) -> str:
    module = case.tree.modules.get(fqn) if case.tree else None
    return fitting_wrapper(module) if module else ""


def _advice(case: Case, fqn: str) -> str:
    fits = _wrapper(case, fqn)
    wrapper = f"`inner_wrapper: {fits}`" if fits else "the `inner_wrapper` that fits its forward"
    return f"add an entry with `when: cp`, `region_dispatch: false`, `inner_target: self` and {wrapper}"
