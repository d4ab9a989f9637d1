"""Plan x module tree x topology -> resolved plan."""

from hplint.derive.boundary import Boundary
from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan
from hplint.resolve.experts import expert_region
from hplint.resolve.finalise import finalise, special_parameters, tied_parameters
from hplint.resolve.match import Matcher
from hplint.resolve.merge import Merger
from hplint.resolve.overrides import overrides
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.topology import Topology


def resolve(
    plan: Plan,
    tree: ModuleTree,
    topology: Topology,
    derived: dict[str, Boundary],
    include_inactive: bool = False,
    matcher: Matcher | None = None,
) -> ResolvedPlan:
    """Apply every active entry of ``plan`` to the derived boundaries and settle what is left.

    ``derived`` (by FQN, {} with derivation off) is never changed. ``include_inactive`` applies every entry, whatever
    its ``when``. A ``matcher`` of the same tree saves work when many plans are resolved. Nothing raises: what cannot be
    applied becomes a fault, and the rest goes on. Faults come in the order of application.
    """
    merger = Merger(tree, derived, matcher)
    for override in overrides(plan, topology, include_inactive):
        merger.apply(override)
    finalise(merger, topology)
    return ResolvedPlan(
        boundaries=merger.boundaries,
        faults=(*expert_region(plan, tree, topology, derived), *merger.faults),
        hits=merger.hits,
        set_aside=tuple(merger.set_aside),
        special=special_parameters(tree),
        tied=tied_parameters(tree),
    )
