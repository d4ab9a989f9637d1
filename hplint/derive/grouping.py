"""Grouping: which module a parameter's contract belongs to, and what type of boundary that module is."""

from collections.abc import Collection

from hplint.derive import roles

BY_PATH = (
    ("embed", ("embed_tokens", "wte", ".embed.", "tok_embeddings", "embed_in", "word_embeddings")),
    ("lm_head", ("lm_head", "embed_out", "output_layer")),
    ("norm", ("norm", "layernorm", "rmsnorm", "ln_")),
)
LEAVES = frozenset((
    "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "qkv_proj", "fused_qkv", "linear_qkv",
    "gate_up_proj", "query_key_value", "experts", "gate", "linear", "proj", "fc1", "fc2", "w1", "w2", "w3", "w13",
    "dense", "dense_h_to_4h", "dense_4h_to_h",
))  # fmt: skip
"""Last segments that are never a boundary by themselves."""
MOE = ("mlp", "moe", "moe_block", "moe_layer")
ATTENTION = ("attn", "attention")
FEED_FORWARD = ("mlp", "ffn", "feed_forward")


def type_of(path: str, held: Collection[str]) -> str | None:
    """Type of the module at ``path`` (lower case) whose group holds these roles; None hands the group to the parent."""
    for kind, parts in BY_PATH:
        if any(p in path for p in parts):
            return kind
    last = path.rpartition(".")[2]
    if "router" in last:
        return "moe_gate"
    if last in LEAVES or last.isdecimal():
        return None
    if roles.EXPERT in held:
        return "moe_mlp" if any(p in last for p in MOE) else None
    if roles.SHARED_EXPERT in held:
        return "mlp"
    if roles.MOE_GATE in held:
        return None
    colwise = any(role in roles.COLWISE_LIKE for role in held)
    feeds = any(p in path for p in FEED_FORWARD)
    if colwise and roles.ROWWISE in held:
        if any(p in path for p in ATTENTION):
            return "attention"
        return "mlp" if feeds else "attention"
    return "mlp" if colwise and feeds else None
