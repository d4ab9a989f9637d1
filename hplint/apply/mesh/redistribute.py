"""From one layout of a tensor to another, over several mesh axes: the steps, and carrying them out.

Layouts are complete, in mesh order. Where two axes cut one dim, the first axis in mesh order cuts it first, so pieces
are joined in the reverse order; an axis that stays can only stay while all axes after it on that dim are taken off (the
token order that facts 2.10 measured).
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from hplint.apply.mesh.collectives import all_gather, all_reduce, move_shard, reduce_scatter
from hplint.apply.mesh.ledger import SILENT, Note
from hplint.apply.mesh.meshes import MeshAxis
from hplint.apply.plan import AxisLayout
from hplint.plan.placement import PARTIAL, REPLICATE, Placement


class Step(NamedTuple):
    """``action`` is gather, move (from ``dim`` to ``other``), reduce, reduce-scatter, slice, pad (a part becomes a
    share: zeros around it) or share (a whole becomes a share: divided by the axis size)."""

    action: str
    axis: str
    dim: int = 0
    other: int = 0


class Indivisible(ValueError):
    """A dim that an axis does not divide."""

    def __init__(self, dim: int, length: int, axis: str, size: int) -> None:
        super().__init__(f"dim {dim} has {length} elements on a rank, which {axis}={size} does not divide")


def normalised(layout: AxisLayout, dims: int) -> dict[str, Placement]:
    """The layout with dims counted from the front."""
    return {
        axis: Placement(p.kind, p.dim + dims) if p.dim is not None and p.dim < 0 else p for axis, p in layout.items()
    }


def steps(source: AxisLayout, target: AxisLayout) -> list[Step]:
    """What takes a tensor from ``source`` to ``target``; both have the same axes and dims counted from the front."""
    axes = list(source)
    found: list[Step] = []
    removed = {a for a in axes if source[a].is_shard and (source[a] != target[a] or _is_unsettled(source, target, a))}
    for axis in reversed(axes):
        if axis in removed:
            action = "pad" if target[axis] == PARTIAL else "gather"
            found.append(Step(action, axis, source[axis].dim or 0))
    for axis in axes:
        before, after = source[axis], target[axis]
        if axis in removed:
            if after.is_shard:
                found.append(Step("slice", axis, after.dim or 0))
        elif before == PARTIAL and after == REPLICATE:
            found.append(Step("reduce", axis))
        elif before == PARTIAL and after.is_shard:
            found.append(Step("reduce-scatter", axis, after.dim or 0))
        elif before == REPLICATE and after.is_shard:
            found.append(Step("slice", axis, after.dim or 0))
        elif before == REPLICATE and after == PARTIAL:
            found.append(Step("share", axis))
    return _joined(found)


def _is_unsettled(source: AxisLayout, target: AxisLayout, axis: str) -> bool:
    """Whether the axis cuts its dim after another one that comes or goes there."""
    dim = source[axis]
    before = list(source)[: list(source).index(axis)]
    return any((source[a] == dim) != (target[a] == dim) for a in before)


def _joined(found: list[Step]) -> list[Step]:
    """A gather that is followed at once by a slice on the same axis is one exchange."""
    joined: list[Step] = []
    for step in found:
        last = joined[-1] if joined else None
        if last and step.action == "slice" and last.action == "gather" and last.axis == step.axis:
            joined[-1] = Step("move", step.axis, last.dim, step.dim)
        else:
            joined.append(step)
    return joined


def redistribute(
    tensor: Tensor, source: AxisLayout, target: AxisLayout, axes: Mapping[str, MeshAxis], note: Note = SILENT
) -> Tensor:
    """This rank's part of a tensor in another layout. Knows nothing of autograd. Raises Indivisible."""
    dims = tensor.dim()
    for step in steps(normalised(source, dims), normalised(target, dims)):
        axis = axes[step.axis]
        if axis.size == 1:
            continue
        match step.action:
            case "gather":
                tensor = all_gather(tensor, step.dim, axis, note)
            case "move":
                _check(tensor, step.other, axis)
                tensor = move_shard(tensor, step.dim, step.other, axis, note)
            case "reduce":
                tensor = all_reduce(tensor, axis, note)
            case "reduce-scatter":
                _check(tensor, step.dim, axis)
                tensor = reduce_scatter(tensor, step.dim, axis, note)
            case "slice":
                tensor = cut(tensor, step.dim, axis)
            case "pad":
                tensor = _pad(tensor, step.dim, axis)
            case "share":
                tensor = tensor / axis.size
    return tensor


def cut(tensor: Tensor, dim: int, axis: MeshAxis) -> Tensor:
    """This rank's part of a whole tensor along ``dim``."""
    _check(tensor, dim, axis)
    part = tensor.shape[dim] // axis.size
    return tensor.narrow(dim, axis.rank * part, part).contiguous()


def _pad(tensor: Tensor, dim: int, axis: MeshAxis) -> Tensor:
    part = tensor.shape[dim]
    shape = list(tensor.shape)
    shape[dim] = part * axis.size
    padded = torch.zeros(shape, dtype=tensor.dtype, device=tensor.device)
    padded.narrow(dim, axis.rank * part, part).copy_(tensor)
    return padded


def _check(tensor: Tensor, dim: int, axis: MeshAxis) -> None:
    if dim >= tensor.dim():
        raise ValueError(f"dim {dim} is out of range for a tensor of shape {list(tensor.shape)}")
    if tensor.shape[dim] % axis.size:
        raise Indivisible(dim, tensor.shape[dim], axis.name, axis.size)
