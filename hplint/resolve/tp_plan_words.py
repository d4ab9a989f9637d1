"""The words of Hugging Face's ``tp_plan``s and ``ep_plan``s: what each does to parameters, and between modules.

Source: transformers 5.24, ``distributed/tensor_parallel.py`` and ``expert_parallel.py``.
"""

from typing import NamedTuple

WHOLE, SLICE = "whole", "slice"


class Word(NamedTuple):
    """One word.

    ``cuts`` says which dim of parameters is cut: features, inputs, vocabulary (dim 0), hidden (dim 1), experts (dim 0),
    or "" where all stay whole; ``packed`` ones are cut in strides. ``takes`` is how the input has to arrive: whole on
    every rank, or as the rank's own slice of the last dim; ``gives`` how the output leaves; None where the word lets
    either pass as it is. ``needs`` is the attribute without which the library refuses the module. ``section`` is the
    plan that it belongs in, tp or ep. ``now`` is today's name of an old word.
    """

    cuts: str = ""
    takes: str | None = None
    gives: str | None = None
    packed: bool = False
    needs: str | None = None
    section: str = "tp"
    now: str | None = None


WORDS = {
    "colwise": Word("features", WHOLE, SLICE, needs="out_features"),
    "colwise_gather_output": Word("features", WHOLE, WHOLE, needs="out_features"),
    "colwise_rep": Word("features", WHOLE, WHOLE, needs="out_features", now="colwise_gather_output"),
    "rowwise": Word("inputs", SLICE, WHOLE, needs="in_features"),
    "rowwise_split_input": Word("inputs", WHOLE, WHOLE, needs="in_features"),
    "rowwise_rep": Word("inputs", WHOLE, WHOLE, needs="in_features", now="rowwise_split_input"),
    "embedding_rowwise": Word("vocabulary", WHOLE, WHOLE),
    "embedding_colwise": Word("hidden", WHOLE, WHOLE, needs="embedding_dim"),
    "packed_colwise": Word("features", WHOLE, SLICE, packed=True),
    "packed_rowwise": Word("inputs", packed=True),
    "moe_tp_experts": Word("", WHOLE, WHOLE),
    "moe_identity_expert": Word(""),
    "replicated_with_grad_allreduce": Word(""),
    "mla_kv_a_proj": Word("", WHOLE, WHOLE),
    "all_reduce": Word("", None, WHOLE),
    "local_params": Word(""),
    "sequence_parallel": Word(""),
    "replicate": Word(""),
    "grouped_gemm": Word("experts", section="ep"),
    "ep_dispatch_experts": Word("", WHOLE, WHOLE, section="ep"),
}
"""Word -> what it does."""
REMOVED = {
    "local_colwise": "colwise", "local_rowwise": "rowwise", "local_packed_rowwise": "packed_rowwise",
    "gather": "all_reduce", "ep_router": "ep_dispatch_experts", "ep_rowwise": "grouped_gemm",
}  # fmt: skip
"""Words of earlier versions that the library no longer knows, and what stands in their place."""


def cut_dim(word: str, name: str, dims: int) -> int | None:
    """The dim along which a word cuts a parameter; None where it stays whole.

    ``name`` is the parameter's own name (a ``bias`` is whole beside cut inputs), ``dims`` how many dims it has.
    """
    known = WORDS.get(word)
    match known.cuts if known and dims else "":
        case "features":
            return max(dims - 2, 0)
        case "inputs":
            whole = dims == 1 if known and known.packed else name == "bias"
            return None if whole else dims - 1
        case "vocabulary" | "experts":
            return 0
        case "hidden":
            return 1 if dims > 1 else None
    return None
