"""An applied model: what was done to it, and how to get whole parameters and gradients out of it again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from hplint.apply.errors import CannotApply
from hplint.apply.mesh.collectives import all_reduce
from hplint.apply.mesh.ledger import Note, Recorder
from hplint.apply.mesh.meshes import Meshes
from hplint.apply.plan import ApplyPlan, AxisLayout
from hplint.apply.region.parameters import whole

_MARK = "_hplint_applied"


@dataclass(slots=True)
class Applied:
    """What :func:`hplint.apply.apply_plan` did.

    ``layouts`` maps full parameter names (after stacking) to their layouts, complete over the axes of their mesh;
    parameters that are not in it are whole on every rank. ``gradient_axes`` maps names to the axes, data-parallel ones
    left out, over which each rank holds a share of the gradient alone. ``parted`` maps
    names of parameters to that of the parameter that they were tied to before, and are no longer.
    """

    plan: ApplyPlan
    meshes: Meshes
    mode: str
    layouts: Mapping[str, AxisLayout] = field(default_factory=dict)
    gradient_axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    recorder: Recorder | None = None
    parted: Mapping[str, str] = field(default_factory=dict)


def applied_of(model: nn.Module) -> Applied | None:
    """What was applied to a model; None where nothing was."""
    found: Applied | None = vars(model).get(_MARK)
    return found


def mark(model: nn.Module, applied: Applied) -> None:
    """Remember on the model that a plan was applied."""
    object.__setattr__(model, _MARK, applied)


def _of(model: nn.Module) -> Applied:
    applied = applied_of(model)
    if applied is None:
        raise CannotApply("no plan was applied to this model", "call apply_plan first")
    return applied


def sync_gradients(model: nn.Module, *, dp: bool = True) -> None:
    """Sum the gradients of an applied model over the axes where each rank holds a share alone. Call it once after
    backward.

    After it, every rank has its part of the gradient of the loss that all ranks' losses add up to. With ``dp=False``
    the sum over data-parallel axes is left to somebody else (DDP, FSDP), but for experts, whose copies are spread over
    all axes. A parameter without a gradient on any rank keeps none. Every rank has to call it.
    """
    applied = _of(model)
    meshes = applied.meshes
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    has_gradient = _with_gradient([p for _, p in named], meshes)
    for (name, parameter), any_has in zip(named, has_gradient, strict=True):
        if not any_has:
            continue
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        axes: tuple[str, ...] = applied.gradient_axes.get(name, ())
        if isinstance(parameter, DTensor):
            parameter.grad = parameter.grad.redistribute(placements=parameter.placements)  # type: ignore[attr-defined]
            axes = ()
        if dp and "edp" not in applied.layouts.get(name, {}):
            axes = (*axes, *meshes.data_axes)
        _sum(parameter, axes, applied, name)


def _with_gradient(parameters: list[nn.Parameter], meshes: Meshes) -> list[bool]:
    """Which parameters have a gradient on some rank: a rank that has none still has to take part."""
    if not parameters:
        return []
    flags = torch.tensor([float(p.grad is not None) for p in parameters], device=parameters[0].device)
    for axis in meshes.world.mesh_dim_names or ():
        flags = all_reduce(flags, meshes.axis(axis))
    return [True] * len(parameters) if flags.is_meta else [bool(f) for f in flags.tolist()]


def _sum(parameter: nn.Parameter, axes: tuple[str, ...], applied: Applied, name: str) -> None:
    note = Note(applied.recorder, name.rpartition(".")[0], name, "backward")
    gradient = parameter.grad
    if gradient is None or not axes:
        return
    local = gradient.to_local() if isinstance(gradient, DTensor) else gradient
    summed = local
    for axis in axes:
        summed = all_reduce(summed, applied.meshes.axis(axis), note)
    if summed is not local and not local.is_meta:
        local.copy_(summed)


def full_parameter(model: nn.Module, name: str) -> Tensor:
    """The whole of a parameter, under its full name after stacking, on every rank. Every rank has to call it."""
    return _whole(_of(model), model.get_parameter(name), name)


def full_gradient(model: nn.Module, name: str) -> Tensor | None:
    """The whole gradient of a parameter, on every rank; None without one. Every rank has to call it, after
    :func:`sync_gradients`."""
    gradient = model.get_parameter(name).grad
    return None if gradient is None else _whole(_of(model), gradient, name)


def _whole(applied: Applied, tensor: Tensor, name: str) -> Tensor:
    if isinstance(tensor, DTensor):
        found: Tensor = tensor.full_tensor().detach()
        return found
    return whole(tensor, applied.layouts.get(name, {}), applied.meshes)
