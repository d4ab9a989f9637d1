"""A plan of styles on a live model: what was done is read off the model itself."""

from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.distributed.tensor import DTensor

from hplint.apply.applied import Applied, mark
from hplint.apply.errors import CannotApply
from hplint.apply.mesh.ledger import Recorder
from hplint.apply.mesh.meshes import Meshes
from hplint.apply.plan import ApplyPlan, AxisLayout
from hplint.plan.placement import PARTIAL, REPLICATE, Placement, shard


def apply_styles(model: nn.Module, plan: ApplyPlan, meshes: Meshes, recorder: Recorder | None = None) -> Applied:
    """Apply ``plan.styles``, and say what it did. Raises what :meth:`StyledPlan.apply` raises."""
    if plan.styles is None:
        raise CannotApply("the plan holds no styles")
    before = names_of_ties(model)
    plan.styles.apply(model, meshes)
    slots = dict(model.named_parameters(remove_duplicate=False))
    layouts = {n: layout_of(p) for n, p in slots.items() if isinstance(p, DTensor)}
    parted = {n: first for first, *rest in before for n in rest if n in slots and slots[n] is not slots.get(first)}
    applied = Applied(plan, meshes, "local", layouts, {}, recorder, parted)
    mark(model, applied)
    return applied


def names_of_ties(model: nn.Module) -> list[list[str]]:
    """Names of one and the same parameter, each group in the model's order."""
    groups: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        groups.setdefault(id(parameter), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def layout_of(tensor: DTensor) -> AxisLayout:
    """Axis -> placement of a DTensor, over the axes of its own mesh."""
    axes: tuple[str, ...] = tensor.device_mesh.mesh_dim_names or ()
    found: Mapping[str, Placement] = {a: _plain(p, tensor.dim()) for a, p in zip(axes, tensor.placements, strict=True)}
    return found


def _plain(placement: Any, rank: int) -> Placement:
    """Strided shards count as shards of their dim."""
    dim = getattr(placement, "dim", None)
    if dim is not None:
        return shard(dim % max(rank, 1))
    return PARTIAL if placement.is_partial() else REPLICATE
