"""Along which axes a region works in shares, and which gradients therefore have to be summed.

A region works *in shares* along an axis if each rank computes a part or a term of the result there; otherwise every
rank computes the whole of it, alike. In shares, gradients of what is replicated (parameters, inputs) are terms of a sum
(:mod:`hplint.apply.mesh.transition`). A region inside of another one that works in shares does so too.
"""

from collections.abc import Iterable, Mapping

from hplint.apply.mesh.moves import output_moves
from hplint.apply.plan import EXPERT_AXES, ApplyBoundary, ApplyPlan, AxisLayout
from hplint.plan.placement import REPLICATE

Shares = Mapping[str, frozenset[str]]
"""FQN of a boundary -> the axes along which its region works in shares."""


def region_shares(plan: ApplyPlan, laid: Mapping[str, AxisLayout]) -> Shares:
    """The shares of every region of a plan; ``laid`` has the layouts of the model's parameters by full name.

    What does not belong to any region counts as whole, see :func:`outer_shares`. Regions that hold one tied parameter
    agree, since its gradients are added before they are summed.
    """
    owner = Owners(plan)
    inside: dict[str | None, list[AxisLayout]] = {}
    for name, layout in laid.items():
        inside.setdefault(owner.of(name), []).append(layout)
    found: dict[str, frozenset[str]] = {}
    for boundary in reversed(plan.boundaries):  # parents first
        parent = owner.above(boundary.fqn)
        around = found[parent] if parent is not None else frozenset()
        if parent is None and boundary.is_silent:
            around = outer_shares(plan)
        found[boundary.fqn] = around | _own(boundary, plan, inside.get(boundary.fqn, []))
    return _agreed(found, plan, owner)


def _own(boundary: ApplyBoundary, plan: ApplyPlan, parameters: list[AxisLayout]) -> frozenset[str]:
    if boundary.ep_size is not None:
        # Experts take tokens from all ranks: what reaches them is a share on every axis.
        return frozenset(plan.axes)
    layouts = [*parameters, *boundary.in_dst.values(), *(boundary.out_src or {}).values()]
    return frozenset(a for a in plan.axes if any(layout.get(a, REPLICATE) != REPLICATE for layout in layouts))


def _agreed(found: dict[str, frozenset[str]], plan: ApplyPlan, owner: "Owners") -> Shares:
    """Let regions of tied parameters work in shares where one of them does, and those inside of them too."""
    changed = True
    while changed:
        changed = False
        for pair in plan.tied:
            regions = [r for r in map(owner.of, pair) if r is not None]
            union = frozenset[str]().union(*(found[r] for r in regions))
            for region in regions:
                if found[region] != union:
                    found[region], changed = union, True
        for boundary in reversed(plan.boundaries):
            parent = owner.above(boundary.fqn)
            if parent is not None and not found[parent] <= found[boundary.fqn]:
                found[boundary.fqn], changed = found[boundary.fqn] | found[parent], True
    return found


def outer_shares(plan: ApplyPlan) -> frozenset[str]:
    """Along which axes parameters outside of all regions get a share of their gradient: there activations are cut by
    cp, and by tp under sequence parallelism."""
    cut = {"cp", "tp"} if plan.topology.sequence_parallel else {"cp"}
    return frozenset(a for a in plan.axes if a in cut)


def gradient_axes(
    plan: ApplyPlan, parameters: Iterable[str], laid: Mapping[str, AxisLayout], shares: Shares
) -> dict[str, tuple[str, ...]]:
    """Parameter -> the axes, data-parallel ones left out, along which its gradient is a term of a sum. Parameters of
    which each rank has its own gradient are left out; expert parameters are summed over ``edp``."""
    owner = Owners(plan)
    outside = outer_shares(plan)
    deferred = {joined(b.fqn, bias): b for b in plan.boundaries for bias in b.deferred_biases}
    found: dict[str, tuple[str, ...]] = {}
    for name in parameters:
        layout = laid.get(name, {})
        region = owner.of(name)
        if name in deferred:
            at_work = _behind(deferred[name], plan.axes, shares, owner)
        else:
            at_work = shares[region] if region is not None else outside
        counted = EXPERT_AXES[:1] if "edp" in layout else [a for a in plan.axes if a in at_work]
        axes = tuple(a for a in counted if layout.get(a, REPLICATE) == REPLICATE)
        if axes:
            found[name] = axes
    return found


def _behind(boundary: ApplyBoundary, axes: tuple[str, ...], shares: Shares, owner: "Owners") -> frozenset[str]:
    """Along which axes what is added to a boundary's first output, after its communication, gets a share of its
    gradient."""
    above = owner.above(boundary.fqn)
    around = shares[above] if above is not None else frozenset()
    first = next((m for m in output_moves(boundary, axes) if m.position == 0), None)
    return around | {axis for axis, p in first.target.items() if p != REPLICATE} if first else around


def layouts_of(plan: ApplyPlan) -> dict[str, AxisLayout]:
    """Full parameter name -> layout, for all that the plan lays out."""
    return {joined(b.fqn, path): layout for b in plan.boundaries for path, layout in b.params.items()}


def joined(fqn: str, path: str) -> str:
    """A full name."""
    return f"{fqn}.{path}" if fqn else path


class Owners:
    """Which region a parameter or a boundary stands in: that of the nearest boundary around it."""

    def __init__(self, plan: ApplyPlan) -> None:
        self.known = {b.fqn for b in plan.boundaries}

    def of(self, parameter: str) -> str | None:
        """FQN of the region of a parameter; None where it is in none."""
        return self._nearest(parameter.rpartition(".")[0])

    def above(self, fqn: str) -> str | None:
        """FQN of the boundary around another one."""
        return self._nearest(fqn.rpartition(".")[0]) if fqn else None

    def _nearest(self, fqn: str) -> str | None:
        while True:
            if fqn in self.known:
                return fqn
            if not fqn:
                return None
            fqn = fqn.rpartition(".")[0]
