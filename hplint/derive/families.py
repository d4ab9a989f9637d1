"""Family rules: architectures whose parameter names need more than the common patterns."""

from collections.abc import Iterable, Mapping
from typing import Any

from hplint.derive.roles import (
    COLWISE,
    FUSED_GATE_UP,
    FUSED_QKV,
    REPLICATED,
    ROLES,
    ROWWISE,
    FamilyRules,
)
from hplint.errors import RequestError
from hplint.text.near import near
from hplint.text.wording import listing, quote

Rules = Mapping[str, Iterable[str]]

_SUFFIXES = ("forcausallm", "forconditionalgeneration", "forsequenceclassification", "forimagetexttotext")

_DEEPSEEK = {REPLICATED: ("q_a_proj", "kv_a_proj_with_mqa"), COLWISE: ("q_b_proj", "kv_b_proj")}
_KIMI_K26 = {**_DEEPSEEK, REPLICATED: (*_DEEPSEEK[REPLICATED], "vision_tower.", "mm_projector.")}
_QWEN3_5: dict[str, tuple[str, ...]] = {
    COLWISE: ("in_proj_z", "in_proj_b", "in_proj_a", "conv1d", "a_log", "dt_bias"),
    FUSED_QKV: ("in_proj_qkv",),
    ROWWISE: ("out_proj",),
}
_QWEN3_5_MOE = {REPLICATED: ("shared_expert_gate",), **_QWEN3_5}
_KIMI_LINEAR = {
    REPLICATED: ("f_a_proj", "g_a_proj"),
    COLWISE: ("q_conv1d", "k_conv1d", "v_conv1d", "a_log", "dt_bias", "f_b_proj", "b_proj", "g_proj", "g_b_proj"),
}

FAMILIES: Mapping[str, Rules] = {
    "deepseekv2": _DEEPSEEK,
    "deepseekv3": _DEEPSEEK,
    "jtdeepseekv3": _DEEPSEEK,
    "kimik26": _KIMI_K26,
    "kimik25": _KIMI_K26,
    "deepseekv32": {
        REPLICATED: ("linear_qkv", "indexer.wq_b", "indexer.wk", "indexer.weights_proj"),
        COLWISE: ("q_b_proj", "kv_b_proj"),
    },
    "qwen2moe": {REPLICATED: ("shared_expert_gate",)},
    "qwen3": {FUSED_GATE_UP: ("linear_fc1.weight",), ROWWISE: ("linear_fc2.weight",)},
    "qwen35": _QWEN3_5,
    "qwen35text": _QWEN3_5,
    "qwen35moe": _QWEN3_5_MOE,
    "qwen35moetext": _QWEN3_5_MOE,
    "qwen35textmoe": _QWEN3_5_MOE,
    "kimik3": _KIMI_LINEAR,
    "kimilinear": _KIMI_LINEAR,
}
"""Family (as :func:`family_key` spells it) -> role -> substrings of parameter paths."""


def family_key(name: str) -> str:
    """A family, architecture or class name without head suffix, case, ``_`` and ``-``."""
    key = name.lower().replace("_", "").replace("-", "")
    for suffix in _SUFFIXES:
        if key.endswith(suffix):
            return key[: -len(suffix)]
    return key


def family_of(config: Mapping[str, Any], class_name: str) -> str:
    """The family of a model: by its first architecture, else its model type, else its class."""
    architectures = config.get("architectures")
    if isinstance(architectures, list | tuple) and architectures and isinstance(architectures[0], str):
        return family_key(architectures[0])
    model_type = config.get("model_type")
    return family_key(model_type if isinstance(model_type, str) and model_type else class_name)


def rules_of(family: str, added: Mapping[str, Rules]) -> FamilyRules:
    """The rules of one family: those that the user added first, then the built-in ones."""
    own = (rules for name, rules in added.items() if family_key(name) == family)
    return tuple(
        (pattern.lower(), role)
        for rules in (*own, FAMILIES.get(family, {}))
        for role, patterns in rules.items()
        for pattern in patterns
    )


def check_families(added: Mapping[str, Any]) -> None:
    """Raise RequestError for user settings that are not family -> role -> [substrings]."""
    for family, rules in added.items():
        if not isinstance(rules, Mapping):
            raise RequestError(f'families.{family}: declare a table of roles, such as {{ colwise = ["q_b_proj"] }}')
        for role, patterns in rules.items():
            if role not in ROLES:
                close = near(str(role), ROLES)
                hint = f"did you mean {listing(close, 'or')}?" if close else f"allowed: {listing(ROLES, most=20)}"
                raise RequestError(f"families.{family}: {quote(role)} is not a role; {hint}")
            if isinstance(patterns, str) or not all(isinstance(p, str) and p for p in patterns):
                raise RequestError(f"families.{family}.{role}: declare a list of name parts")
