"""The first boundary that differs: both models once more, with an eye on what comes out of each boundary."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from hplint.apply.mesh.meshes import Meshes
from hplint.apply.mesh.shares import Owners
from hplint.apply.plan import ApplyBoundary, ApplyPlan
from hplint.apply.verify.compare import Comparison, compare
from hplint.apply.verify.inputs import Inputs, local_inputs
from hplint.apply.verify.parts import output_layouts, part, settled
from hplint.apply.verify.probe import Probe


def blame(
    outputs: Sequence[Comparison],
    gradients: Sequence[Comparison],
    reference: nn.Module,
    model: nn.Module,
    inputs: Inputs,
    plan: ApplyPlan,
    meshes: Meshes,
) -> str | None:
    """FQN of the first boundary in forward order whose output differs; where all outputs agree, of the boundary that
    holds the wrong gradient nearest to the output. None where no boundary can be blamed. Every rank has to call it."""
    order, different = _differing(reference, model, inputs, plan, meshes)
    if not all(c.agrees for c in outputs):
        return next((fqn for fqn in order if fqn in different), None)
    owners, ranks = Owners(plan), {fqn: i for i, fqn in enumerate(order)}
    wrong = [owners.of(c.name) for c in gradients if not c.agrees]
    return max((o for o in wrong if o in ranks), key=lambda o: ranks[o or ""], default=None)


def _differing(
    reference: nn.Module, model: nn.Module, inputs: Inputs, plan: ApplyPlan, meshes: Meshes
) -> tuple[list[str], set[str]]:
    """All boundaries in the order in which a forward leaves them, and those whose outputs differ on some rank."""
    names = [b.fqn for b in plan.boundaries]
    whole = _outputs(reference, inputs.values, names)
    local = _outputs(model, local_inputs(inputs, meshes), names)
    differing = {
        b.fqn
        for b in plan.boundaries
        if b.fqn in whole and b.fqn in local and not _same(b, whole[b.fqn], local[b.fqn], inputs, meshes)
    }
    everywhere: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, differing)
    return list(whole), set().union(*everywhere)


def _outputs(model: nn.Module, values: Mapping[str, Any], names: Sequence[str]) -> dict[str, dict[int, Tensor]]:
    probe = Probe(copies=True).watch(model, names)
    try:
        with torch.no_grad():
            model(**values)
    finally:
        probe.close()
    return probe.outputs


def _same(
    boundary: ApplyBoundary, whole: Mapping[int, Tensor], local: Mapping[int, Tensor], inputs: Inputs, meshes: Meshes
) -> bool:
    agrees = True
    for position, layout in output_layouts(boundary).items():
        if position not in whole or position not in local or not whole[position].is_floating_point():
            continue
        value = settled(local[position], layout, meshes)
        wanted = part(_with_sequence(whole[position], inputs), layout, inputs.batch, meshes)
        if wanted.numel() == value.numel() and wanted.dim() == value.dim() + 1:
            wanted = wanted.reshape(value.shape)
        agrees = agrees and compare("", value, wanted).agrees
    return agrees


def _with_sequence(whole: Tensor, inputs: Inputs) -> Tensor:
    """Tokens in one dim, as mixtures of experts see them, as [batch, sequence]: there they can be cut."""
    if inputs.length and inputs.length > 1 and whole.dim() == 2 and whole.shape[0] == inputs.batch * inputs.length:
        return whole.reshape(inputs.batch, inputs.length, -1)
    return whole
