"""Roles: what a parameter's name says of it. The first pattern that matches wins; all names in lower case."""

from collections.abc import Iterable

EMBED = "embed"
LM_HEAD = "lm_head"
SHARED_EXPERT = "shared_expert"
EXPERT = "expert"
MOE_GATE = "moe_gate"
FUSED_QKV = "fused_qkv"
FUSED_GATE_UP = "fused_gate_up"
SPECIAL = "special"
NORM = "norm"
COLWISE = "colwise"
BIAS = "bias"
ROWWISE = "rowwise"
REPLICATED = "replicated"
SKIP = "skip"

ROLES = (EMBED, LM_HEAD, SHARED_EXPERT, EXPERT, MOE_GATE, FUSED_QKV, FUSED_GATE_UP, SPECIAL, NORM, COLWISE, BIAS,
         ROWWISE, REPLICATED, SKIP)  # fmt: skip
COLWISE_LIKE = frozenset((COLWISE, FUSED_QKV, FUSED_GATE_UP))

SPECIAL_NAMES = ("a_log", "dt_bias", "gated_delta")
"""Parameters that a special handler lays out by itself, and the handlers' names (S40)."""

PATTERNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (EMBED, ("embed_tokens.weight", "wte.weight", "tok_embeddings.weight", "embed_in.weight",
             "word_embeddings.weight")),
    (LM_HEAD, ("lm_head.weight", "embed_out.weight", "output_layer.weight")),
    (SHARED_EXPERT, ("=shared_expert", "=shared_experts")),
    (EXPERT, ("experts",)),
    (MOE_GATE, (".mlp.gate.", ".router.", "moe_gate", "mlp.router")),
    (FUSED_QKV, ("fused_qkv", "linear_qkv", "qkv_proj", "query_key_value")),
    (FUSED_GATE_UP, ("gate_up_proj", "fused_gate_up", ".w13.")),
    (SPECIAL, SPECIAL_NAMES),
    (NORM, ("norm", "layernorm", "rmsnorm", "ln_")),
    (COLWISE, ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", ".w1.", ".w3.")),
    (BIAS, (".bias",)),
    (ROWWISE, ("o_proj", "down_proj", ".w2.")),
)  # fmt: skip
"""In order. A pattern lies anywhere in the path (without a dot: inside one segment); ``=`` marks whole segments."""

FamilyRules = tuple[tuple[str, str], ...]
"""(substring of the whole path in lower case, role), in order: what a model family adds in front of the patterns."""


def role_of(path: str, family: FamilyRules = ()) -> str:
    """Role of a parameter by its full path in lower case."""
    for pattern, role in family:
        if pattern in path:
            return role
    for role, patterns in PATTERNS:
        if _any_in(patterns, path):
            return role
    return SKIP


def _any_in(patterns: Iterable[str], path: str) -> bool:
    return any(p[1:] in path.split(".") if p[0] == "=" else p in path for p in patterns)
