"""Which experts a token goes to, whatever kind of router a module has.

Routers differ in what they return. Read are: the triple (logits, weights, indices) of transformers 5, (indices,
weights) in either order, and plain logits, with the choice made by the module (``route_tokens_to_experts``) or by
softmax and top-k.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from hplint.apply.errors import CannotApply


class Routing(NamedTuple):
    """Per token its ``experts`` (whole numbers, [tokens, k]) and their ``weights`` [tokens, k]."""

    experts: Tensor
    weights: Tensor


@dataclass(frozen=True, slots=True)
class Router:
    """Routes tokens by a module's own ``gate`` (or ``router``).

    ``top_k`` and ``normalised`` count for routers that return plain logits.
    """

    module: nn.Module
    gate: nn.Module
    top_k: int | None
    normalised: bool | None

    def __call__(self, tokens: Tensor) -> Routing:
        """``tokens`` are [tokens, hidden]."""
        returned = self.gate(tokens)
        if isinstance(returned, tuple | list):
            return _of_tuple(returned)
        choose = getattr(self.module, "route_tokens_to_experts", None)
        if choose is not None:
            return _of_tuple(_chosen(choose, tokens, returned))
        return self._of_logits(returned)

    def _of_logits(self, logits: Tensor) -> Routing:
        if self.top_k is None:
            raise CannotApply("finds no number of experts per token", "set `top_k` or `num_experts_per_tok`")
        if self.normalised is None:
            raise CannotApply(
                "cannot tell whether the weights of the chosen experts are made to sum to 1",
                "set `norm_topk_prob` on the module or in its config",
            )
        logits = logits.reshape(-1, logits.shape[-1])
        weights, experts = torch.topk(functional.softmax(logits, dim=-1, dtype=torch.float), self.top_k, dim=-1)
        if self.normalised:
            weights = weights / weights.sum(dim=-1, keepdim=True)
        return Routing(experts, weights.to(logits.dtype))


def router_of(module: nn.Module, normalised: bool | None = None) -> Router:
    """The router of a mixture of experts. ``normalised`` is for routers of plain logits that do not say it themselves.
    Raises CannotApply (R212)."""
    gate = getattr(module, "gate", None) or getattr(module, "router", None)
    if gate is None:
        raise CannotApply(f"finds neither `gate` nor `router` in `{type(module).__name__}`")
    config = getattr(module, "config", None)
    places = (module, gate, config)
    said = _first(places, ("norm_topk_prob",))
    return Router(
        module,
        gate,
        _first(places, ("top_k", "num_experts_per_tok", "num_experts_per_token", "moe_top_k")),
        bool(said) if said is not None else normalised,
    )


def _first(places: tuple[Any, ...], names: tuple[str, ...]) -> Any:
    for place in places:
        for name in names:
            if (value := getattr(place, name, None)) is not None:
                return value
    return None


def _chosen(choose: Any, tokens: Tensor, logits: Tensor) -> Any:
    import inspect

    takes = len(inspect.signature(choose).parameters)
    return choose(logits) if takes == 1 else choose(tokens, logits)


def _of_tuple(returned: Any) -> Routing:
    """The tensor of whole numbers are the experts; the one before or after it that fits are the weights."""
    tensors = [t for t in returned if isinstance(t, Tensor)]
    at = next((i for i, t in enumerate(tensors) if not t.is_floating_point()), None)
    if at is None or len(tensors) < 2:
        raise CannotApply("cannot read what the router returns: none of it are numbers of experts")
    experts = tensors[at].reshape(-1, tensors[at].shape[-1])
    weights = tensors[at - 1] if at else tensors[1]
    weights = weights.reshape(-1, weights.shape[-1])
    if weights.shape[-1] != experts.shape[-1]:
        # Weights of all experts, zero for those that were not chosen.
        weights = weights.gather(1, experts)
    return Routing(experts, weights)
