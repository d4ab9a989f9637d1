"""HPL410 attention-without-wrapper: cp above 1, and an attention boundary without inner_wrapper (R149)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, on_plan

RULE = on_plan("HPL410", "attention-without-wrapper")


def check(case: Case) -> Iterator[Finding]:
    size = case.topology.size("cp")
    # With assumed axes nothing new is found here, only the same once more at an entry that this run skips.
    if size is None or size < 2 or case.topology.assumed:
        return
    for boundary in case.boundaries():
        if boundary.kind != "attention" or boundary.inner_wrapper is not None:
            continue
        if not case.is_settled(boundary, "inner_wrapper"):
            continue
        span, entry = case.place(boundary)
        yield Finding(
            span,
            f"cp is {size}, but an attention module has no `inner_wrapper`: each rank would attend to its own part of "
            "the sequence alone, so the runtime refuses the plan",
            _advice(case, boundary.fqn),
            entry,
            boundary.fqn,
        )


def _advice(case: Case, fqn: str) -> str:
    module = case.tree.modules.get(fqn) if case.tree else None
    names = {p.name for p in module.forward or ()} if module else set()
    fits = "sdpa_hf" if "hidden_states" in names else "sdpa_qkv" if {"q", "k", "v"} <= names else ""
    wrapper = f"`inner_wrapper: {fits}`" if fits else "the `inner_wrapper` that fits its forward"
    return f"add an entry with `when: cp`, `region_dispatch: false`, `inner_target: self` and {wrapper}"
