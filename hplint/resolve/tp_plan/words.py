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
    plan that it belongs in, tp or ep. ``now`` is today's name of an old word. ``doc`` says it in words, for people.
    """

    cuts: str = ""
    takes: str | None = None
    gives: str | None = None
    packed: bool = False
    needs: str | None = None
    section: str = "tp"
    now: str | None = None
    doc: str = ""


WORDS = {
    "colwise": Word(
        "features",
        WHOLE,
        SLICE,
        needs="out_features",
        doc="output features cut; the input is whole, each rank gives its slice of the output",
    ),
    "colwise_gather_output": Word(
        "features",
        WHOLE,
        WHOLE,
        needs="out_features",
        doc="output features cut; the slices of the output are gathered",
    ),
    "colwise_rep": Word(
        "features",
        WHOLE,
        WHOLE,
        needs="out_features",
        now="colwise_gather_output",
        doc="the old name of colwise_gather_output",
    ),
    "rowwise": Word(
        "inputs",
        SLICE,
        WHOLE,
        needs="in_features",
        doc="input features cut; the input is the rank's slice, the outputs are summed, a bias is added once",
    ),
    "rowwise_split_input": Word(
        "inputs",
        WHOLE,
        WHOLE,
        needs="in_features",
        doc="input features cut; a whole input is split first, the outputs are summed",
    ),
    "rowwise_rep": Word(
        "inputs",
        WHOLE,
        WHOLE,
        needs="in_features",
        now="rowwise_split_input",
        doc="the old name of rowwise_split_input",
    ),
    "embedding_rowwise": Word("vocabulary", WHOLE, WHOLE, doc="vocabulary cut; the ranks' lookups are summed"),
    "embedding_colwise": Word(
        "hidden",
        WHOLE,
        WHOLE,
        needs="embedding_dim",
        doc="hidden dim cut; the slices of the output are gathered",
    ),
    "packed_colwise": Word(
        "features",
        WHOLE,
        SLICE,
        packed=True,
        doc="fused gate and up cut in strides, so that each rank has its part of both",
    ),
    "packed_rowwise": Word(
        "inputs",
        packed=True,
        doc="fused weight cut in strides along its last dim; nothing is done to inputs and outputs",
    ),
    "moe_tp_experts": Word(
        "", WHOLE, WHOLE, doc="gradients of the inputs are summed, and so is the output of the experts"
    ),
    "moe_identity_expert": Word(doc="the input is divided by the size of tp, since the sum over ranks multiplies it"),
    "replicated_with_grad_allreduce": Word(
        doc="whole on every rank; its gradient is summed, for norms that see the rank's own heads alone"
    ),
    "mla_kv_a_proj": Word("", WHOLE, WHOLE, doc="whole on every rank; the rotary part of the gradient is summed"),
    "all_reduce": Word("", None, WHOLE, doc="the output is summed over the ranks"),
    "local_params": Word(doc="the forward sees the rank's parts of the module's own parameters"),
    "sequence_parallel": Word(doc="whole on every rank; works on the rank's part of the sequence"),
    "replicate": Word(doc="whole on every rank"),
    "grouped_gemm": Word("experts", section="ep", doc="experts spread over ranks: dim 0 cut over ep"),
    "ep_dispatch_experts": Word(
        "", WHOLE, WHOLE, section="ep", doc="tokens go to the ranks that hold their experts, and come back"
    ),
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
