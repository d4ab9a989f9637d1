"""--verify of a ``tp_plan``: the model under the plan against a single-process run, outputs and every gradient.

The library takes other paths where no gradients are asked for: outputs are compared on both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from hplint.apply.applier import apply_plan
from hplint.apply.mesh.meshes import Meshes, device_of
from hplint.apply.plan import ApplyPlan
from hplint.apply.run.peers import is_lost_peer
from hplint.apply.run.place import Place
from hplint.apply.styles.blame import first_that_differs
from hplint.apply.styles.tp_plan_apply import part_of
from hplint.apply.styles.tp_plan_library import library
from hplint.apply.verify.compare import NEIGHBOUR, Comparison, compare, largest
from hplint.apply.verify.inputs import Inputs, make_inputs
from hplint.apply.verify.probe import is_finite, named_tensors
from hplint.apply.verify.verify import Make, Verification, _cannot_run, _fault, _gathered
from hplint.errors import RequestError

WITHOUT = " without gradients"
"""What the names of outputs end in that were computed under ``torch.no_grad()``."""


def verify_tp_plan(
    make: Make,
    plan: ApplyPlan,
    meshes: Meshes,
    seed: int = 0,
    inputs: Inputs | None = None,
    place: Place | None = None,
) -> Verification:
    """Run both models and compare them; every rank calls it and gets the same answer.

    Raises what :func:`~hplint.apply.applier.apply_plan` raises, and RequestError where the model cannot run by itself;
    what goes wrong in forward and backward under the plan is the answer's ``fault``.
    """
    place = place or Place()
    words: dict[str, str] = dict(plan.styles.words) if plan.styles else {}
    place.at("making the unsharded model")
    reference = make()
    if inputs is None:
        inputs = make_inputs(reference, plan, meshes, seed, device_of(meshes))
    place.at("the unsharded model")
    wanted = _unsharded(reference, inputs, seed)
    place.at("making the model to shard")
    model = make()
    place.at("applying the plan")
    apply_plan(model, plan, meshes)
    place.follow(model, plan)
    try:
        found = _sharded(model, inputs, wanted, place)
    except Exception as error:
        if is_lost_peer(error):
            raise
        return Verification(fault=_fault(error, place), notes=inputs.notes)
    place.at("comparing")
    result = Verification(_gathered(found), _gathered(_gradients(model, reference)))
    if not result.agrees:
        result.notes = list(inputs.notes)
        place.at("looking for the first module that differs")
        result.first = first_that_differs(result, reference, model, inputs.values, meshes, words)
    return result


@dataclass(slots=True)
class _Wanted:
    outputs: dict[str, Tensor]
    cotangents: dict[str, Tensor]


def _unsharded(model: nn.Module, inputs: Inputs, seed: int) -> _Wanted:
    """Outputs of the whole model; its gradients stay with its parameters."""
    try:
        outputs = named_tensors(model(**inputs.values))
    except Exception as error:
        raise _cannot_run(model, error) from error
    if not outputs:
        raise RequestError("the model returns no float tensor: there is nothing to compare")
    for name, value in outputs.items():
        if not is_finite(value):
            raise RequestError(
                f"output `{name}` of the unsharded model is not finite on seeded values",
                "try another --seed, or give --inputs module:function",
            )
    generator = torch.Generator("cpu").manual_seed(seed + 1)
    cotangents = {n: torch.randn(v.shape, generator=generator).to(v) for n, v in outputs.items()}
    _backward(outputs, cotangents)
    return _Wanted({n: v.detach() for n, v in outputs.items()}, cotangents)


def _backward(outputs: Mapping[str, Tensor], cotangents: Mapping[str, Tensor]) -> None:
    ends = [n for n, v in outputs.items() if v.requires_grad and n in cotangents and v.shape == cotangents[n].shape]
    if ends:
        torch.autograd.backward([outputs[n] for n in ends], [cotangents[n] for n in ends])


def _sharded(model: nn.Module, inputs: Inputs, wanted: _Wanted, place: Place) -> list[Comparison]:
    place.at("the sharded forward")
    outputs = _whole(model, inputs)
    compared = _compared(outputs, wanted.outputs, "")
    place.at("the sharded backward")
    _backward(outputs, wanted.cotangents)
    place.at("the sharded forward without gradients")
    with torch.no_grad():
        compared += _compared(_whole(model, inputs), wanted.outputs, WITHOUT)
    return compared


def _whole(model: nn.Module, inputs: Inputs) -> dict[str, Tensor]:
    found = named_tensors(model(**inputs.values))
    return {n: v.full_tensor() if isinstance(v, DTensor) else v for n, v in found.items()}


def _compared(found: Mapping[str, Tensor], wanted: Mapping[str, Tensor], suffix: str) -> list[Comparison]:
    compared = []
    for name, whole in wanted.items():
        if name in found:
            compared.append(compare(name + suffix, found[name].detach(), whole))
        else:
            compared.append(Comparison(name + suffix, float("inf"), largest(whole), "is missing"))
    return compared


def _gradients(model: nn.Module, reference: nn.Module) -> list[Comparison]:
    """Every gradient as this rank holds it: nobody but the library sums them."""
    lib: Any = library()
    wanted = dict(reference.named_parameters())
    floors: dict[str, float] = {}
    for name, parameter in wanted.items():
        if parameter.grad is not None:
            owner = name.rpartition(".")[0]
            floors[owner] = max(floors.get(owner, 0.0), NEIGHBOUR * largest(parameter.grad))
    compared = []
    for name, parameter in model.named_parameters():
        whole = wanted.pop(name, None)
        if whole is None or (whole.grad is None and parameter.grad is None):
            continue
        expected = torch.zeros_like(whole) if whole.grad is None else whole.grad
        found = parameter.grad
        if isinstance(found, DTensor) and found.placements == parameter.placements:  # type: ignore[attr-defined]
            expected, found = part_of(expected, found, lib), found.to_local()
        elif isinstance(found, DTensor):
            found = found.full_tensor()
        elif found is None:
            found = torch.zeros_like(expected)
        compared.append(compare(name, found, expected, floors.get(name.rpartition(".")[0], 0.0)))
    lost = {n: p.grad for n, p in wanted.items() if p.grad is not None}
    reason = "is no parameter any more"
    return compared + [Comparison(n, float("inf"), largest(g), reason) for n, g in lost.items()]
