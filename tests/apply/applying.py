"""What tests of applying share: resolved plans of live models, and the comparison with the unsharded model."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from hplint.apply import ApplyPlan, apply_plan, apply_plan_of, build_meshes, full_gradient, sync_gradients
from hplint.apply.mesh.meshes import device_of
from hplint.apply.region.parameters import local_part, whole
from hplint.derive.derive import derive_boundaries
from hplint.front.read import read_document
from hplint.model.read_tree import read_tree
from hplint.plan.placement import parse, shard
from hplint.resolve.resolver import resolve
from hplint.resolve.topology import Topology


def topology(sequence_parallel: bool = False, **sizes: Any) -> Topology:
    """A topology by sizes alone, such as tp=2, cp=2; sizes that are not given are 1."""
    return Topology(**{"tp": 1, "cp": 1, "ep": 1, "dp": 1, "pp": 1, **sizes}, sequence_parallel=sequence_parallel)


def plan_for(model: nn.Module, text: str, on: Topology, src: tuple[str, ...] = ()) -> ApplyPlan:
    """A YAML plan (its entries alone) resolved for a live model, without the rules."""
    document = read_document("plan.yaml", ("plan_overrides:\n" + (text.strip("\n") or "  []") + "\n").encode())
    [plan] = document.plans
    assert not document.faults
    assert not plan.faults, plan.faults
    tree = read_tree(model, "")
    resolved = resolve(plan, tree, on, derive_boundaries(tree, on, {}) if on.derive else {})
    assert not resolved.faults, resolved.faults
    return apply_plan_of(resolved, tree, on, plan, src)


def filled(model: nn.Module, seed: int = 0, scale: float = 0.3) -> nn.Module:
    """The model with random weights, all of them trainable, buffers and norms included as they are."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in dict.fromkeys(model.parameters()):
        parameter.data = torch.randn(parameter.shape, generator=generator) * scale
        parameter.requires_grad_(parameter.is_floating_point())
    return model


def differences(
    model: nn.Module,
    plan: ApplyPlan,
    inputs: Mapping[str, Tensor],
    *,
    mode: str = "local",
    cut: Mapping[str, Mapping[str, int]] | None = None,
    layout: Mapping[str, str] | None = None,
    output: Callable[[Any], Tensor] = lambda result: result,
) -> dict[str, float]:
    """Name -> largest difference to the unsharded model where it is above rounding: ``output``, and every gradient.

    Runs on each rank. ``cut`` says which inputs are cut (name -> axis -> dim), ``layout`` how the output is laid out
    (axis -> placement). The loss weighs every element of the output differently.
    """
    meshes = build_meshes(plan.topology)
    device = device_of(meshes)
    model, inputs = model.to(device), {name: value.to(device) for name, value in inputs.items()}
    whole_model = copy.deepcopy(model)
    apply_plan(model, plan, meshes, mode=mode)  # type: ignore[arg-type]
    mine = {
        name: local_part(v, {a: shard(d) for a, d in (cut or {}).get(name, {}).items()}, meshes)
        for name, v in inputs.items()
    }
    laid = {axis: parse(spelled) for axis, spelled in (layout or {}).items()}
    result, wanted = output(model(**mine)), output(whole_model(**inputs))
    if hasattr(result, "full_tensor"):
        local = result.to_local()
    else:
        local = result
    weights = torch.randn(wanted.shape, generator=torch.Generator().manual_seed(1)).to(device)
    (local * local_part(weights, laid, meshes)).sum().backward()  # type: ignore[arg-type]
    (wanted * weights).sum().backward()
    sync_gradients(model, dp=False)
    found = {"output": _apart(whole(local, laid, meshes), wanted)}  # type: ignore[arg-type]
    for name, parameter in whole_model.named_parameters():
        gradient = full_gradient(model, name)
        if gradient is None or parameter.grad is None:
            if gradient is not None or parameter.grad is not None:
                found[name] = float("inf")
            continue
        found[name] = _apart(gradient, parameter.grad)
    return {name: value for name, value in found.items() if value > 1e-4}


def _apart(one: Tensor, other: Tensor) -> float:
    return float(((one - other).abs() / (1 + other.abs())).detach().max())
