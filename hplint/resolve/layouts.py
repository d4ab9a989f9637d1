"""Layouts over the axes of a run."""

from collections.abc import Iterable

from hplint.derive.boundary import Boundary
from hplint.plan.layout import Layout
from hplint.plan.placement import REPLICATE, Placement
from hplint.resolve.topology import Topology


def complete(layout: Layout, axes: Iterable[str]) -> dict[str, Placement | None]:
    """The layout over ``axes``, in their order: one left out is replicate, further ones are dropped (2.2).

    None stands for a placement that could not be read.
    """
    placements = layout.placements
    return {axis: placements.get(axis, REPLICATE) for axis in axes}


def is_expert(path: str) -> bool:
    """Whether a parameter path of an expert-marked boundary goes to the (edp, ep) mesh (2.4)."""
    return path.startswith("experts.")


def parameter_axes(boundary: Boundary, topology: Topology) -> tuple[str, ...]:
    """Axes over which the plan lays out the parameters of a boundary: on an expert-marked one ep comes on top."""
    axes = topology.active_axes
    return (*axes, "ep") if boundary.ep_size is not None and "ep" not in axes else axes


def cutting_axes(boundary: Boundary, path: str, topology: Topology) -> tuple[str, ...]:
    """Axes that really cut a parameter: on an expert-marked boundary ep alone for experts, and all but ep for the rest
    (2.4, S11)."""
    if boundary.ep_size is None:
        return topology.active_axes
    if is_expert(path):
        return ("ep",)
    return tuple(a for a in topology.active_axes if a != "ep")
