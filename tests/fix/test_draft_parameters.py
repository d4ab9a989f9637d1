"""Parameters of drafts: by role, as far as dims divide, and none that another boundary owns."""

from typing import Any

import pytest
import yaml
from drafting import complaints, contract, drafted

OFF: dict[str, Any] = {"tp": 2, "derive": False}


def cuts(match: str, model: str, **setting: Any) -> dict[str, str]:
    """Parameter -> placement on tp."""
    return {path: layout["tp"] for path, layout in contract(match, model, **setting)["params"].items()}


def test_parameters_are_cut_by_their_role() -> None:
    assert cuts("model.layers.0.self_attn", "deepseek_v3", **OFF) == {
        "q_a_proj.weight": "replicate",
        "q_b_proj.weight": "shard(0)",
        "kv_a_proj_with_mqa.weight": "replicate",
        "kv_b_proj.weight": "shard(0)",
        "o_proj.weight": "shard(1)",
        "q_a_layernorm.weight": "replicate",
        "kv_a_layernorm.weight": "replicate",
    }
    assert cuts("model.embed_tokens", "toy", **OFF) == {"weight": "shard(0)"}
    assert cuts("lm_head", "toy", **OFF) == {"weight": "shard(0)"}
    assert cuts("model.norm", "toy", **OFF) == {"weight": "replicate", "bias": "replicate"}
    assert cuts("model.layers.0.adapter", "toy", tp=2) == {"weight": "replicate", "scale": "replicate"}


def test_biases_follow_their_weights() -> None:
    found = cuts("model.layers.0.self_attn", "toy_bias", **OFF)
    assert (found["q_proj.bias"], found["o_proj.bias"]) == ("shard(0)", "replicate")
    assert cuts("model.layers.0.self_attn.k_proj", "toy_bias", **OFF) == {"weight": "shard(0)", "bias": "shard(0)"}
    assert cuts("model.layers.0.self_attn.o_proj", "toy_bias", **OFF) == {"weight": "shard(1)", "bias": "replicate"}


def test_all_active_axes_are_named() -> None:
    layouts = contract("model.layers.0.mlp", "toy", cp=2, **OFF)["params"]
    assert layouts["up_proj.weight"] == {"cp": "replicate", "tp": "shard(0)"}


@pytest.mark.parametrize(
    ("match", "tp", "why"),
    [("model.layers.0.mlp", 4, "90 features"), ("model.layers.0.self_attn", 4, "6 heads"), ("lm_head", 3, "128 rows")],
)
def test_what_does_not_divide_is_replicated_with_all_of_its_region(match: str, tp: int, why: str) -> None:
    found = contract(match, "toy_odd", tp=tp, derive=False)
    assert {p["tp"] for p in found["params"].values()} == {"replicate"}, why
    assert found["out_src"] == {"output": {"tp": "replicate"}}


def test_key_and_value_heads_of_the_configuration_count() -> None:
    assert set(cuts("model.layers.0.self_attn", "llama", **OFF).values()) == {"shard(0)", "shard(1)"}
    assert set(cuts("model.layers.0.self_attn", "llama", tp=8, derive=False).values()) == {"replicate"}


@pytest.mark.parametrize("model", ["mixtral", "qwen3_moe", "deepseek_v3", "qwen2_moe"])
def test_fused_experts_are_never_cut_on_tp(model: str) -> None:
    text = drafted("- match: model.layers.1.mlp\n", model, ep=2, **OFF)
    (entry,) = yaml.safe_load(text)
    assert {p["tp"] for p in entry["params"].values()} == {"replicate"}
    assert not complaints(text, model, ep=2, **OFF)


def test_parameters_that_other_boundaries_own_are_left_to_them() -> None:
    assert contract("model.layers.0.mlp.up_proj", "toy", tp=2)["params"] == {}
    assert list(contract("model.layers.0", "toy", tp=2)["params"]) == ["adapter.weight", "adapter.scale"]
    assert contract("model.layers.0", "mixtral", tp=2, ep=2)["params"] == {}


def test_parameters_that_an_entry_dropped_are_taken_up_again() -> None:
    text = (
        "- match: model.layers.0.mlp\n  params: {gate_proj.weight: {tp: shard(0)}, down_proj.weight: {tp: shard(1)}}\n"
    )
    text += "- match: model.layers.0\n"
    entry = yaml.safe_load(drafted(text, "toy", tp=2))[-1]
    assert "mlp.up_proj.weight" in entry["params"]


def test_of_nested_modules_the_one_that_derivation_would_choose_owns_the_parameters() -> None:
    from checking import fixture_tree

    below = [f for f in fixture_tree("toy").modules if f.startswith("model.layers.")]
    text = drafted("- match: model.layers.*\n  region_dispatch: false\n", "toy", below, **OFF)
    entries = {e["match"]: e for e in yaml.safe_load(text)}
    assert list(entries["*.mlp"]["params"] if "*.mlp" in entries else entries["model.layers.*.mlp"]["params"]) == [
        "gate_proj.weight", "up_proj.weight", "down_proj.weight"
    ]  # fmt: skip
    assert entries["model.layers.*.mlp.up_proj"]["params"] == {}
    assert not complaints(text, "toy", **OFF)


def test_a_tied_weight_is_declared_under_its_first_name_alone() -> None:
    assert contract("lm_head", "gemma2", **OFF)["params"] == {}
    assert cuts("model.embed_tokens", "gemma2", **OFF) == {"weight": "shard(0)"}
