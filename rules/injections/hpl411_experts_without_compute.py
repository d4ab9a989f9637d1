"""HPL411 experts-without-compute: an expert-marked boundary with neither local_compute_fn nor region_dispatch false
(R150)."""

from collections.abc import Iterator

from hplint.rule import Boundary, Case, Finding, Proposal, add_entries, fitting_recipe, listing, on_plan

RULE = on_plan("HPL411", "experts-without-compute")

_RECIPES = "hyper_parallel.distributed.expert_parallel.recipes"


def check(case: Case) -> Iterator[Finding]:
    size = case.topology.size("ep")
    # With assumed axes nothing new is found here, only the same once more at an entry that this run skips.
    if size is None or size < 2 or case.topology.assumed:
        return
    if any(case.faults("expert-region")):
        return  # HPL802: with another ep size there may be nothing to compute.
    bare = [b for b in case.boundaries() if _is_bare(case, b)]
    fixes = _fixes(case, [b.fqn for b in bare]) if bare else ()
    for boundary in bare:
        span, entry = case.place(boundary)
        yield Finding(
            span,
            f"ep is {size}, but nothing computes the experts of this module over the `ep` axis: its own forward would "
            "use local experts as if they were all of them, so the runtime refuses the plan",
            "add an entry with `when: ep`, `region_dispatch: false` and a `local_compute_fn` that fits the module "
            f"(`{_RECIPES}` has ready ones), or `region_dispatch: false` alone if its own forward communicates",
            entry,
            boundary.fqn,
            fixes=fixes,
        )


def _is_bare(case: Case, boundary: Boundary) -> bool:
    if boundary.ep_size is None or boundary.local_compute_fn is not None or boundary.region_dispatch is False:
        return False
    return case.is_settled(boundary, "local_compute_fn", "region_dispatch")


def _fixes(case: Case, modules: list[str]) -> tuple[Proposal, ...]:
    """One entry for each factory, over all the modules; none where some have experts that no shipped one computes."""
    factories: dict[str, list[str]] = {}
    for fqn in modules:
        known = case.tree is not None and fqn in case.tree.modules
        factories.setdefault(fitting_recipe(case.tree, fqn) if known and case.tree else "", []).append(fqn)
    condition = {"when": "ep"} if case.plan.dialect == "yaml" else {}
    added = [
        add_entries(case, m, {**condition, "region_dispatch": False, "local_compute_fn": {"_target_": path}})
        for path, m in factories.items()
        if path
    ]
    if len(added) < len(factories) or not all(added):
        return ()
    names = [path.rpartition(".")[2] for path in factories]
    return (Proposal(f"add an entry with {listing(names)}", tuple(c for one in added for c in one)),)
