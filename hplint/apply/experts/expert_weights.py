"""The weights of a rank's experts, whatever way a module keeps them, and what experts make of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.nn import functional

from hplint.apply.errors import CannotApply

Activation = Callable[[Tensor], Tensor]

_FUSED = ("gate_up_proj", "gate_and_up_projs")
_SEPARATE = (("gate_proj", "up_proj"), ("w1", "w3"))
_DOWN = ("down_proj", "down_projs", "w2")
_ACTIVATIONS: dict[str, Activation] = {
    "gelu": functional.gelu,
    "relu": functional.relu,
    "silu": functional.silu,
    "swish": functional.silu,
}


@dataclass(frozen=True, slots=True)
class ExpertWeights:
    """Where a container of experts keeps its weights, batched: [experts, out, in], or [experts, in, out] where
    ``transposed``. ``first`` is one name (gate and up in one weight) or two."""

    experts: nn.Module
    first: tuple[str, ...]
    down: str
    gate: Callable[[Tensor], Tensor]
    transposed: bool = False

    @property
    def count(self) -> int:
        """Experts on this rank."""
        return int(self._weight(self.down).shape[0])

    def run(self, tokens: Tensor, counts: Sequence[int], grouped: bool = False) -> Tensor:
        """What this rank's experts make of tokens [n, hidden] that are sorted by expert, ``counts`` for each.
        ``grouped`` lets one kernel do all experts."""
        weights = [self._weight(name) for name in self.first]
        down = self._weight(self.down)
        if grouped and not tokens.is_meta:  # without values it takes no float32
            return self._grouped(tokens, counts, weights, down)
        parts = torch.split(tokens, list(counts))
        return torch.cat([self._one(part, [w[i] for w in weights], down[i]) for i, part in enumerate(parts)])

    def fits_grouped(self) -> bool:
        """Whether one kernel can do all experts by itself: it wants rows of whole 16 bytes."""
        weights = [self._weight(name) for name in (*self.first, self.down)]
        return all(w.is_cuda and w.dtype == torch.bfloat16 and not any(n % 8 for n in w.shape[1:]) for w in weights)

    def _one(self, tokens: Tensor, weights: list[Tensor], down: Tensor) -> Tensor:
        hidden = torch.cat([self._linear(tokens, w) for w in weights], dim=-1)
        return self._linear(self.gate(hidden), down)

    def _linear(self, tokens: Tensor, weight: Tensor) -> Tensor:
        return tokens @ weight if self.transposed else functional.linear(tokens, weight)

    def _grouped(self, tokens: Tensor, counts: Sequence[int], weights: list[Tensor], down: Tensor) -> Tensor:
        ends = torch.tensor(counts, dtype=torch.int32, device=tokens.device).cumsum(0, dtype=torch.int32)

        def multiply(rows: Tensor, weight: Tensor) -> Tensor:
            found: Tensor = functional.grouped_mm(rows, weight if self.transposed else weight.mT, offs=ends)
            return found

        return multiply(self.gate(torch.cat([multiply(tokens, w) for w in weights], dim=-1)), down)

    def _weight(self, name: str) -> Tensor:
        found = getattr(self.experts, name)
        # Where DTensors flow through the region, experts still work on this rank's own weights.
        return found.to_local() if isinstance(found, DTensor) else found


def weights_of(module: nn.Module) -> ExpertWeights:
    """The weights of a module's ``experts``, after per-expert ones were stacked. Raises CannotApply (R173, R213)."""
    experts = getattr(module, "experts", None)
    if experts is None:
        raise CannotApply(f"finds no `experts` in `{type(module).__name__}`")
    fused = next(((n,) for n in _FUSED if _has(experts, n)), None)
    first = fused or next((names for names in _SEPARATE if all(_has(experts, n) for n in names)), None)
    down = next((n for n in _DOWN if _has(experts, n)), None)
    if first is None or down is None:
        names = [n for n, p in experts.named_parameters() if p is not None]
        raise CannotApply(
            f"finds no SwiGLU weights in `experts` (there are {', '.join(names[:4]) or 'none'})",
            "gate_up_proj and down_proj, gate_proj, up_proj and down_proj, or w1, w2 and w3 can be read",
        )
    biased = [n for n, _ in experts.named_parameters() if "bias" in n.rpartition(".")[2]]
    if biased:
        raise CannotApply(f"cannot run experts with a bias (`experts.{biased[0]}`)")
    return ExpertWeights(
        experts, first, down, _gate_of(module, experts, fused is not None), _is_transposed(experts, down)
    )


def _has(experts: nn.Module, name: str) -> bool:
    found = getattr(experts, name, None)
    return isinstance(found, Tensor) and found.dim() == 3


def _is_transposed(experts: nn.Module, down: str) -> bool:
    said = getattr(experts, "is_transposed", None)
    if isinstance(said, bool):
        return said
    hidden = getattr(experts, "hidden_dim", None) or getattr(experts, "hidden_size", None)
    rows, columns = getattr(experts, down).shape[1:]
    return bool(hidden) and columns == hidden != rows


def _gate_of(module: nn.Module, experts: nn.Module, fused: bool) -> Callable[[Tensor], Tensor]:
    """How gate and up, side by side in the last dim, become one."""
    own = getattr(experts, "_apply_gate", None)
    if fused and callable(own):
        return own  # type: ignore[no-any-return]
    if getattr(experts, "is_concatenated", True) is False:
        raise CannotApply("cannot run experts whose gate and up weights are interleaved")
    activation = _activation(module, experts)

    def gate(both: Tensor) -> Tensor:
        gated, up = both.chunk(2, dim=-1)
        return activation(gated) * up

    return gate


def _activation(module: nn.Module, experts: nn.Module) -> Activation:
    first = next(iter(experts.children()), None)
    for place in (experts, first, module):
        found = getattr(place, "act_fn", None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    for config in (getattr(experts, "config", None), getattr(module, "config", None)):
        name = getattr(config, "hidden_act", None)
        if name in _ACTIVATIONS:
            return _ACTIVATIONS[name]
    raise CannotApply("finds no activation: no `act_fn`, and no `hidden_act` of gelu, relu, silu or swish in a config")
