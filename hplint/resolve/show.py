"""The resolved plan as plain JSON values: ``hplint plan show --format json``."""

from typing import Any

from hplint.derive.boundary import Boundary
from hplint.model.tree import ModuleTree
from hplint.plan.entry import Entry, Target, Text
from hplint.plan.layout import CONTRACT_FIELDS, Layouts
from hplint.plan.plan import Plan
from hplint.resolve.layouts import complete, parameter_axes
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.topology import Topology

VERSION = 1
UNREADABLE = "?"
"""Stands for a placement that could not be read."""


def to_json(resolved: ResolvedPlan, tree: ModuleTree, topology: Topology, plan: Plan | None = None) -> dict[str, Any]:
    """The whole plan; with ``plan``, each boundary says which line set which field.

    Boundaries stand in module order, those that the tree lacks last; every field is there, unset ones as null or empty.
    """
    ranks = {fqn: i for i, fqn in enumerate(tree.modules)}
    names = sorted(resolved.boundaries, key=lambda fqn: ranks.get(fqn, len(ranks)))
    return {
        "version": VERSION,
        "topology": topology.to_json(),
        "boundaries": {fqn: _boundary(resolved.boundaries[fqn], topology, plan) for fqn in names},
        "special": dict(resolved.special),
        "tied": [list(pair) for pair in resolved.tied],
    }


def _boundary(boundary: Boundary, topology: Topology, plan: Plan | None) -> dict[str, Any]:
    axes = topology.active_axes
    shown: dict[str, Any] = {
        name: _layouts(boundary.contract(name), parameter_axes(boundary, topology) if name == "params" else axes)
        for name in CONTRACT_FIELDS
    }
    return shown | {
        "out_names": list(boundary.out_names) if boundary.out_names is not None else None,
        "region_dispatch": boundary.region_dispatch,
        "inner_target": boundary.inner_target.value if boundary.inner_target else None,
        "inner_wrapper": _name(boundary.inner_wrapper),
        "inner_out_src": boundary.inner_out_src.written if boundary.inner_out_src else None,
        "local_compute_fn": _name(boundary.local_compute_fn),
        "tp_divide_attrs": [t.value for t in boundary.tp_divide_attrs or ()],
        "auto_divided": list(boundary.auto_divided),
        "deferred_biases": list(boundary.deferred_biases),
        "ep_size": boundary.ep_size,
        "ep_stack": {name: list(paths) for name, paths in boundary.ep_stack.items()},
        "mode": boundary.mode,
        "origin": {name: _place(entry, name, plan) for name, entry in boundary.origin.items()} if plan else {},
    }


def _layouts(layouts: Layouts | None, axes: tuple[str, ...]) -> dict[str, dict[str, str]] | None:
    if layouts is None:
        return None
    return {
        name: {axis: UNREADABLE if p is None else str(p) for axis, p in complete(layout, axes).items()}
        for name, layout in layouts.items()
    }


def _name(value: Text | Target | None) -> str | None:
    """A registry name or a dotted path."""
    if value is None:
        return None
    return value.path.value if isinstance(value, Target) else value.value


def _place(entry: Entry, name: str, plan: Plan) -> dict[str, Any]:
    span = entry.keys.get(name, entry.span)
    return {"path": plan.source.path, "line": plan.source.position(span.start).line}
