"""An applied model: what was done to it, and how to get whole parameters and gradients out of it again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor, nn

from hplint.apply.ledger import Recorder
from hplint.apply.mesh import Meshes
from hplint.apply.plan import ApplyPlan, AxisLayout

_MARK = "_hplint_applied"


@dataclass(slots=True)
class Applied:
    """What :func:`hplint.apply.apply_plan` did.

    ``layouts`` maps full parameter names (after stacking) to their layouts, complete over the axes of their mesh.
    ``gradient_axes`` maps them to the axes, data-parallel ones left out, over which each rank holds a share of the
    gradient alone: they have to be summed.
    """

    plan: ApplyPlan
    meshes: Meshes
    mode: str
    layouts: Mapping[str, AxisLayout] = field(default_factory=dict)
    gradient_axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    recorder: Recorder | None = None


def applied_of(model: nn.Module) -> Applied | None:
    """What was applied to a model; None where nothing was."""
    found: Applied | None = vars(model).get(_MARK)
    return found


def mark(model: nn.Module, applied: Applied) -> None:
    """Remember on the model that a plan was applied."""
    object.__setattr__(model, _MARK, applied)


def sync_gradients(model: nn.Module, *, dp: bool = True) -> None:
    """Sum the gradients of an applied model where each rank holds a share alone."""
    raise NotImplementedError


def full_parameter(model: nn.Module, name: str) -> Tensor:
    """The whole of a sharded parameter, on every rank."""
    raise NotImplementedError


def full_gradient(model: nn.Module, name: str) -> Tensor | None:
    """The whole gradient of a sharded parameter, on every rank."""
    raise NotImplementedError
