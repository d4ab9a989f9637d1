"""Hand a checked plan to PyTorch: shard a model in place with torch.distributed.

    import hplint.apply

    plan = hplint.apply.resolve_plan("plan.yaml", model, mesh)
    hplint.apply.apply_plan(model, plan, mesh)
    loss.backward()
    hplint.apply.sync_gradients(model)

Importing this package costs nothing; torch is imported when one of its names is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hplint.apply.applied import Applied as Applied
    from hplint.apply.applied import full_gradient as full_gradient
    from hplint.apply.applied import full_parameter as full_parameter
    from hplint.apply.applied import sync_gradients as sync_gradients
    from hplint.apply.applier import apply_plan as apply_plan
    from hplint.apply.errors import ApplyFailed as ApplyFailed
    from hplint.apply.errors import BoundaryError as BoundaryError
    from hplint.apply.errors import CannotApply as CannotApply
    from hplint.apply.errors import LayoutMismatch as LayoutMismatch
    from hplint.apply.errors import PlanRefused as PlanRefused
    from hplint.apply.inject.decorators import inner_wrapper as inner_wrapper
    from hplint.apply.inject.decorators import local_compute as local_compute
    from hplint.apply.live import resolve_plan as resolve_plan
    from hplint.apply.mesh.ledger import Communication as Communication
    from hplint.apply.mesh.ledger import Recorder as Recorder
    from hplint.apply.mesh.meshes import Meshes as Meshes
    from hplint.apply.mesh.meshes import build_meshes as build_meshes
    from hplint.apply.mesh.meshes import meshes_of as meshes_of
    from hplint.apply.plan import ApplyPlan as ApplyPlan
    from hplint.apply.plan import apply_plan_of as apply_plan_of

_HOMES = {
    "Applied": "applied", "full_gradient": "applied", "full_parameter": "applied", "sync_gradients": "applied",
    "apply_plan": "applier", "resolve_plan": "live",
    "ApplyFailed": "errors", "BoundaryError": "errors", "CannotApply": "errors", "LayoutMismatch": "errors",
    "PlanRefused": "errors",
    "Communication": "mesh.ledger", "Recorder": "mesh.ledger",
    "Meshes": "mesh.meshes", "build_meshes": "mesh.meshes", "meshes_of": "mesh.meshes",
    "inner_wrapper": "inject.decorators", "local_compute": "inject.decorators",
    "ApplyPlan": "plan", "apply_plan_of": "plan",
}  # fmt: skip
"""Public name -> the module that has it."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"hplint.apply.{_HOMES[name]}"), name)
