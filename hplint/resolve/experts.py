"""Whether expert parallelism fits the mesh and the model.

Records ``expert-region`` (R105-R107), at the declared ep size, else at the plan's anchor. Data: ``problem`` and sizes:

- ``pipeline``: extended expert parallelism with a pp axis; ``ep``, ``pp``;
- ``region``: ep does not cut the dense region; ``ep``, ``region`` (ranks), ``axes`` (axis -> size, non-pp);
- ``experts``: ep does not divide the experts; ``ep``, ``experts``, ``key`` (the configuration's).
"""

from collections.abc import Iterator
from typing import Any

from hplint.derive.boundary import Boundary
from hplint.model.tree import ModuleTree
from hplint.plan.fault import Fault
from hplint.plan.plan import Plan
from hplint.resolve.topology import Topology

EXPERT_COUNTS = ("num_experts", "num_local_experts", "n_routed_experts")
"""Where a configuration says how many experts there are; the second is how some spell the first when written out."""


def expert_region(plan: Plan, tree: ModuleTree, topology: Topology, derived: dict[str, Boundary]) -> Iterator[Fault]:
    """The faults of this topology's ep size; none where no boundary is expert-parallel or the size is unknown."""
    ep = topology.size("ep")
    if ep is None or ep <= 1:
        return
    own_axis = topology.has_ep_axis
    if not any(b.ep_size is not None or (own_axis and b.kind == "moe_mlp") for b in derived.values()):
        return
    for data in _problems(tree, topology, ep):
        number = plan.accelerator.sizes.get("ep") if plan.accelerator else None
        yield Fault("expert-region", number.span if number else plan.anchor, data={"ep": ep, **data})


def is_dense(tree: ModuleTree) -> bool:
    """Whether a model surely has no experts: its configuration counts none, and no module or parameter is called so."""
    config = tree.config
    counts = [
        value for section in (config, *config.values()) if isinstance(section, dict) for value in _counts(section)
    ]
    if not config.get("num_attention_heads") or any(counts):
        return False
    names = {n for node in tree.nodes for n in (*node.parameters, *(c for c, _ in node.children))}
    return not any(word in name.lower() for name in names for word in ("expert", "moe", "router"))


def _counts(section: dict[str, Any]) -> Iterator[int]:
    return (value for key in EXPERT_COUNTS if type(value := section.get(key)) is int)


def _problems(tree: ModuleTree, topology: Topology, ep: int) -> Iterator[dict[str, Any]]:
    if not topology.has_ep_axis:
        pp = topology.size("pp")
        if pp is not None and pp > 1:
            yield {"problem": "pipeline", "pp": pp}
        axes = {a: n for a, n in topology.mesh.items() if a != "pp"}
        region = 1
        for size in axes.values():
            region *= size
        if axes and region % ep:
            yield {"problem": "region", "region": region, "axes": axes}
    for key in EXPERT_COUNTS:
        experts = tree.config.get(key)
        if type(experts) is int and experts > 0:
            if experts % ep:
                yield {"problem": "experts", "experts": experts, "key": key}
            return
