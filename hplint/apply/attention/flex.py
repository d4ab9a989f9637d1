"""Context-parallel flex attention: keys and values gathered, block mask and score function offset to this rank."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from hplint.apply.attention.attention_mask import MaskError
from hplint.apply.attention.gathered import SEQUENCE, gather_keys
from hplint.apply.mesh.ledger import SILENT, Note
from hplint.apply.mesh.meshes import MeshAxis

Modifier = Callable[..., Tensor]


@dataclass(slots=True)
class GatheredFlexAttention:
    """``flex_attention`` for one rank's queries, with the same arguments.

    A ``score_mod`` counts queries from the start of the whole sequence, as in a model that knows nothing of ranks. A
    ``block_mask`` for all queries is built anew for this rank's; one for this rank's queries over all keys is taken as
    it is. Raises MaskError.
    """

    axis: MeshAxis
    inner: Callable[..., Any]
    note: Note = SILENT
    calls: int = 0
    _masks: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        score_mod: Modifier | None = None,
        block_mask: Any = None,
        **more: Any,
    ) -> Any:
        self.calls += 1
        queries, local_keys = query.shape[SEQUENCE], key.shape[SEQUENCE]
        if block_mask is not None:
            block_mask = self.fit(block_mask, queries, local_keys)
        if score_mod is not None:
            score_mod = offset_score(score_mod, self.axis.rank * queries)
        key, value = gather_keys(key, value, self.axis, self.note)
        return self.inner(query, key, value, score_mod=score_mod, block_mask=block_mask, **more)

    def fit(self, block_mask: Any, queries: int, local_keys: int) -> Any:
        """A block mask for this rank's queries over the keys of all ranks."""
        rows, columns = block_mask.seq_lengths
        keys = local_keys * self.axis.size
        if (rows, columns) == (queries, keys):
            return block_mask
        if (rows, columns) != (queries * self.axis.size, keys):
            own = ", those of this rank alone" if columns == local_keys else ""
            raise MaskError(
                f"the block mask covers {rows} queries and {columns} keys{own}; this rank has {queries} queries, and "
                f"the {self.axis.name} axis gathers {keys} keys"
            )
        known = self._masks.get(id(block_mask))
        if known is None or known[0] is not block_mask:
            # One mask serves all layers of a step: keep the last, with what it came from so that its id stays its own.
            self._masks.clear()
            known = (block_mask, _rows_of(block_mask, self.axis.rank * queries, queries, keys))
            self._masks[id(block_mask)] = known
        return known[1]


def offset_score(score_mod: Modifier, offset: int) -> Modifier:
    """A score function whose queries start at ``offset``."""

    def modify(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return score_mod(score, batch, head, query + offset, key)

    return modify


def _rows_of(block_mask: Any, offset: int, queries: int, keys: int) -> Any:
    from torch.nn.attention.flex_attention import create_block_mask

    def allowed(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        found: Tensor = block_mask.mask_mod(batch, head, query + offset, key)
        return found

    batches, heads = block_mask.shape[:2]
    return create_block_mask(
        allowed,
        batches if batches > 1 else None,
        heads if heads > 1 else None,
        queries,
        keys,
        device=block_mask.kv_num_blocks.device,
        BLOCK_SIZE=block_mask.BLOCK_SIZE,
    )
