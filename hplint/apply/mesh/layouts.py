"""Layouts of a plan as torch.distributed.tensor spells them, and back."""

from collections.abc import Iterable

from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import Placement as TorchPlacement

from hplint.apply.mesh.meshes import Meshes
from hplint.apply.plan import EXPERT_AXES, AxisLayout
from hplint.plan.placement import PARTIAL, REPLICATE, Placement, shard


def to_torch(layout: AxisLayout) -> list[TorchPlacement]:
    """One placement per axis, in mesh order."""
    return [_one(p) for p in layout.values()]


def _one(placement: Placement) -> TorchPlacement:
    if placement.dim is not None:
        return Shard(placement.dim)
    return Partial() if placement == PARTIAL else Replicate()


def of_dtensor(tensor: DTensor, axes: Iterable[str]) -> AxisLayout:
    """The layout of a DTensor over the axes of its mesh; a masked partial counts as partial (2.10)."""
    return {axis: _back(p) for axis, p in zip(axes, tensor.placements, strict=True)}


def _back(placement: TorchPlacement) -> Placement:
    if placement.is_shard():
        return shard(placement.dim)  # type: ignore[attr-defined]
    if placement.is_partial():
        operation = getattr(placement, "reduce_op", "sum")
        return PARTIAL if operation == "sum" else Placement(f"partial({operation})")
    return REPLICATE


def mesh_for(layout: AxisLayout, meshes: Meshes) -> DeviceMesh | None:
    """The mesh that a layout is over: that of the experts, or the main one."""
    return meshes.experts if tuple(layout) == EXPERT_AXES else meshes.main
