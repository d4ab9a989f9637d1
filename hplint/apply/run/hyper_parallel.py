"""Hand a checked plan to an installed HyperParallel instead of hplint's own applier."""

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

from hplint.apply.errors import CannotApply
from hplint.apply.plan import ApplyBoundary, ApplyPlan, AxisLayout, Call
from hplint.apply.run.request import ApplyRequest
from hplint.errors import RequestError
from hplint.plan.placement import PARTIAL, Placement
from hplint.text.wording import listing

ROOTS = (
    "hyper_parallel.distributed",
    "hyper_parallel.auto_models.components.distributed",
    "hyper_models.components.distributed",
)
"""Packages in which the planner has lived, newest first."""
PLACEMENTS = ("hyper_parallel.core.dtensor.placement_types", "torch.distributed.tensor.placement_types")
APPLIERS = ("apply_sharding_plan", "apply_plan", "apply")
"""Names under which the function that applies a planner's plan is looked up: in the root, then on the plan itself."""
_HINT = "install it, or leave --applier out: hplint applies plans by itself"


def require_hyper_parallel() -> None:
    """Raise RequestError where no HyperParallel is installed; imports none of it."""
    for root in ROOTS:
        try:
            if importlib.util.find_spec(root.partition(".")[0]) is not None:
                return
        except (ImportError, ValueError):
            continue
    raise RequestError("--applier hyper_parallel: HyperParallel is not installed here", _HINT)


def hand_over(request: ApplyRequest, place: Any) -> dict[str, Any]:
    """Plan and apply with HyperParallel in this rank; every boundary as hplint resolved it, so that nothing is derived
    again. Raises CannotApply where the package does not have what it takes."""
    from hplint.apply.mesh.meshes import build_meshes, device_of
    from hplint.apply.run.job import attention_for
    from hplint.apply.run.model_values import model_with_values

    root = _root()
    place.at("making the meshes")
    topology = request.plan.topology
    meshes = build_meshes(topology)
    place.at("making the model")
    model = model_with_values(request.model, request.options.seed, device_of(meshes), attention_for(topology))
    place.at("planning with HyperParallel")
    planner = root.ShardingPlanner(_specs(request.plan, root), derive=False, allow_uncovered_params=True)
    planned = planner.plan(
        model,
        meshes.world,
        tp_size=topology.tp or 1,
        cp_size=topology.cp or 1,
        ep_size=topology.ep or 1,
        sequence_parallel=topology.sequence_parallel,
        loss_parallel=topology.loss_parallel,
    )
    place.at("applying with HyperParallel")
    _apply(root, model, planned, meshes.world)
    boundaries = [
        {"module": b.fqn, "kind": b.kind, "parameters": len(b.params), "place": b.place}
        for b in request.plan.boundaries
    ]
    return {"boundaries": boundaries, "parameters": None, "bytes": None}


def _root() -> Any:
    for root in ROOTS:
        try:
            module = importlib.import_module(root)
        except ModuleNotFoundError as error:
            if error.name and (root == error.name or root.startswith(f"{error.name}.")):
                continue
            raise
        if hasattr(module, "ShardingPlanner") and hasattr(module, "ModuleShardingSpec"):
            return module
    raise CannotApply(f"no ShardingPlanner is found in {listing(ROOTS, 'or')}", _HINT)


def _apply(root: Any, model: Any, planned: Any, mesh: Any) -> None:
    for name in APPLIERS:
        if callable(function := getattr(root, name, None)):
            function(model, planned, mesh)
            return
        if callable(method := getattr(planned, name, None)):
            method(model, mesh)
            return
    raise CannotApply(f"the installed {root.__name__} has none of {listing(APPLIERS)}", _HINT)


def _specs(plan: ApplyPlan, root: Any) -> dict[str, Any]:
    types = _placement_types()
    return {b.fqn: _spec(b, root, types) for b in plan.boundaries}


def _placement_types() -> Any:
    for name in PLACEMENTS:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise CannotApply(f"no placements are found in {listing(PLACEMENTS, 'or')}", _HINT)


def _spec(boundary: ApplyBoundary, root: Any, types: Any) -> Any:
    def layout(written: AxisLayout) -> dict[str, Any]:
        return {axis: _placement(p, types) for axis, p in written.items() if axis != "edp"}

    def layouts(written: Mapping[str, AxisLayout] | None) -> dict[str, Any] | None:
        return None if written is None else {name: layout(one) for name, one in written.items()}

    fields: dict[str, Any] = {
        "params": layouts(boundary.params),
        "in_src": layouts(boundary.in_src),
        "in_dst": layouts(boundary.in_dst),
        "out_src": layouts(boundary.out_src),
        "out_dst": layouts(boundary.out_dst),
        "out_names": list(boundary.out_names) if boundary.out_names else None,
        "tp_divide_attrs": list(boundary.tp_divide_attrs) or None,
        "region_dispatch": boundary.region_dispatch,
        "inner_target": boundary.inner_target,
        "inner_wrapper": _function(boundary.inner_wrapper, root),
        "inner_out_src": boundary.inner_out_src
        if isinstance(boundary.inner_out_src, str)
        else layouts(boundary.inner_out_src),
        "local_compute_fn": _function(boundary.local_compute_fn, root),
    }
    return root.ModuleShardingSpec(**{name: value for name, value in fields.items() if value is not None})


def _function(value: str | Call | None, root: Any) -> Any:
    if not isinstance(value, Call):
        return value
    recipes = importlib.import_module(f"{root.__name__}.recipe_spec")
    return recipes.Target(value.target, **dict(value.keywords))


def _placement(placement: Placement, types: Any) -> Any:
    if placement.is_shard:
        return types.Shard(placement.dim)
    return types.Partial() if placement == PARTIAL else types.Replicate()
