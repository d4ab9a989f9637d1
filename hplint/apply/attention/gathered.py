"""Context-parallel attention on plain PyTorch: keys and values of all ranks, queries of this one.

Keys and values are gathered along the cp axis; on the way back their gradients are summed over the ranks and cut. With
``is_causal`` the mask is offset to this rank's slice.
"""

from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor
from torch.nn import functional

from hplint.apply.attention.attention_mask import MaskError, causal_mask, fit_mask
from hplint.apply.mesh.collectives import all_gather_with_grad
from hplint.apply.mesh.ledger import SILENT, Note
from hplint.apply.mesh.meshes import MeshAxis

SEQUENCE = -2
"""The dim of queries, keys and values [batch, heads, sequence, head_dim] that cp cuts."""


def gather_keys(key: Tensor, value: Tensor, axis: MeshAxis, note: Note = SILENT) -> tuple[Tensor, Tensor]:
    """Keys and values of all ranks, in rank order."""
    dim = key.dim() + SEQUENCE
    whole_key = all_gather_with_grad(key, dim, axis, replace(note, name="key"))
    return whole_key, all_gather_with_grad(value, dim, axis, replace(note, name="value"))


@dataclass(slots=True)
class GatheredAttention:
    """``scaled_dot_product_attention`` for one rank's queries, with the same arguments.

    ``window`` is the sliding window of the module, which counts where no mask is given. Raises MaskError.
    """

    axis: MeshAxis
    note: Note = SILENT
    window: int | None = None
    calls: int = 0

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **more: Any,
    ) -> Tensor:
        self.calls += 1
        queries, local_keys = query.shape[SEQUENCE], key.shape[SEQUENCE]
        if attn_mask is not None:
            attn_mask = fit_mask(attn_mask, queries, local_keys, self.axis)
        elif is_causal and queries != local_keys:
            raise MaskError(f"causal attention of {queries} queries over {local_keys} keys of this rank has no meaning")
        key, value = gather_keys(key, value, self.axis, self.note)
        if is_causal and attn_mask is None:
            return self._causal(query, key, value, dropout_p, more)
        return functional.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, **more)

    def _causal(self, query: Tensor, key: Tensor, value: Tensor, dropout_p: float, more: dict[str, Any]) -> Tensor:
        queries = query.shape[SEQUENCE]
        # No query of this rank looks beyond its own slice.
        seen = queries * (self.axis.rank + 1)
        key, value = key.narrow(SEQUENCE, 0, seen), value.narrow(SEQUENCE, 0, seen)
        mask: Any
        if query.is_cuda and self.window is None:
            from torch.nn.attention.bias import causal_lower_right

            # Fused kernels know this form; a mask as a tensor would keep them out.
            mask = causal_lower_right(queries, seen)
        else:
            mask = causal_mask(queries, seen, self.axis, query.device, self.window)
        return functional.scaled_dot_product_attention(query, key, value, mask, dropout_p, **more)
