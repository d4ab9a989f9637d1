"""Which boundary lays out which parameter: HPL104, 306, 307, and the biases of HPL308, 309; HPL310."""

from dataclasses import replace
from typing import Any

from checking import check_text, engine, fixture_tree, mesh_topology

from hplint.front.read import read_document
from hplint.lint.diagnostic import Diagnostic
from hplint.model.tree import ModuleTree

MESH = {"dp": 2, "tp": 2}


def check(text: str, model: str | ModuleTree = "toy", mesh: dict[str, int] = MESH, **flags: Any) -> list[Diagnostic]:
    tree = fixture_tree(model) if isinstance(model, str) else model
    return check_text(text, mesh_topology(mesh, **flags), tree)[0]


def of(code: str, found: list[Diagnostic]) -> list[Diagnostic]:
    return [d for d in found if d.code == code]


def cut(d: Diagnostic) -> str:
    return d.source.cut(d.span)


def changed(name: str, **changes: Any) -> ModuleTree:
    return ModuleTree.from_json(fixture_tree(name).to_json() | changes)


REST = """
    k_proj.weight: {tp: shard(0)}
    v_proj.weight: {tp: shard(0)}
    o_proj.weight: {tp: shard(1)}
"""


def attention(first: str, match: str = "model.layers.*.self_attn") -> str:
    return f"- match: {match}\n  params:\n    {first}{REST}"


def test_a_misspelt_parameter_is_one_finding_for_all_layers_and_not_uncovered_too() -> None:
    found = check(attention("q_porj.weight: {tp: shard(0)}"))
    (d,) = of("HPL104", found)
    assert (cut(d), len(d.modules), d.severity) == ("q_porj.weight", 3, "error")
    assert "`q_proj.weight`" in d.help
    assert of("HPL307", found) == []


def test_a_key_without_its_last_part_and_a_key_from_further_above_are_understood() -> None:
    found = check(attention("q_proj: {tp: shard(0)}"))
    assert of("HPL104", found)[0].help == "did you mean `q_proj.weight`?" and of("HPL307", found) == []
    found = check(attention("self_attn.q_proj.weight: {tp: shard(0)}"))
    assert of("HPL104", found)[0].help == "did you mean `q_proj.weight`?" and of("HPL307", found) == []


def test_a_key_that_means_nothing_here_leaves_the_rest_uncovered() -> None:
    found = check("- match: lm_head\n  params: {o_proj.weight: {tp: replicate}}\n")
    assert {d.code for d in found if d.severity == "error"} == {"HPL104", "HPL307"}
    assert of("HPL104", found)[0].help.startswith("parameters here: `weight`")


def test_a_parameter_of_a_shared_module_is_found_by_its_further_name() -> None:
    data = fixture_tree("toy").to_json()
    tree = changed("toy", aliases={**data["aliases"], "model.layers.0.twin": "model.layers.1.adapter"})
    text = "- match: model.layers.0\n  params: {twin.weight: {tp: replicate}, twin.wieght: {tp: replicate}}\n"
    assert [cut(d) for d in of("HPL104", check(text, tree))] == ["twin.wieght"]


def test_one_expert_of_stacked_experts_can_no_longer_be_named() -> None:
    found = check(EXPERT_BY_EXPERT, unstacked(), {"dp": 2}, ep=2, sequence_parallel=True)
    (d,) = of("HPL104", found)
    assert cut(d) == "experts.0.up_proj.weight" and "stacked" in d.message
    assert "`experts.up_proj`" in d.help


EXPERT_BY_EXPERT = """
- match: "*.mlp"
  params:
    gate.weight: {tp: replicate}
    experts.0.up_proj.weight: {ep: shard(0)}
"""


def unstacked() -> ModuleTree:
    """mixtral with its experts one by one: a list of two MLPs in place of the batched weights."""
    data = fixture_tree("mixtral").to_json()
    base = {"class": -1, "buffers": {}, "ints": {}, "parameters": {}}
    linear = {**base, "parameters": {"weight": [[8, 8], "float32", True]}, "children": []}
    expert = {**base, "children": [[name, 0] for name in ("gate_proj", "up_proj", "down_proj")]}
    nodes = [linear, expert]  # In front, since a tree lists children before their parents.
    for node in data["nodes"]:
        listed = {**base, "children": [["0", 1], ["1", 1]]}
        moved = {**node, "children": [[name, number + len((linear, expert))] for name, number in node["children"]]}
        nodes.append(listed if "gate_up_proj" in node["parameters"] else moved)
    config = {**data["config"], "num_local_experts": 2, "num_experts": 2}
    return ModuleTree.from_json(data | {"nodes": nodes, "root": data["root"] + 2, "config": config})


def test_a_parameter_of_two_boundaries_is_told_where_it_was_written_last() -> None:
    text = """
- match: model.layers.*.self_attn.q_proj
  params: {weight: {tp: replicate}}
"""
    (d,) = of("HPL306", check(text))
    assert (cut(d), len(d.modules)) == ("weight", 3)
    assert "`q_proj.weight` at the boundary `self_attn` above" in d.message
    both = text + attention("q_proj.weight: {tp: shard(0)}")
    (d,) = of("HPL306", check(both))
    assert cut(d) == "q_proj.weight" and [d.source.cut(r.span) for r in d.related] == ["weight"]


def test_tied_parameters_are_not_owned_twice() -> None:
    tree = changed("toy", ties=[["model.embed_tokens.weight", "lm_head.weight"]])
    assert of("HPL306", check("- match: model.norm\n  in_src: auto\n", tree)) == []


def test_parameters_that_an_entry_left_out_are_told_together_at_its_params() -> None:
    found = check("- match: model.layers.*.mlp\n  params: {gate_proj.weight: {tp: shard(0)}}\n")
    (d,) = of("HPL307", found)
    assert (cut(d), len(d.modules), d.severity) == ("params", 3, "error")
    assert d.message.startswith("`up_proj.weight` and `down_proj.weight` are trainable")


def test_parameters_that_no_boundary_was_derived_for_are_told_at_the_plan() -> None:
    data = fixture_tree("toy").to_json()
    for node in data["nodes"]:
        if "scale" in node["parameters"]:
            node["parameters"]["scale"][2] = True
    tree = ModuleTree.from_json(data)
    (d,) = of("HPL307", check("plan_overrides:\n- match: model.norm\n  in_src: auto\n", tree))
    assert (cut(d), d.modules[0], len(d.modules)) == ("plan_overrides", "model.layers.0.adapter", 3)
    covered = "- match: '*.adapter'\n  params: {weight: {tp: replicate}, scale: {tp: replicate}}\n"
    assert of("HPL307", check(covered, tree)) == []
    # What the misspelt entry would have covered is its own business.
    assert of("HPL307", check(covered.replace("'*.adapter'", "model.layers.0.adaptre"), tree))[0].modules == (
        "model.layers.1.adapter",
        "model.layers.2.adapter",
    )


def test_nothing_is_uncovered_where_derivation_is_off_or_the_parameter_is_frozen() -> None:
    text = "- match: model.layers.*.mlp\n  params: {gate_proj.weight: {tp: shard(0)}}\n"
    assert of("HPL307", check(text, derive=False)) == []
    assert of("HPL307", check("- match: model.layers.0.adapter\n  params: {}\n")) == []


def test_tied_parameters_need_one_declaration() -> None:
    tree = changed("toy", ties=[["model.embed_tokens.weight", "lm_head.weight"]])
    assert of("HPL307", check("- match: lm_head\n  params: none\n", tree)) == []
    assert len(of("HPL307", check("- match: model.embed_tokens\n  params: none\n", tree))) == 1


def test_uncovered_parameters_are_a_warning_where_the_planner_tolerates_them() -> None:
    document = read_document("plan.yaml", b"- match: model.norm\n  params: none\n")
    plan = replace(document.plans[0], allow_uncovered_params=True)
    found, _ = engine().check(plan, fixture_tree("toy"), mesh_topology(MESH))
    assert [d.severity for d in of("HPL307", found)] == ["warning"]


def test_params_that_cannot_be_read_leave_nothing_uncovered() -> None:
    found = check("- match: model.norm\n  params: {weight: {tp: shrd(0)}}\n")
    assert of("HPL203", found) and of("HPL307", found) == []
    found = check("- match: model.norm\n  params: replicate\n")
    assert of("HPL303", found) and of("HPL307", found) == []


REPLACED = """
- match: ["model.layers.*.self_attn"]
  module_type: toy_models.Attention
  replace_module: {_target_: toy_kernels.swap}
  when: %s
- match: "*.self_attn"
  params: {linear_qkv.weight: {tp: replicate}, o_proj.weight: {tp: shard(1)}}
"""


def test_parameters_of_replaced_modules_are_unknown_to_the_tree() -> None:
    found = check(REPLACED % "null")
    assert of("HPL104", found) == [] and of("HPL307", found) == []
    found = check(REPLACED % "low_precision")
    assert len(of("HPL104", found)) == 1 and len(of("HPL307", found)) == 1


BIASED = """
- match: model.layers.0.self_attn
  params:
    q_proj.weight: {tp: shard(0)}
    q_proj.bias: {tp: shard(0)}
    k_proj.weight: {tp: shard(0)}
    k_proj.bias: {tp: shard(0)}
    v_proj.weight: {tp: replicate}
    v_proj.bias: {tp: replicate}
    o_proj.weight: {tp: shard(1)}
    o_proj.bias: {tp: replicate}
"""


def test_a_bias_follows_its_column_wise_weight() -> None:
    assert check(BIASED, "toy_bias") == []
    (d,) = of(
        "HPL308", check(BIASED.replace("q_proj.bias: {tp: shard(0)}", "q_proj.bias: {tp: replicate}"), "toy_bias")
    )
    assert cut(d) == "replicate" and "`q_proj.bias`" in d.message and len(d.related) == 1


def test_an_undeclared_bias_of_a_column_wise_weight_is_told_once() -> None:
    found = check(BIASED.replace("    k_proj.bias: {tp: shard(0)}\n", ""), "toy_bias")
    assert [cut(d) for d in of("HPL308", found)] == ["k_proj.weight"]
    assert of("HPL307", found) == []


def test_without_tp_a_bias_may_lie_as_it_likes_but_not_be_left_out() -> None:
    text = BIASED.replace("    k_proj.bias: {tp: shard(0)}\n", "")
    found = check(text, "toy_bias", {"dp": 2})
    assert of("HPL308", found) == [] and len(of("HPL307", found)) == 1


def test_a_bias_with_a_misspelt_axis_is_no_second_fault() -> None:
    found = check(BIASED.replace("q_proj.bias: {tp: shard(0)}", "q_proj.bias: {tpp: shard(0)}"), "toy_bias")
    assert of("HPL201", found) and of("HPL308", found) == []


def test_a_row_wise_bias_is_whole_and_has_one_output() -> None:
    (d,) = of(
        "HPL309", check(BIASED.replace("o_proj.bias: {tp: replicate}", "o_proj.bias: {tp: shard(0)}"), "toy_bias")
    )
    assert (cut(d), d.severity) == ("shard(0)", "error")
    outputs = "  out_src: {output: {tp: partial}, weights: {tp: replicate}}\n  out_dst: none\n"
    (d,) = of("HPL309", check(BIASED + outputs, "toy_bias"))
    assert cut(d) == "out_src" and "2 outputs" in d.message


def test_a_row_wise_bias_matters_only_where_an_output_is_partial() -> None:
    text = BIASED.replace("o_proj.bias: {tp: replicate}", "o_proj.bias: {tp: shard(0)}")
    assert of("HPL309", check(text + "  out_src: {tp: replicate}\n", "toy_bias")) == []


def test_a_row_wise_bias_of_another_class_than_linear_is_a_warning() -> None:
    data = fixture_tree("toy_bias").to_json()
    data["classes"] = [[n.replace("linear.Linear", "linear.Other"), b, f] for n, b, f in data["classes"]]
    found = of("HPL309", check(BIASED, ModuleTree.from_json(data)))
    assert [(d.severity, len(d.modules)) for d in found] == [("warning", 2), ("warning", 1)]


def test_fused_experts_cut_on_tp_are_one_finding_for_all_layers() -> None:
    text = 'plan_overrides:\n- match: "*.self_attn"\n  in_src: auto\n'
    (d,) = of("HPL310", check(text, "qwen3_moe", ep=1))
    assert (cut(d), len(d.modules)) == ("plan_overrides", 2)
    assert of("HPL310", check(text, "qwen3_moe", ep=2)) == []
    assert of("HPL310", check(text, "qwen3_moe", {"dp": 2}, ep=1)) == []


def test_fused_experts_are_not_judged_where_the_ep_size_is_unknown() -> None:
    assert of("HPL310", check('- match: "*.mlp"\n  in_src: auto\n', "qwen3_moe", ep=None)) == []


def test_an_unknown_parameter_is_a_warning_where_no_axis_is_active() -> None:
    text = "- match: model.norm\n  params: {weight: {tp: replicate}, wieght: {tp: replicate}}\n"
    severities = [of("HPL104", check(text, mesh=mesh))[0].severity for mesh in ({"dp": 8}, {"dp": 4, "cp": 2})]
    assert severities == ["warning", "error"]
