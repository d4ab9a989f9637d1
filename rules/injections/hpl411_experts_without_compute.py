"""HPL411 experts-without-compute: an expert-marked boundary with neither local_compute_fn nor region_dispatch false
(R150)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, on_plan

RULE = on_plan("HPL411", "experts-without-compute")

_RECIPES = "hyper_parallel.distributed.expert_parallel.recipes"


def check(case: Case) -> Iterator[Finding]:
    size = case.topology.size("ep")
    # With assumed axes nothing new is found here, only the same once more at an entry that this run skips.
    if size is None or size < 2 or case.topology.assumed:
        return
    if any(case.faults("expert-region")):
        return  # HPL802: with another ep size there may be nothing to compute.
    for boundary in case.boundaries():
        if boundary.ep_size is None or boundary.local_compute_fn is not None or boundary.region_dispatch is False:
            continue
        if not case.is_settled(boundary, "local_compute_fn", "region_dispatch"):
            continue
        span, entry = case.place(boundary)
        yield Finding(
            span,
            f"ep is {size}, but nothing computes the experts of this module over the `ep` axis: its own forward would "
            "use local experts as if they were all of them, so the runtime refuses the plan",
            "add an entry with `when: ep`, `region_dispatch: false` and a `local_compute_fn` that fits the module "
            f"(`{_RECIPES}` has ready ones), or `region_dispatch: false` alone if its own forward communicates",
            entry,
            boundary.fqn,
        )
