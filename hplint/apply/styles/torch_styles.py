"""``parallelize_module`` plans on a live model: torch's own styles, given to torch's own function."""

import warnings
from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.distributed.tensor import Partial, Replicate, Shard, parallel

from hplint.apply.errors import ApplyFailed, CannotApply
from hplint.apply.mesh.meshes import Meshes
from hplint.apply.styles.applied import names_of_ties
from hplint.apply.styles.torch_plan import StyleCall, StyleItem, TorchPlan
from hplint.plan.placement import Placement


def parallelize(model: nn.Module, plan: TorchPlan, meshes: Meshes) -> None:
    """Make the calls of a plan, in order, item by item: torch goes through the dict of a call in the same way, and so
    the item at fault is known. Every rank calls it, with equal weights.

    Raises CannotApply, with the model untouched, where the mesh has no tp or a style does not take its arguments;
    ApplyFailed where torch cannot apply one to a module.
    """
    mesh = meshes.submesh("tp")
    if mesh is None:
        raise CannotApply("a parallelize_module plan cuts over tp, and the mesh has tp=1", "give a larger tp")
    ties = names_of_ties(model) if plan.ties else []
    made = [(call, item, style_of(item)) for call in plan.calls for item in call.items]
    for call, item, style in made:
        _apply(model.get_submodule(call.root), mesh, item, style, call)
    _tie(model, ties)


def _tie(model: nn.Module, ties: list[list[str]]) -> None:
    for first, *others in ties:
        kept = model.get_parameter(first)
        for name in others:
            other = model.get_parameter(name)
            alike = getattr(kept, "placements", None) == getattr(other, "placements", None)
            if alike and kept.shape == other.shape:
                owner, _, leaf = name.rpartition(".")
                model.get_submodule(owner).register_parameter(leaf, kept)


def style_of(item: StyleItem) -> Any:
    """The live style of an item."""
    kind = getattr(parallel, item.style)
    try:
        return kind(**{name: live(value) for name, value in item.arguments.items()})
    except Exception as error:
        raise CannotApply(f"{item.place}: torch does not make this {item.style}: {error}") from None


def live(value: Any) -> Any:
    """An argument with torch's own placements, all the way down."""
    match value:
        case Placement("shard", int() as dim):
            return Shard(dim)
        case Placement("partial"):
            return Partial()
        case Placement():
            return Replicate()
        case tuple() | list():
            return tuple(live(v) for v in value)
        case Mapping():
            return {key: live(v) for key, v in value.items()}
    return value


def _apply(root: nn.Module, mesh: Any, item: StyleItem, style: Any, call: StyleCall) -> None:
    at = item.modules[0] if item.modules else call.root
    try:
        with warnings.catch_warnings():
            # A key that hits nothing has been told already, by the finding of the checks.
            warnings.filterwarnings("ignore", message="Parallelize plan key")
            parallel.parallelize_module(root, mesh, {item.key: style})
    except Exception as error:
        reason = next(iter(str(error).splitlines()), "")
        raise ApplyFailed(
            f"torch cannot apply {item.style} to `{at or 'the root module'}` ({item.place}): "
            f"{type(error).__name__}: {reason}",
            at,
            "the model is changed in part: build it anew",
        ) from error
