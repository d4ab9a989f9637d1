"""A resolved plan as plain values: what one rank needs in order to apply it, without spans and without torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hplint.derive.boundary import Boundary
from hplint.errors import RequestError
from hplint.model.tree import ModuleTree
from hplint.plan.entry import UNKNOWN, InnerOutSrc, Target, Text
from hplint.plan.layout import Layout, Layouts
from hplint.plan.placement import Placement
from hplint.plan.plan import Plan
from hplint.resolve.layouts import complete, cutting_axes
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.topology import Topology

if TYPE_CHECKING:
    from hplint.apply.styles.dialect import StyledPlan

AxisLayout = Mapping[str, Placement]
"""Axis -> placement, complete over the axes that count and in mesh order."""
NamedLayouts = Mapping[str, AxisLayout]
EXPERT_AXES = ("edp", "ep")
"""The axes of the mesh of expert parameters, ep innermost (2.1)."""


@dataclass(frozen=True, slots=True)
class Call:
    """An injected function: ``target`` is its dotted path (or ``path/file.py:name``), ``keywords`` what the plan
    configures."""

    target: str
    keywords: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApplyBoundary:
    """One boundary, its layouts complete over the active axes (expert parameters: over edp and ep).

    The contract fields mean what they mean in :class:`hplint.derive.boundary.Boundary`: a field of outputs is None
    where nothing is to be done. ``inner_out_src`` is None, the word ``first_input``, or layouts in declaration order
    (one layout alone under the name ``output``). ``place`` is the ``path:line`` of the entry that counts, "" where
    derivation made the boundary.
    """

    fqn: str
    kind: str | None = None
    params: NamedLayouts = field(default_factory=dict)
    in_src: NamedLayouts = field(default_factory=dict)
    in_dst: NamedLayouts = field(default_factory=dict)
    out_src: NamedLayouts | None = None
    out_dst: NamedLayouts | None = None
    out_names: tuple[str, ...] | None = None
    region_dispatch: bool | None = None
    inner_target: str | None = None
    inner_wrapper: str | Call | None = None
    inner_out_src: str | NamedLayouts | None = None
    local_compute_fn: Call | None = None
    tp_divide_attrs: tuple[str, ...] = ()
    auto_divided: tuple[str, ...] = ()
    deferred_biases: tuple[str, ...] = ()
    ep_size: int | None = None
    ep_stack: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    place: str = ""

    @property
    def title(self) -> str:
        """The FQN for messages."""
        return self.fqn or "the root module"

    @property
    def is_silent(self) -> bool:
        """Whether the contract says nothing about inputs and outputs."""
        return not (self.in_src or self.in_dst or self.out_src or self.out_dst)

    @property
    def is_black_box(self) -> bool:
        """Whether validate mode must hand local tensors to the whole region (2.8), not to a child of it alone (2.9)."""
        wraps_child = self.inner_wrapper is not None and self.inner_target not in (None, "self")
        return self.region_dispatch is False and (self.local_compute_fn is not None or not wraps_child)


@dataclass(frozen=True, slots=True)
class ApplyPlan:
    """A whole plan in the order of application: children before parents.

    ``special`` maps full parameter names to the special handler's name; ``tied`` are pairs of full parameter names.
    ``src`` are folders in which injected functions are looked up. Instances are pickled to the ranks.

    ``styles`` is a plan of styles, which another library applies: the boundaries are then all modules of the model,
    without contracts (:mod:`hplint.apply.styles.dialect`).
    """

    boundaries: tuple[ApplyBoundary, ...]
    topology: Topology
    special: Mapping[str, str] = field(default_factory=dict)
    tied: tuple[tuple[str, str], ...] = ()
    path: str = ""
    src: tuple[str, ...] = ()
    styles: "StyledPlan | None" = None

    @property
    def axes(self) -> tuple[str, ...]:
        """The active axes, in mesh order: those of every layout but the experts'."""
        return self.topology.active_axes

    def boundary(self, fqn: str) -> ApplyBoundary | None:
        """The boundary of that FQN."""
        return next((b for b in self.boundaries if b.fqn == fqn), None)


def apply_plan_of(
    resolved: ResolvedPlan, tree: ModuleTree, topology: Topology, plan: Plan | None = None, src: tuple[str, ...] = ()
) -> ApplyPlan:
    """Freeze a resolved plan. ``plan`` is what the entries stand in; it gives the places. Raises RequestError where a
    value could not be read, which no plan without errors has, and for plans that replace modules."""
    if plan is not None:
        _refuse_replacements(plan, topology)
    ranks = {fqn: i for i, fqn in enumerate(tree.modules)}
    names = sorted(resolved.boundaries, key=lambda fqn: (-_depth(fqn), ranks.get(fqn, len(ranks))))
    return ApplyPlan(
        boundaries=tuple(_boundary(resolved.boundaries[fqn], topology, plan) for fqn in names),
        topology=topology,
        special=dict(resolved.special),
        tied=_tied(resolved, tree),
        path=plan.source.path if plan else "",
        src=src,
    )


def _refuse_replacements(plan: Plan, topology: Topology) -> None:
    """Without its replacements a model is another one than the plan was written for."""
    for entry in plan.entries:
        if entry.replace_module is not None and (entry.when is None or topology.when_active(entry.when.value)):
            line = plan.source.position(entry.span.start).line
            raise RequestError(
                f"line {line} of the plan replaces modules, which is not applied here",
                "let the model factory replace them, and leave the entry out",
            )


def _depth(fqn: str) -> int:
    return fqn.count(".") + 1 if fqn else 0


def _tied(resolved: ResolvedPlan, tree: ModuleTree) -> tuple[tuple[str, str], ...]:
    """Pairs that the configuration ties, and those that are one tensor already."""
    pairs = dict.fromkeys(resolved.tied)
    pairs.update(dict.fromkeys((group[0], other) for group in tree.ties for other in group[1:]))
    return tuple(pairs)


def _boundary(boundary: Boundary, topology: Topology, plan: Plan | None) -> ApplyBoundary:
    reader = _Reader(boundary, topology.active_axes)
    return ApplyBoundary(
        fqn=boundary.fqn,
        kind=boundary.kind,
        params=_params(reader, topology),
        in_src=reader.layouts("in_src") or {},
        in_dst=reader.layouts("in_dst") or {},
        out_src=reader.layouts("out_src"),
        out_dst=reader.layouts("out_dst"),
        out_names=boundary.out_names,
        region_dispatch=boundary.region_dispatch,
        inner_target=boundary.inner_target.value if boundary.inner_target else None,
        inner_wrapper=reader.function(boundary.inner_wrapper),
        inner_out_src=reader.inner(boundary.inner_out_src),
        local_compute_fn=reader.call(boundary.local_compute_fn) if boundary.local_compute_fn else None,
        tp_divide_attrs=tuple(t.value for t in boundary.tp_divide_attrs or ()),
        auto_divided=tuple(boundary.auto_divided),
        deferred_biases=tuple(boundary.deferred_biases),
        ep_size=boundary.ep_size,
        ep_stack={name: tuple(paths) for name, paths in boundary.ep_stack.items()},
        place=_place(boundary, plan),
    )


def _place(boundary: Boundary, plan: Plan | None) -> str:
    if plan is None or not boundary.touched:
        return ""
    entry = boundary.touched[-1]
    return f"{plan.source.path}:{plan.source.position(entry.span.start).line}"


def _params(reader: "_Reader", topology: Topology) -> dict[str, AxisLayout]:
    boundary = reader.boundary
    found: dict[str, AxisLayout] = {}
    for path, layout in (boundary.params or {}).items():
        cutting = cutting_axes(boundary, path, topology)
        expert = cutting == ("ep",) and not topology.has_ep_axis
        axes = EXPERT_AXES if expert else topology.active_axes
        # An axis that does not count for a parameter leaves it whole (2.4).
        counted = Layout({a: p for a, p in layout.placements.items() if a in cutting})
        found[path] = reader.complete(counted, axes, f"params of `{path}`")
    return found


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one boundary's values; refuses those that could not be read."""

    boundary: Boundary
    axes: tuple[str, ...]

    def layouts(self, name: str) -> NamedLayouts | None:
        layouts: Layouts | None = self.boundary.contract(name)
        if layouts is None:
            return None
        return {key: self.complete(layout, self.axes, f"{name} of `{key}`") for key, layout in layouts.items()}

    def complete(self, layout: Layout, axes: tuple[str, ...], what: str) -> AxisLayout:
        found: dict[str, Placement] = {}
        for axis, placement in complete(layout, axes).items():
            if placement is None:
                raise self.unread(f"{what} on axis `{axis}`")
            found[axis] = placement
        return found

    def function(self, value: Text | Target | None) -> str | Call | None:
        if isinstance(value, Text):
            return value.value
        return self.call(value) if value else None

    def call(self, target: Target) -> Call:
        for name, keyword in target.keywords.items():
            if keyword.value is UNKNOWN:
                raise self.unread(f"keyword `{name}` of `{target.path.value}`")
        return Call(target.path.value, {name: k.value for name, k in target.keywords.items()})

    def inner(self, value: InnerOutSrc | None) -> str | NamedLayouts | None:
        if value is None:
            return None
        if value.first_input:
            return "first_input"
        layouts = (value.layouts or {}).items()
        return {key: self.complete(layout, self.axes, f"inner_out_src of `{key}`") for key, layout in layouts}

    def unread(self, what: str) -> RequestError:
        fqn = self.boundary.fqn or "the root module"
        return RequestError(f"the {what} of `{fqn}` cannot be read without running the plan file")
