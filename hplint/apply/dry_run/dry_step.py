"""One step of an applied model on the meta device: forward, backward, sums of gradients."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from hplint.apply.applied import Applied, sync_gradients
from hplint.apply.dry_run.dry_ledger import Ledger
from hplint.apply.dry_run.equal_layers import EqualLayers
from hplint.apply.mesh.meshes import Meshes
from hplint.apply.plan import ApplyPlan
from hplint.apply.run.place import Place
from hplint.apply.verify.inputs import Inputs, adopt_layouts, local_inputs, make_inputs
from hplint.apply.verify.probe import Probe, named_tensors

META = torch.device("meta")


@dataclass(slots=True)
class Step:
    """What one step sends: ``boundaries`` in forward and backward, ``gradients`` afterwards. ``activations`` are the
    dtypes of the model's outputs."""

    boundaries: Ledger = field(default_factory=Ledger)
    gradients: Ledger = field(default_factory=Ledger)
    activations: list[str] = field(default_factory=list)


def inputs_without_values(
    model: nn.Module, plan: ApplyPlan, meshes: Meshes, sequences: int, layers: EqualLayers
) -> tuple[Inputs, bool]:
    """Inputs of all data-parallel ranks, laid out as the first boundary that takes each of them declares. The model is
    still whole; whether it runs to its end without values is the second answer. Raises RequestError where inputs cannot
    be made up."""
    dtype = main_dtype(model)
    with META:
        inputs = make_inputs(model, plan, meshes, 0, META, sequences)
    for name, value in inputs.values.items():
        if isinstance(value, Tensor) and value.is_floating_point():
            inputs.values[name] = value.to(dtype)
    probe = Probe().watch(model, [b.fqn for b in plan.boundaries])
    runs = True
    try:
        with META, layers.run_once(model), torch.no_grad():
            model(**inputs.values)
    except Exception:
        runs = False  # what was taken until then is known; the applied model will tell what cannot run
    finally:
        taken = {n: probe.taken[id(v)] for n, v in inputs.values.items() if id(v) in probe.taken}
        probe.close()
    adopt_layouts(inputs, plan, taken)
    return inputs, runs


def main_dtype(model: nn.Module) -> torch.dtype:
    """The dtype that most parameters have."""
    sizes: dict[torch.dtype, int] = {}
    for parameter in model.parameters():
        if parameter.is_floating_point():
            sizes[parameter.dtype] = sizes.get(parameter.dtype, 0) + parameter.numel()
    return max(sizes, key=lambda d: sizes[d]) if sizes else torch.get_default_dtype()


def run_step(model: nn.Module, applied: Applied, inputs: Inputs, step: Step, layers: EqualLayers, place: Place) -> None:
    """Forward and backward, recorded in ``step``. The recorder of the applied model has to be ``step.boundaries``."""
    mine = local_inputs(inputs, applied.meshes)
    place.follow(model, applied.plan)
    place.at("the forward")
    with META, layers.run_once(model), _heard(applied, step.boundaries, place, "forward"):
        outputs = named_tensors(model(**mine))
    step.activations = sorted({str(v.dtype).removeprefix("torch.") for v in outputs.values()})
    place.at("the backward")
    ends = [v for v in outputs.values() if v.requires_grad]
    with META, _heard(applied, step.boundaries, place, "backward"):
        torch.autograd.backward(ends, [torch.empty_like(v) for v in ends])
    step.boundaries.repeat(layers.stood_for)
    place.at("summing gradients")
    _leave_out_unused(model, layers)
    applied.recorder = step.gradients
    with _heard(applied, step.gradients, place, "backward", plain=False):
        sync_gradients(model)


def _heard(applied: Applied, ledger: Ledger, place: Place, direction: str, plain: bool = True) -> Any:
    """Listen to what another library sends: plans that it applies have no recorder of their own."""
    if applied.plan.styles is None:
        return nullcontext()
    from hplint.apply.dry_run.torch_collectives import TorchCollectives

    words = applied.plan.styles.words

    def where() -> tuple[str, str]:
        fqn = place.boundary or ""
        return fqn, words.get(fqn, "")

    return TorchCollectives(ledger, applied.meshes, where, direction, plain)


def _leave_out_unused(model: nn.Module, layers: EqualLayers) -> None:
    """Parameters without a gradient take no part in the sums; those of layers that did not run are as in the one that
    did, down to what a DTensor says of its gradient."""
    used = {n: p.grad for n, p in model.named_parameters(remove_duplicate=False) if p.grad is not None}
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            continue
        gradient = used.get(_in_run_layer(name, layers))
        if gradient is None:
            parameter.requires_grad_(False)
        elif isinstance(gradient, DTensor):
            parameter.grad = gradient.detach()


def _in_run_layer(name: str, layers: EqualLayers) -> str:
    head = name
    while head:
        head = head.rpartition(".")[0]
        if source := layers.stood_for.get(head):
            return source + name[len(head) :]
    return name
