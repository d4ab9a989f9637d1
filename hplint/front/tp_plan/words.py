"""Names that Hugging Face's ``tp_plan``s stand under, and the words that they give to modules."""

from collections.abc import Iterable

from hplint.plan.style import Carrier
from hplint.text.near import one_near

SECTIONS = ("tp", "ep", "pp")
CARRIERS = {
    **{f"base_model_{s}_plan": Carrier(s, "config") for s in SECTIONS},
    **{f"_{s}_plan": Carrier(s, "model") for s in SECTIONS},
    **{f"{s}_plan": Carrier(s, "argument") for s in SECTIONS},
}
"""Name of an attribute, an argument or a key -> what a plan under it counts from."""
CONFIG = "DistributedConfig"
CONFIG_ARGUMENT = "distributed_config"
SIZES = ("tp_size", "ep_size", "pp_size")
"""What stands beside a plan and says how many ranks it is for."""
WORDS = frozenset((
    "colwise", "colwise_gather_output", "colwise_rep", "rowwise", "rowwise_split_input", "rowwise_rep",
    "embedding_rowwise", "embedding_colwise", "packed_colwise", "packed_rowwise", "moe_tp_experts",
    "moe_identity_expert", "replicated_with_grad_allreduce", "mla_kv_a_proj", "all_reduce", "local_params",
    "sequence_parallel", "replicate", "grouped_gemm", "ep_dispatch_experts", "ep_router", "gather", "local",
    "local_colwise", "local_rowwise", "local_packed_rowwise", "isolated",
))  # fmt: skip
"""Styles of this and of earlier versions of the library: they tell a plan from any other mapping of strings."""


def looks_like_plan(items: Iterable[tuple[object, object]]) -> bool:
    """Whether a mapping whose name alone does not tell is a plan: it gives some path a known word, maybe misspelt, or
    its keys are paths of modules."""
    return any(
        isinstance(key, str) and isinstance(word, str) and ("." in key or is_word(word) or one_near(word, WORDS))
        for key, word in items
    )


def is_word(value: object) -> bool:
    """Whether a value is a style of the library."""
    return isinstance(value, str) and value in WORDS
