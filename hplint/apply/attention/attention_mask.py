"""Masks for attention of this rank's queries over the keys of all ranks.

Queries are the rank's slice of the sequence, keys the whole of it. A mask that a model builds from its own
part of the sequence says nothing about the keys of other ranks, so it is refused; nothing is guessed.
"""

import torch
from torch import Tensor

from hplint.apply.mesh.meshes import MeshAxis


class MaskError(ValueError):
    """A mask that does not cover the keys of all ranks."""


def causal_mask(queries: int, keys: int, axis: MeshAxis, device: torch.device, window: int | None = None) -> Tensor:
    """True where a query may look: bool [queries, keys], queries counted from this rank's first position.

    ``window`` is a sliding window: each query sees that many positions, its own among them.
    """
    rows = torch.arange(queries, device=device)[:, None] + axis.rank * queries
    columns = torch.arange(keys, device=device)[None, :]
    allowed = columns <= rows
    return allowed if window is None else allowed & (columns > rows - window)


def fit_mask(mask: Tensor, queries: int, local_keys: int, axis: MeshAxis) -> Tensor:
    """A mask [..., queries, keys] for this rank's queries over ``local_keys`` x ranks keys.

    Rows for this rank's queries alone, for one query (broadcast) and for the queries of all ranks are right; the last
    are cut. Raises MaskError (R206).
    """
    keys = local_keys * axis.size
    if mask.dim() < 2:
        raise MaskError(f"the attention mask has the shape {list(mask.shape)}; it needs [..., queries, keys]")
    rows, columns = mask.shape[-2:]
    if columns not in (1, keys):
        own = ", those of this rank alone" if columns == local_keys else ""
        raise MaskError(f"the attention mask covers {columns} keys{own}; the {axis.name} axis gathers {keys} of them")
    if rows == queries * axis.size:
        return mask.narrow(-2, axis.rank * queries, queries)
    if rows not in (1, queries):
        raise MaskError(f"the attention mask covers {rows} queries; this rank has {queries}")
    return mask
