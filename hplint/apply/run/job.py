"""What one rank does for a request, in a running process group: apply the plan, or verify it."""

import logging
from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from hplint.apply.applied import Applied
from hplint.apply.applier import Mode, apply_plan
from hplint.apply.mesh.meshes import Meshes, build_meshes, device_of
from hplint.apply.plan import ApplyPlan
from hplint.apply.run.place import Place
from hplint.apply.run.request import ApplyOptions, ApplyRequest
from hplint.apply.verify.inputs import Inputs, given_inputs
from hplint.apply.verify.probe import local
from hplint.resolve.topology import Topology


def run_job(request: ApplyRequest, place: Place) -> dict[str, Any]:
    """The machine output of the request. Every rank calls it; it is the same on all."""
    torch.set_float32_matmul_precision("highest")
    # torch remarks on every redistribution that takes several collectives; the plan asks for them.
    logging.getLogger("torch.distributed.tensor").setLevel(logging.ERROR)
    head = {
        "version": 1,
        "path": request.plan.path,
        "model": request.spec,
        "topology": request.plan.topology.to_json(),
        "mesh": sizes(request.plan.topology),
        "ranks": dist.get_world_size(),
        "applier": request.options.applier,
        "mode": request.options.mode,
        "backend": dist.get_backend(),
    } | of_styles(request.plan)
    if request.options.applier == "hyper_parallel":
        from hplint.apply.run.hyper_parallel import hand_over

        return head | {"applied": hand_over(request, place)}
    place.at("making the meshes")
    meshes = build_meshes(request.plan.topology)
    if request.options.verify:
        return head | {"verified": _verify(request, meshes, place)}
    place.at("making the model")
    model = _make(request, meshes)
    place.at("applying the plan")
    applied = apply_plan(model, request.plan, meshes, mode=_mode(request))
    return head | {"applied": _applied(model, applied)}


def of_styles(plan: ApplyPlan) -> dict[str, Any]:
    """What the machine output has besides for a plan of styles."""
    if plan.styles is None:
        return {}
    counts: dict[str, int] = {}
    for word in plan.styles.words.values():
        counts[word] = counts.get(word, 0) + 1
    return {"styles": counts, "notes": list(plan.styles.notes)}


def sizes(topology: Topology) -> dict[str, int]:
    """Axis -> size in mesh order, axes of size 1 left out."""
    named = topology.mesh or {"dp": topology.dp or 1, "cp": topology.cp or 1, "tp": topology.tp or 1}
    return {a: n for a, n in named.items() if n > 1}


def attention_for(topology: Topology) -> str:
    """The implementation that transformers' models get: that which context-parallel wrappers reach into where cp is
    active, else the one that DTensors go through operation by operation."""
    return "sdpa" if (topology.cp or 1) > 1 else "eager"


def _make(request: ApplyRequest, meshes: Meshes) -> nn.Module:
    from hplint.apply.run.model_values import model_with_values

    attention = attention_for(request.plan.topology)
    return model_with_values(request.model, request.options.seed, device_of(meshes), attention)


def _mode(request: ApplyRequest) -> Mode:
    return "validate" if request.options.mode == "validate" else "local"


def _verify(request: ApplyRequest, meshes: Meshes, place: Place) -> dict[str, Any]:
    from hplint.apply.verify.verify import verify

    options = request.options
    place.at("making the inputs")
    inputs = _given_inputs(options, request.plan.src, device_of(meshes)) if options.inputs else None
    plan = request.plan
    if plan.styles is not None:
        found = plan.styles.verify(lambda: _make(request, meshes), plan, meshes, options.seed, inputs, place)
    else:
        found = verify(lambda: _make(request, meshes), plan, meshes, _mode(request), options.seed, inputs, place)
    first = found.fault.boundary if found.fault else found.first
    boundary = request.plan.boundary(first) if first is not None else None
    return found.to_json() | {"place": boundary.place if boundary else ""}


def _given_inputs(options: ApplyOptions, src: tuple[str, ...], device: torch.device) -> Inputs:
    """The user's inputs as rank 0 makes them: what is drawn at random would differ on each rank."""
    made: list[Any] = [None]
    if dist.get_rank() == 0:
        torch.manual_seed(options.seed)
        made = [given_inputs(str(options.inputs), src)]
    dist.broadcast_object_list(made)
    inputs: Inputs = made[0]
    inputs.values = {n: v.to(device) if isinstance(v, Tensor) else v for n, v in inputs.values.items()}
    return inputs


def _applied(model: nn.Module, applied: Applied) -> dict[str, Any]:
    """What was done: the boundaries, the parameters by kind, the bytes that each rank holds."""
    sharded = replicated = 0
    counts = {"sharded": 0, "replicated": 0}
    for name, parameter in model.named_parameters():
        size = local(parameter.data).numel() * parameter.element_size()
        if any(p.is_shard and applied.meshes.axis(a).size > 1 for a, p in applied.layouts.get(name, {}).items()):
            sharded, counts["sharded"] = sharded + size, counts["sharded"] + 1
        else:
            replicated, counts["replicated"] = replicated + size, counts["replicated"] + 1
    mine: Mapping[str, int] = {"sharded": sharded, "replicated": replicated, "total": sharded + replicated}
    ranks: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, mine)
    boundaries = [
        {"module": b.fqn, "kind": b.kind, "parameters": len(b.params), "place": b.place}
        for b in sorted(applied.plan.boundaries, key=_in_order(model))
        if applied.plan.styles is None or b.kind is not None
    ]
    return {"boundaries": boundaries, "parameters": counts, "bytes": max(ranks, key=lambda r: r["total"])}


def _in_order(model: nn.Module) -> Any:
    order = {name: i for i, (name, _) in enumerate(model.named_modules())}
    return lambda boundary: order.get(boundary.fqn, len(order))
