"""Cut parameters into this rank's parts, and put them together again."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from hplint.apply.mesh.collectives import all_gather, all_reduce
from hplint.apply.mesh.ledger import SILENT, Note
from hplint.apply.mesh.meshes import MeshAxis, Meshes
from hplint.apply.mesh.redistribute import cut
from hplint.apply.plan import AxisLayout
from hplint.plan.placement import PARTIAL


def axes_of(layout: AxisLayout, meshes: Meshes) -> dict[str, MeshAxis]:
    """Axis -> what this rank knows of it, for the axes of a layout."""
    return {axis: meshes.axis(axis) for axis in layout}


def local_part(tensor: Tensor, layout: AxisLayout, meshes: Meshes) -> Tensor:
    """This rank's part of a whole tensor, in memory of its own. Without autograd."""
    part = tensor.detach()
    for axis, placement in layout.items():
        if placement.dim is not None:
            dim = placement.dim % tensor.dim()
            if (on := meshes.axis(axis)).size > 1:
                part = cut(part, dim, on)
    return part.clone(memory_format=torch.contiguous_format)


def whole(part: Tensor, layout: AxisLayout, meshes: Meshes, note: Note = SILENT) -> Tensor:
    """The whole tensor that the ranks hold parts of: partial is summed, shards are joined. Every rank of the axes has
    to call it. Without autograd."""
    tensor = part.detach()
    for axis, placement in reversed(list(layout.items())):
        if placement.dim is not None:
            tensor = all_gather(tensor, placement.dim % tensor.dim(), meshes.axis(axis), note)
        elif placement == PARTIAL:
            tensor = all_reduce(tensor, meshes.axis(axis), note)
    return tensor


def split_name(name: str) -> tuple[str, str]:
    """FQN of the owning module, and the parameter's own name."""
    owner, _, leaf = name.rpartition(".")
    return owner, leaf


def named_slots(model: nn.Module) -> Iterator[tuple[str, nn.Module, str, nn.Parameter]]:
    """Every place that a parameter stands in, shared ones under each of their names: full name, owner, own name,
    parameter."""
    for fqn, module in model.named_modules(remove_duplicate=False):
        for leaf, parameter in module._parameters.items():
            if parameter is not None:
                yield (f"{fqn}.{leaf}" if fqn else leaf), module, leaf, parameter


def stack(model: nn.Module, name: str, sources: Sequence[str], layout: AxisLayout, meshes: Meshes) -> nn.Parameter:
    """Put per-expert weights into one parameter [experts, …] of their container and take them away from the experts.

    Only this rank's experts are stacked; the result is this rank's part. ``name`` and ``sources`` are full names.
    """
    first, count = 0, len(sources)
    for axis, placement in layout.items():
        if placement.dim == 0:
            on = meshes.axis(axis)
            count //= on.size
            first += on.rank * count
    tensors = [model.get_parameter(s) for s in sources[first : first + count]]
    grads = tensors[0].requires_grad
    rest = {a: p for a, p in layout.items() if p.dim != 0}
    part = local_part(torch.stack([t.detach() for t in tensors]), rest, meshes)
    parameter = nn.Parameter(part, requires_grad=grads)
    for source in sources:
        owner, leaf = split_name(source)
        model.get_submodule(owner)._parameters[leaf] = None
    owner, leaf = split_name(name)
    model.get_submodule(owner).register_parameter(leaf, parameter)
    return parameter
