"""Expert parallelism on plain PyTorch: compute functions for mixtures of experts.

The experts' weights are this rank's, E/ep of them; tokens are exchanged over the ep axis of the expert mesh. Gradients
of expert weights are then the sum over all tokens that came; ranks that hold copies of one expert (the edp axis) add
theirs up (:func:`hplint.apply.mesh.shares.gradient_axes`). The names are those of HyperParallel's recipes, whose
contract they keep.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from hplint.apply.errors import BoundaryError, CannotApply
from hplint.apply.experts.exchange import plan_exchange
from hplint.apply.experts.expert_weights import weights_of
from hplint.apply.experts.routers import router_of
from hplint.apply.inject.decorators import local_compute
from hplint.apply.mesh.ledger import SILENT, Note
from hplint.apply.mesh.meshes import axis_of

Compute = Callable[[nn.Module, Tensor], Tensor]
_SHARED = ("shared_expert", "shared_experts")
_COUNTS = ("num_experts", "n_routed_experts", "num_local_experts")


@local_compute
def expert_parallel(
    module: nn.Module,
    mesh: DeviceMesh,
    tp_mesh: DeviceMesh | None,
    cp_mesh: DeviceMesh | None,
    ep_mesh: DeviceMesh | None,
    note: Note = SILENT,
    *,
    use_grouped_gemm: bool | None = None,
) -> Compute:
    """For any module with ``experts`` and a ``gate`` or ``router``, shared experts included.

    ``use_grouped_gemm`` runs a rank's experts in one kernel; left out, it does so for bfloat16 on CUDA.
    """
    return _compute(module, ep_mesh, note, use_grouped_gemm, any(getattr(module, n, None) is not None for n in _SHARED))


@local_compute
def routed_only_ep_compute_fn(
    module: nn.Module,
    mesh: DeviceMesh,
    tp_mesh: DeviceMesh | None,
    cp_mesh: DeviceMesh | None,
    ep_mesh: DeviceMesh | None,
    note: Note = SILENT,
) -> Compute:
    """For modules without shared experts."""
    return _compute(module, ep_mesh, note, None, False)


@local_compute
def mixtral_ep_compute_fn(
    module: nn.Module,
    mesh: DeviceMesh,
    tp_mesh: DeviceMesh | None,
    cp_mesh: DeviceMesh | None,
    ep_mesh: DeviceMesh | None,
    note: Note = SILENT,
) -> Compute:
    """For Mixtral: the weights of a token's experts sum to 1."""
    return _compute(module, ep_mesh, note, None, False, normalised=True)


@local_compute
def qwen3moe_ep_compute_fn(
    module: nn.Module,
    mesh: DeviceMesh,
    tp_mesh: DeviceMesh | None,
    cp_mesh: DeviceMesh | None,
    ep_mesh: DeviceMesh | None,
    note: Note = SILENT,
    *,
    use_grouped_gemm: bool | None = None,
) -> Compute:
    """For Qwen3-MoE."""
    return _compute(module, ep_mesh, note, use_grouped_gemm, False)


@local_compute
def qwen2moe_ep_compute_fn(
    module: nn.Module,
    mesh: DeviceMesh,
    tp_mesh: DeviceMesh | None,
    cp_mesh: DeviceMesh | None,
    ep_mesh: DeviceMesh | None,
    note: Note = SILENT,
) -> Compute:
    """For Qwen2-MoE: a gated shared expert beside the routed ones."""
    _needs(module, "shared_expert", "shared_expert_gate")
    return _compute(module, ep_mesh, note, None, True)


@local_compute
def deepseekv3_ep_compute_fn(
    module: nn.Module,
    mesh: DeviceMesh,
    tp_mesh: DeviceMesh | None,
    cp_mesh: DeviceMesh | None,
    ep_mesh: DeviceMesh | None,
    note: Note = SILENT,
) -> Compute:
    """For DeepSeek-V3: shared experts beside the routed ones."""
    _needs(module, "shared_experts")
    return _compute(module, ep_mesh, note, None, True)


def _compute(
    module: nn.Module,
    ep_mesh: DeviceMesh | None,
    note: Note,
    grouped: bool | None,
    shared: bool,
    normalised: bool | None = None,
) -> Compute:
    if ep_mesh is None:
        raise CannotApply("exchanges tokens over the ep axis, but ep is 1 in this run", "write `when: ep`")
    axis = axis_of(ep_mesh)
    router, weights = router_of(module, normalised), weights_of(module)
    count = _count(module, weights.count * axis.size)
    left_out = next((n for n in _SHARED if getattr(module, n, None) is not None), None)
    if left_out and not shared:
        raise CannotApply(
            f"runs routed experts alone, but the module has `{left_out}`", "choose the recipe that adds it"
        )

    def run(module: nn.Module, hidden_states: Tensor) -> Tensor:
        hidden_states = _jittered(module, hidden_states)
        tokens = hidden_states.reshape(-1, hidden_states.shape[-1])
        routing = router(tokens)
        if routing.experts.shape[0] != tokens.shape[0]:
            raise BoundaryError(
                f"the router of `{note.boundary}` answers for {routing.experts.shape[0]} tokens; this rank has "
                f"{tokens.shape[0]}",
                note.boundary,
                "lay out the router's input and output as the tokens are, or leave it without a boundary",
            )
        k = routing.experts.shape[1]
        exchange = plan_exchange(routing.experts.flatten(), count, axis, note)
        arrived = exchange.dispatch(tokens.repeat_interleave(k, dim=0))
        made = weights.run(arrived, exchange.counts, weights.fits_grouped() if grouped is None else grouped)
        copies = exchange.combine(made).view(*routing.experts.shape, -1)
        result = (copies * routing.weights.unsqueeze(-1)).sum(1).to(hidden_states.dtype)
        result = result.view(hidden_states.shape)
        return result + _shared(module, hidden_states) if shared else result

    return _named_as(run, module)


def _named_as(run: Compute, module: nn.Module) -> Compute:
    """The compute function with its input named as the module's forward names it (R88)."""
    import inspect

    taken = list(inspect.signature(module.forward).parameters.values())
    if not taken:
        raise CannotApply(f"stands in for a forward with an input; `{type(module).__name__}` has none")
    own = inspect.signature(run)
    first = next(iter(own.parameters.values()))
    name = taken[0].name

    def compute(*args: Any, **kwargs: Any) -> Tensor:
        module, tokens = own_signature.bind(*args, **kwargs).args
        return run(module, tokens)

    own_signature = inspect.Signature([first, inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)])
    compute.__signature__ = own_signature  # type: ignore[attr-defined]
    return compute


def _count(module: nn.Module, held: int) -> int:
    """The number of all experts (R171), which the ranks' weights have to make up."""
    places = (getattr(module, "experts", None), module, getattr(module, "config", None))
    said = next((v for p in places for n in _COUNTS if isinstance(v := getattr(p, n, None), int)), held)
    if said != held:
        raise CannotApply(
            f"finds {said} experts, but the ranks hold {held} of their weights",
            "cut the experts' weights over ep on dim 0 (params: ep shard(0))",
        )
    return held


def _needs(module: nn.Module, *names: str) -> None:
    missing = [n for n in names if getattr(module, n, None) is None]
    if missing:
        raise CannotApply(
            f"needs `{missing[0]}`, which `{type(module).__name__}` does not have", "choose the recipe that fits"
        )


def _jittered(module: nn.Module, hidden_states: Tensor) -> Tensor:
    """Mixtral's noise on the router's and the experts' input while training."""
    noise = getattr(module, "jitter_noise", 0)
    if not (module.training and isinstance(noise, float) and noise > 0):
        return hidden_states
    return hidden_states * torch.empty_like(hidden_states).uniform_(1.0 - noise, 1.0 + noise)


def _shared(module: nn.Module, hidden_states: Tensor) -> Tensor:
    """What shared experts add: a module of their own, which communicates by itself where it is a boundary."""
    name = next(n for n in _SHARED if getattr(module, n, None) is not None)
    result: Tensor = getattr(module, name)(hidden_states)
    gate = getattr(module, "shared_expert_gate", None)
    return result if gate is None else torch.sigmoid(gate(hidden_states)) * result
