"""Which part of a whole tensor this rank holds: what --verify compares, without gathering anything."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.distributed.tensor import DTensor

from hplint.apply.mesh.meshes import Meshes
from hplint.apply.mesh.redistribute import redistribute
from hplint.apply.plan import ApplyBoundary, ApplyPlan, AxisLayout
from hplint.apply.verify.inputs import data_part
from hplint.plan.placement import PARTIAL, REPLICATE, Placement, shard


def part(whole: Tensor, layout: AxisLayout, batch: int, meshes: Meshes) -> Tensor:
    """This rank's part of a whole tensor whose dim 0 may be the batch (of all data-parallel ranks). A dim that does not
    divide stays whole: comparing it then tells of two shapes."""
    mine = data_part(whole, batch, meshes)
    target = _summed(_counting(layout, meshes))
    try:
        return redistribute(mine, dict.fromkeys(target, REPLICATE), target, meshes.axes)
    except (ValueError, IndexError):
        return mine


def settled(value: Tensor, layout: AxisLayout, meshes: Meshes) -> Tensor:
    """A local tensor with its partial sums added up. Every rank has to call it."""
    source = _counting(layout, meshes)
    return redistribute(value, source, _summed(source), meshes.axes)


def _counting(layout: AxisLayout, meshes: Meshes) -> dict[str, Placement]:
    return {a: p for a, p in layout.items() if meshes.axis(a).size > 1}


def _summed(layout: AxisLayout) -> dict[str, Placement]:
    return {a: REPLICATE if p == PARTIAL else p for a, p in layout.items()}


def output_layouts(boundary: ApplyBoundary) -> dict[int, AxisLayout]:
    """Output position -> its layout behind the boundary; empty where the contract says nothing."""
    if boundary.out_src is None or boundary.out_dst is None:
        return {}
    names = boundary.out_names or tuple(boundary.out_src) or tuple(boundary.out_dst)
    return {names.index(n) if n in names else 0: layout for n, layout in boundary.out_dst.items()}


def layout_of_output(value: Tensor, whole: Tensor, made: tuple[str, int] | None, plan: ApplyPlan, meshes: Meshes) -> (
    AxisLayout
):  # fmt: skip
    """How an output of the root module is laid out: as its DTensor says, as the boundary declares that ``made`` it
    (FQN, position), else by its shape. ``whole`` is this rank's part of the batch, whole otherwise. Under a plan of
    styles a plain output counts as whole: whoever gets it has nothing else to go by."""
    if isinstance(value, DTensor):
        axes = value.device_mesh.mesh_dim_names or ()
        return {a: _plain(p) for a, p in zip(axes, value.placements, strict=True)}
    if plan.styles is not None:
        return dict.fromkeys(plan.axes, REPLICATE)
    boundary = plan.boundary(made[0]) if made else None
    if boundary is not None and made and (layout := output_layouts(boundary).get(made[1])) is not None:
        return layout
    return _by_shape(list(whole.shape), list(value.shape), plan, meshes)


def _by_shape(whole: list[int], local: list[int], plan: ApplyPlan, meshes: Meshes) -> Mapping[str, Placement]:
    layout: dict[str, Placement] = dict.fromkeys(plan.axes, REPLICATE)
    if len(whole) != len(local):
        return layout
    for dim, (full, mine) in enumerate(zip(whole, local, strict=True)):
        left = full
        for axis in plan.axes:
            size = meshes.axis(axis).size
            if layout[axis] == REPLICATE and size > 1 and mine and left % size == 0 and left // size >= mine:
                layout[axis], left = shard(dim), left // size
    return layout


def _plain(placement: Any) -> Placement:
    return shard(placement.dim) if placement.is_shard() else PARTIAL if placement.is_partial() else REPLICATE
