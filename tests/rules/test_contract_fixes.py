"""What the rules on contracts and missing injections propose, and what becomes of a plan by it."""

from typing import Any

import pytest
import yaml
from checking import check_plans, check_text, fixture_tree, mesh_topology

from hplint.fix.loop import Checked, fix_text
from hplint.lint.fitting import fitting_recipe
from hplint.plan.placement import Placement
from hplint.resolve.topology import Topology

RECIPES = "hyper_parallel.distributed.expert_parallel.recipes"


def topology_of(setting: dict[str, Any]) -> Topology:
    axes = {a: setting.get(a, 1) for a in ("cp", "tp")}
    return mesh_topology({"dp": 2, **axes}, **{k: v for k, v in setting.items() if k not in axes})


def fixed(text: str, model: str = "toy", unsafe: bool = True, suffix: str = ".yaml", **setting: Any) -> str:
    tree, topology = fixture_tree(model), topology_of(setting or {"tp": 2})

    def check(written: str) -> Checked:
        return check_plans(written, topology, tree, suffix)

    return fix_text(text, check, unsafe).text


def codes(text: str, model: str = "toy", **setting: Any) -> list[str]:
    found, _ = check_text(text, topology_of(setting or {"tp": 2}), fixture_tree(model))
    return [d.code for d in found]


def proposals(code: str, text: str, model: str = "toy", suffix: str = ".yaml", **setting: Any) -> list[str]:
    """Titles of what is proposed for the first finding of a code."""
    found, _ = check_text(text, topology_of(setting or {"tp": 2}), fixture_tree(model), suffix)
    return [p.title for p in next(d for d in found if d.code == code).proposals]


# Globs and entries without a contract


def test_a_glob_that_hits_boundaries_too_is_narrowed_to_them() -> None:
    text = "- match: 'model.layers.0*'\n  region_dispatch: false\n"
    assert proposals("HPL103", text) == [
        "narrow the glob to `model.layers.0.input_layernorm`, `model.layers.0.self_attn`, "
        "`model.layers.0.post_attention_layernorm` and `model.layers.0.mlp`",
        "draft a contract for 9 modules",
    ]


def test_all_entries_with_the_same_glob_are_narrowed_together() -> None:
    one = "- match: '*.mlp*'\n  region_dispatch: false\n"
    after = fixed(one + one)
    assert [e["match"] for e in yaml.safe_load(after)] == ["model.layers.*.mlp"] * 2
    assert codes(after) == []


def test_a_glob_without_any_boundary_is_drafted() -> None:
    text = "- match: '*.adapter'\n  region_dispatch: false\n"
    assert proposals("HPL103", text) == ["draft a contract for 3 modules"]
    assert codes(fixed(text)) == []


def test_a_leaf_may_also_mean_the_boundary_around_it() -> None:
    text = "- match: model.layers.0.mlp.up_proj\n  region_dispatch: false\n"
    assert proposals("HPL302", text) == [
        "draft a contract", "replace `model.layers.0.mlp.up_proj` by `model.layers.0.mlp`"
    ]  # fmt: skip


def test_a_sentinel_on_an_insert_is_drafted_or_removed() -> None:
    text = "- match: model.layers.0.adapter\n  params: {}\n  out_dst: none\n"
    assert proposals("HPL301", text) == ["draft a contract", "remove `out_dst`"]


# Parameters


def test_a_misspelt_parameter_is_not_told_as_dropped() -> None:
    text = (
        "- match: model.layers.0.mlp\n  params:\n    gate_proj.weight: {tp: shard(0)}\n"
        "    up_porj.weight: {tp: shard(0)}\n    down_proj.weight: {tp: shard(1)}\n"
    )  # fmt: skip
    assert codes(text) == ["HPL104"]


def test_the_other_dropped_parameters_are_told_all_the_same() -> None:
    text = "- match: model.layers.0.mlp\n  params:\n    gate_porj.weight: {tp: shard(0)}\n"
    found, _ = check_text(text, topology_of({"tp": 2}), fixture_tree("toy"))
    (message,) = [d.message for d in found if d.code == "HPL305"]
    assert "`up_proj.weight` and `down_proj.weight`" in message
    assert "gate_proj" not in message


def test_nothing_is_said_of_what_a_replaced_module_drops() -> None:
    text = (
        "- match: model.layers.0.mlp\n  module_type: toy_models.GatedMLP\n"
        "  replace_module: {_target_: fused_kernels.norm.fused_norm}\n"
        "  params: {gate_proj.weight: {tp: shard(0)}}\n"
    )  # fmt: skip
    assert "HPL305" not in codes(text)


def test_dropped_experts_get_back_what_was_derived_for_the_expert_mesh() -> None:
    text = "- match: '*.mlp'\n  params: {gate.weight: {tp: replicate}}\n"
    (entry, *_) = yaml.safe_load(fixed(text, "mixtral", tp=2, ep=2))
    assert entry["params"]["experts.gate_up_proj"] == {"ep": "shard(0)"}


def test_experts_that_nobody_declares_are_never_replicated_over_the_expert_mesh() -> None:
    (entry, *_) = yaml.safe_load(fixed("- match: '*.mlp'\n  params: {}\n", "mixtral", tp=2, ep=2))
    assert entry["params"]["experts.down_proj"] == {"ep": "shard(0)"}
    assert entry["params"]["gate.weight"] == {"tp": "replicate"}


def test_parameters_that_only_some_modules_have_go_into_entries_of_their_own() -> None:
    text = "- match: '*.mlp'\n  params: {}\n"
    entries = yaml.safe_load(fixed(text, "deepseek_v3", tp=2, ep=2))
    dense = next(e for e in entries if e["match"] == "model.layers.0.mlp")
    assert list(dense["params"]) == ["gate_proj.weight", "up_proj.weight", "down_proj.weight"]


def test_an_output_is_whole_once_no_parameter_is_cut() -> None:
    text = "- match: model.layers.0.mlp\n  params: {}\n- match: lm_head\n  params: none\n"
    mlp, head = yaml.safe_load(fixed(text))
    assert {p["tp"] for p in mlp["params"].values()} == {"replicate"}
    assert mlp["out_src"] == head["out_src"] == {"output": {"tp": "replicate"}}


def test_an_output_that_the_entry_wrote_is_left_to_it() -> None:
    text = "- match: model.layers.0.mlp\n  params: {}\n  out_src: {output: {tp: partial}}\n"
    assert "out_src: {output: {tp: partial}}" in fixed(text)


def test_a_bias_that_must_follow_its_weight_is_a_safe_fix() -> None:
    rest = "k_proj.weight: {tp: replicate}, k_proj.bias: {tp: replicate}, v_proj.weight: {tp: replicate}, "
    rest += "v_proj.bias: {tp: replicate}, o_proj.weight: {tp: replicate}, o_proj.bias: {tp: replicate}"
    for bias in ("q_proj.bias: {tp: replicate}, ", "q_proj.bias: {cp: replicate}, ", ""):
        text = f"- match: '*.self_attn'\n  params: {{q_proj.weight: {{tp: shard(0)}}, {bias}{rest}}}\n"
        assert "HPL308" in codes(text, "toy_bias")
        (entry,) = yaml.safe_load(fixed(text, "toy_bias", unsafe=False))
        assert entry["params"]["q_proj.bias"]["tp"] == "shard(0)"


def test_of_two_owners_the_later_declaration_goes_first() -> None:
    text = (
        "- match: model.layers.0.self_attn.q_proj\n  params: {weight: {tp: replicate}}\n  in_src: {}\n"
        "- match: model.layers.0\n  params: {self_attn.q_proj.weight: {tp: replicate}}\n"
    )  # fmt: skip
    assert proposals("HPL306", text)[0] in ("remove `self_attn.q_proj.weight`", "remove `weight`")
    assert "HPL306" not in codes(fixed(text))


def test_without_expert_parallelism_the_experts_are_replicated_as_a_whole() -> None:
    after = fixed("- match: model.norm\n  params: auto\n", "qwen3_moe", tp=2, ep=1)
    entry = yaml.safe_load(after)[-1]
    assert entry["match"] == "model.layers.*.mlp"
    assert {p["tp"] for p in entry["params"].values()} == {"replicate"}
    assert entry["out_src"] == {"output": {"tp": "replicate"}}
    assert codes(after, "qwen3_moe", tp=2, ep=1) == []


# Inputs and outputs


def test_a_missing_source_is_drafted_or_the_destination_cleared() -> None:
    text = "- match: model.layers.0.mlp\n  in_src: none\n"
    assert proposals("HPL304", text) == ["draft in_src", "add `in_dst: none`"]
    (entry,) = yaml.safe_load(fixed(text, tp=2, cp=2, sequence_parallel=True))[:1]
    assert entry["in_src"] == {"hidden_states": {"cp": "shard(1)", "tp": "shard(1)"}}


def test_an_input_that_one_side_lacks_is_laid_out_alike_there() -> None:
    text = (
        "- match: model.mixer\n  params: {}\n"
        "  in_src: {left: {tp: replicate}, right: {tp: shard(1)}}\n  in_dst: {left: {tp: replicate}}\n"
    )  # fmt: skip
    assert "in_dst: {left: {tp: replicate}, right: {tp: shard(1)}}" in fixed(text)


def test_an_output_with_no_near_name_is_left_alone() -> None:
    text = "- match: model.layers.0.mlp\n  out_dst: {weights: {tp: shard(1)}}\n"
    assert proposals("HPL313", text) == []


# What nobody injects


def test_attention_gets_a_wrapper_under_a_condition() -> None:
    (entry,) = yaml.safe_load(fixed("- match: model.norm\n  params: auto\n", cp=2))[1:]
    assert entry == {
        "match": "model.layers.*.self_attn", "when": "cp", "region_dispatch": False, "inner_target": "self",
        "inner_wrapper": "sdpa_hf",
    }  # fmt: skip


def test_a_python_plan_knows_no_conditions() -> None:
    text = (
        "from hyper_parallel.distributed import ModuleShardingSpec\n"
        'plan_overrides = {"model.norm": ModuleShardingSpec(params="auto")}\n'
    )
    topology = topology_of({"cp": 2})
    found, _ = check_text(text, topology, fixture_tree("toy"), ".py")
    (diagnostic,) = [d for d in found if d.code == "HPL410"]
    assert "when" not in repr(diagnostic.proposals)


def test_experts_get_the_factory_that_fits_each_class() -> None:
    tree = fixture_tree("mixtral")
    assert fitting_recipe(tree, "model.layers.0.mlp") == f"{RECIPES}.mixtral_ep_compute_fn"
    assert fitting_recipe(tree, "model.layers.0.self_attn") == ""
    tree = fixture_tree("deepseek_v3")
    assert fitting_recipe(tree, "model.layers.1.mlp") == f"{RECIPES}.deepseekv3_ep_compute_fn"
    assert fitting_recipe(tree, "model.layers.0.mlp") == ""
    tree = fixture_tree("qwen2_moe")
    assert fitting_recipe(tree, "model.layers.0.mlp") == f"{RECIPES}.qwen2moe_ep_compute_fn"
    tree = fixture_tree("qwen3_moe")
    assert fitting_recipe(tree, "model.layers.0.mlp").endswith(".qwen3moe_ep_compute_fn")


@pytest.mark.parametrize("model", ["mixtral", "qwen2_moe", "qwen3_moe", "deepseek_v3"])
def test_an_entry_for_the_experts_leaves_nothing_to_say(model: str) -> None:
    text = "- match: model.norm\n  params: auto\n"
    after = fixed(text, model, tp=2, ep=2)
    assert after != text
    assert [c for c in codes(after, model, tp=2, ep=2) if c != "HPL501"] == []


def test_a_condition_does_not_take_the_contract_along() -> None:
    wrapper = "  region_dispatch: false\n  inner_target: self\n  inner_wrapper: sdpa_hf\n"
    after = yaml.safe_load(fixed(f"- match: '*.self_attn'\n  out_dst: auto\n{wrapper}"))
    assert after[0] == {"match": "*.self_attn", "out_dst": "auto"}
    assert (after[1]["when"], after[1]["inner_wrapper"]) == ("cp", "sdpa_hf")


def test_placements_in_proposals_are_objects_so_that_every_dialect_spells_its_own() -> None:
    found, _ = check_text("- match: model.norm\n  params: {}\n", topology_of({"tp": 2}), fixture_tree("toy"))
    (change, *_) = next(d for d in found if d.code == "HPL307").proposals[0].changes
    assert isinstance(change.value["tp"], Placement)  # type: ignore[union-attr]
