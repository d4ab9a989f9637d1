"""Context-parallel attention by exchange (Ulysses): each rank gets the whole sequence of a part of the heads.

Before attention queries, keys and values [batch, heads, sequence, head_dim] go from a part of the sequence to a part of
the heads, its result goes back. Local heads, those of keys too, have to divide by the cp axis (R209).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from hplint.apply.attention.attention_mask import MaskError, causal_mask
from hplint.apply.attention.gathered import SEQUENCE
from hplint.apply.mesh.collectives import all_gather, move_shard_with_grad
from hplint.apply.mesh.ledger import SILENT, Note
from hplint.apply.mesh.meshes import MeshAxis

HEADS = -3


class HeadsError(ValueError):
    """Heads that the axis does not divide."""


def to_heads(tensor: Tensor, axis: MeshAxis, note: Note = SILENT) -> Tensor:
    """The whole sequence of this rank's part of the heads. Raises HeadsError."""
    heads = tensor.shape[HEADS]
    if heads % axis.size:
        raise HeadsError(f"{note.name} have {heads} heads on this rank, which {axis.name}={axis.size} does not divide")
    return move_shard_with_grad(tensor, tensor.dim() + SEQUENCE, tensor.dim() + HEADS, axis, note)


def whole_mask(mask: Tensor, queries: int, local_keys: int, heads: int, axis: MeshAxis, note: Note = SILENT) -> Tensor:
    """A mask [..., queries, keys] for the whole sequence and this rank's part of ``heads``: one for this rank's queries
    over all keys is gathered, one for all queries is taken as it is. Raises MaskError (R206)."""
    length = local_keys * axis.size
    if mask.dim() < 2 or mask.shape[-1] not in (1, length):
        own = ", those of this rank alone" if mask.shape[-1] == local_keys else ""
        raise MaskError(f"the attention mask covers {mask.shape[-1]} keys{own}; the sequence has {length} of them")
    if mask.shape[-2] == queries != 1:
        mask = all_gather(mask, mask.dim() - 2, axis, replace(note, name="attention mask"))
    elif mask.shape[-2] not in (1, queries * axis.size):
        raise MaskError(f"the attention mask covers {mask.shape[-2]} queries; this rank has {queries}")
    if mask.dim() > 2 and mask.shape[HEADS] == heads > 1:
        return mask.chunk(axis.size, HEADS)[axis.rank]
    return mask


@dataclass(slots=True)
class ExchangedAttention:
    """``scaled_dot_product_attention`` of one rank's part of the sequence, with the same arguments."""

    axis: MeshAxis
    note: Note = SILENT
    calls: int = 0

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, *args: Any, **more: Any
    ) -> Tensor:
        self.calls += 1
        if attn_mask is not None:
            heads, queries, keys = query.shape[HEADS], query.shape[SEQUENCE], key.shape[SEQUENCE]
            attn_mask = whole_mask(attn_mask, queries, keys, heads, self.axis, self.note)
        whole = exchanged(query, key, value, self.axis, self.note)
        result = functional.scaled_dot_product_attention(*whole, attn_mask, *args, **more)
        return from_heads(result, result.dim() + HEADS, result.dim() + SEQUENCE, self.axis, self.note)


def exchanged(
    query: Tensor, key: Tensor, value: Tensor, axis: MeshAxis, note: Note = SILENT
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values by heads."""
    named = {"queries": query, "keys": key, "values": value}
    q, k, v = (to_heads(tensor, axis, replace(note, name=name)) for name, tensor in named.items())
    return q, k, v


def from_heads(result: Tensor, heads: int, sequence: int, axis: MeshAxis, note: Note = SILENT) -> Tensor:
    """All heads of this rank's part of the sequence again; ``heads`` and ``sequence`` are the dims."""
    return move_shard_with_grad(result, heads, sequence, axis, replace(note, name="attention result"))


class ExchangedInterface:
    """An attention function of transformers by exchange. ``window`` is the module's sliding window, which transformers
    leaves out of the mask where the rank's part of the sequence is shorter."""

    def __init__(self, interface: Callable[..., Any], axis: MeshAxis, note: Note, window: int | None) -> None:
        self.interface, self.axis, self.note, self.window = interface, axis, note, window
        self.calls = 0

    def __call__(
        self, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, **more: Any
    ) -> Any:
        self.calls += 1
        length = key.shape[SEQUENCE] * self.axis.size
        if attention_mask is not None:
            shape = query.shape[SEQUENCE], key.shape[SEQUENCE], query.shape[HEADS]
            attention_mask = whole_mask(attention_mask, *shape, self.axis, self.note)
        elif self.window is not None and self.window < length:
            attention_mask = causal_mask(length, length, replace(self.axis, rank=0), query.device, self.window)
        whole = exchanged(query, key, value, self.axis, self.note)
        # The result is [batch, sequence, heads, head_dim] here; weights of a part of the heads are of no use.
        result = self.interface(module, *whole, attention_mask, **more)[0]
        return from_heads(result, 2, 1, self.axis, self.note), None

    def __deepcopy__(self, memo: dict[int, Any]) -> "ExchangedInterface":
        return self
