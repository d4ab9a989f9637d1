"""Collectives along one mesh axis, each told to the ledger first.

The plain ones know nothing of autograd. On the meta device only shapes are worked out. Those that end in
``_with_grad`` are for regions in which each rank computes a share of the result: the way back is the transpose.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from hplint.apply.mesh.ledger import SILENT, Note
from hplint.apply.mesh.meshes import MeshAxis


def all_gather(tensor: Tensor, dim: int, axis: MeshAxis, note: Note = SILENT) -> Tensor:
    """The ranks' tensors, which have equal shapes, joined along ``dim`` in rank order."""
    if axis.size == 1:
        return tensor
    note("all-gather", axis.name, _bytes(tensor) * axis.size)
    shape = list(tensor.shape)
    if tensor.is_meta:
        shape[dim] *= axis.size
        return tensor.new_empty(shape)
    parts = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for _ in range(axis.size)]
    dist.all_gather(parts, tensor.contiguous(), group=axis.group)
    return torch.cat(parts, dim=dim)


def all_reduce(tensor: Tensor, axis: MeshAxis, note: Note = SILENT) -> Tensor:
    """The sum over the ranks, as a new tensor."""
    if axis.size == 1:
        return tensor
    note("all-reduce", axis.name, _bytes(tensor))
    if tensor.is_meta:
        return torch.empty_like(tensor)
    result = tensor.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(result, group=axis.group)
    return result


def reduce_scatter(tensor: Tensor, dim: int, axis: MeshAxis, note: Note = SILENT) -> Tensor:
    """This rank's part along ``dim`` of the sum over the ranks; the dim has to divide by the axis."""
    if axis.size == 1:
        return tensor
    note("reduce-scatter", axis.name, _bytes(tensor))
    part = tensor.shape[dim] // axis.size
    if tensor.is_meta:
        shape = list(tensor.shape)
        shape[dim] = part
        return tensor.new_empty(shape)
    if dist.get_backend(axis.group) == "gloo":
        # Gloo reduces and scatters only in some versions.
        whole = tensor.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(whole, group=axis.group)
        return whole.narrow(dim, axis.rank * part, part).contiguous()
    parts = [p.contiguous() for p in tensor.chunk(axis.size, dim)]
    result = torch.empty_like(parts[0])
    dist.reduce_scatter(result, parts, group=axis.group)
    return result


def all_to_all(
    tensor: Tensor,
    axis: MeshAxis,
    send: Sequence[int] | None = None,
    receive: Sequence[int] | None = None,
    note: Note = SILENT,
) -> Tensor:
    """Exchange rows (dim 0): ``send[r]`` rows go to rank r, ``receive[r]`` come from it, in rank order. Without sizes
    every rank gets an equal part."""
    if axis.size == 1:
        return tensor
    note("all-to-all", axis.name, _bytes(tensor))
    rows = tensor.shape[0] if receive is None else sum(receive)
    result = tensor.new_empty((rows, *tensor.shape[1:]))
    if tensor.is_meta:
        return result
    _exchange(result, tensor.contiguous(), receive, send, axis)
    return result


def _exchange(
    result: Tensor, tensor: Tensor, receive: Sequence[int] | None, send: Sequence[int] | None, axis: MeshAxis
) -> None:
    incoming = list(receive) if receive is not None else None
    outgoing = list(send) if send is not None else None
    dist.all_to_all_single(result, tensor, incoming, outgoing, group=axis.group)


def move_shard(tensor: Tensor, gathered: int, cut: int, axis: MeshAxis, note: Note = SILENT) -> Tensor:
    """From a part along dim ``gathered`` to a part along dim ``cut``: one exchange of equal blocks."""
    if axis.size == 1 or gathered == cut:
        return tensor
    blocks = torch.stack(tensor.chunk(axis.size, cut))
    return torch.cat(all_to_all(blocks, axis, note=note).unbind(0), dim=gathered)


def all_gather_with_grad(tensor: Tensor, dim: int, axis: MeshAxis, note: Note = SILENT) -> Tensor:
    """:func:`all_gather`; gradients are summed over the ranks and cut (each rank uses the whole for its own share)."""
    result: Tensor = _Gather.apply(tensor, dim, axis, note)  # type: ignore[no-untyped-call]
    return result


def all_to_all_with_grad(
    tensor: Tensor,
    axis: MeshAxis,
    send: Sequence[int] | None = None,
    receive: Sequence[int] | None = None,
    note: Note = SILENT,
) -> Tensor:
    """:func:`all_to_all`; gradients go back to the rank that sent the row."""
    result: Tensor = _Exchange.apply(tensor, axis, send, receive, note)  # type: ignore[no-untyped-call]
    return result


def move_shard_with_grad(tensor: Tensor, gathered: int, cut: int, axis: MeshAxis, note: Note = SILENT) -> Tensor:
    """:func:`move_shard`; gradients move back."""
    result: Tensor = _Move.apply(tensor, gathered, cut, axis, note)  # type: ignore[no-untyped-call]
    return result


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dim: int, axis: MeshAxis, note: Note) -> Tensor:
        ctx.saved = (dim, axis, note)
        return all_gather(tensor, dim, axis, note)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        dim, axis, note = ctx.saved
        return reduce_scatter(grads[0], dim, axis, note.backward), None, None, None


class _Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, axis: MeshAxis, send: Any, receive: Any, note: Note) -> Tensor:
        ctx.saved = (axis, send, receive, note)
        return all_to_all(tensor, axis, send, receive, note)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        axis, send, receive, note = ctx.saved
        return all_to_all(grads[0], axis, receive, send, note.backward), None, None, None, None


class _Move(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, gathered: int, cut: int, axis: MeshAxis, note: Note) -> Tensor:
        ctx.saved = (gathered, cut, axis, note)
        return move_shard(tensor, gathered, cut, axis, note)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        gathered, cut, axis, note = ctx.saved
        return move_shard(grads[0], cut, gathered, axis, note.backward), None, None, None, None


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()
