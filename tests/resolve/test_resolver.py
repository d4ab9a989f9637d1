"""What entries do to boundaries, and what is told when they cannot."""

from dataclasses import replace
from typing import Any

import pytest
from checking import fixture_tree, mesh_topology
from trees import plan_of, tree_of

from hplint.derive.derive import derive_boundaries
from hplint.plan.fault import Fault
from hplint.plan.plan import Plan
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.resolver import resolve
from hplint.resolve.show import to_json
from hplint.resolve.topology import Topology

NOTHING = "plan_overrides: []"
MESH = mesh_topology({"dp": 2, "tp": 2}, sequence_parallel=True)


def resolved(
    text: str, model: str = "toy", topology: Topology = MESH, include_inactive: bool = False
) -> tuple[ResolvedPlan, dict[str, Any], Plan]:
    tree, plan = fixture_tree(model), plan_of(text)
    found = resolve(plan, tree, topology, derive_boundaries(tree, topology), include_inactive)
    return found, to_json(found, tree, topology, plan)["boundaries"], plan


def cut(plan: Plan, fault: Fault) -> str:
    return plan.source.cut(fault.span)


def test_equal_matches_fold_field_by_field_into_the_place_of_the_first() -> None:
    text = """
    - {match: model.layers.0.mlp, out_dst: none}
    - {match: "*.mlp", out_dst: {tp: replicate}}
    - {match: model.layers.0.mlp, out_dst: auto, in_src: none}
    """
    shown = resolved(text)[1]["model.layers.0.mlp"]
    assert shown["out_dst"] == {"output": {"tp": "replicate"}}
    assert shown["in_src"] == {}


def test_a_later_entry_wins_whether_it_is_a_glob_or_exact() -> None:
    text = """
    - {match: model.layers.0.mlp, out_dst: none}
    - {match: "*.mlp", out_dst: {tp: replicate}}
    """
    assert resolved(text)[1]["model.layers.0.mlp"]["out_dst"] == {"output": {"tp": "replicate"}}


def test_a_python_key_written_twice_keeps_its_place_and_loses_its_value() -> None:
    text = """
    - {match: model.layers.0.mlp, out_dst: none, in_src: none}
    - {match: "*.mlp", out_dst: {tp: replicate}}
    - {match: model.layers.0.mlp, in_dst: none}
    """
    tree, plan = fixture_tree("toy"), replace(plan_of(text), dialect="python")
    boundary = resolve(plan, tree, MESH, derive_boundaries(tree, MESH)).boundaries["model.layers.0.mlp"]
    assert (boundary.in_dst, boundary.in_src) != ({}, {})
    assert boundary.in_dst == {}
    assert boundary.out_dst is not None


def test_none_empties_inputs_and_unsets_outputs_while_null_and_auto_inherit() -> None:
    text = """
    - match: model.layers.0.mlp
      in_src: none
      out_src: none
      in_dst: null
      out_dst: auto
    """
    derived, shown = resolved(NOTHING)[1]["model.layers.0.mlp"], resolved(text)[1]["model.layers.0.mlp"]
    assert (shown["in_src"], shown["out_src"]) == ({}, None)
    assert (shown["in_dst"], shown["out_dst"]) == (derived["in_dst"], derived["out_dst"])


def test_an_empty_mapping_replaces_and_stays_apart_from_unset() -> None:
    assert resolved("- {match: model.norm, out_src: {}}")[1]["model.norm"]["out_src"] == {}


def test_fields_are_replaced_whole() -> None:
    text = "- {match: model.layers.0.mlp, params: {gate_proj.weight: {tp: replicate}}}"
    assert resolved(text)[1]["model.layers.0.mlp"]["params"] == {"gate_proj.weight": {"tp": "replicate"}}


def test_a_bare_output_layout_is_that_of_output() -> None:
    shown = resolved("- {match: model.norm, out_src: {tp: partial}}")[1]["model.norm"]
    assert shown["out_src"] == {"output": {"tp": "partial"}}


def test_a_glob_with_a_contract_merges_into_boundaries_and_creates_the_others() -> None:
    found, shown, _ = resolved('- {match: "model.layers.0*", out_dst: {tp: replicate}}')
    hits = found.hits[0]
    assert "model.layers.0.mlp" in hits.merged
    assert {"model.layers.0", "model.layers.0.adapter", "model.layers.0.mlp.up_proj"} <= set(hits.inserted)
    assert shown["model.layers.0.mlp"]["mode"] == "merged"
    assert shown["model.layers.0.adapter"]["mode"] == "inserted"
    assert shown["model.layers.0.adapter"]["params"] == {}


def test_a_boundary_that_an_entry_created_is_one_that_later_entries_merge_into() -> None:
    text = """
    - {match: model.layers.0.adapter, params: {}, out_dst: {tp: replicate}}
    - {match: "*.0.adapter", region_dispatch: false, out_dst: none, in_src: auto}
    """
    found, shown, _ = resolved(text)
    assert found.faults == ()
    assert (shown["model.layers.0.adapter"]["mode"], shown["model.layers.0.adapter"]["out_dst"]) == ("merged", None)


def test_the_root_can_be_matched_by_a_star() -> None:
    assert "" in resolved('- {match: "*", params: {}}')[0].boundaries


def test_an_inactive_entry_leaves_no_trace_unless_it_is_asked_for() -> None:
    text = '- {match: "*.mlp", when: cp, out_dst: none}\n- {match: nowhere, when: ep, out_dst: none}\n'
    found, shown, _ = resolved(text)
    assert (found.hits, found.faults) == ({}, ())
    assert shown["model.layers.0.mlp"]["out_dst"] is not None
    every, _, _ = resolved(text, topology=MESH.activated(frozenset({"cp", "ep"})), include_inactive=True)
    assert every.boundaries["model.layers.0.mlp"].out_dst is None
    assert [f.rule for f in every.faults] == ["unknown-module"]


def test_equal_matches_of_which_one_is_inactive_do_not_fold() -> None:
    text = """
    - {match: model.layers.0.mlp, when: cp, out_dst: none}
    - {match: "*.mlp", out_dst: {tp: replicate}}
    - {match: model.layers.0.mlp, in_src: none}
    """
    found, shown, _ = resolved(text)
    assert shown["model.layers.0.mlp"]["out_dst"] == {"output": {"tp": "replicate"}}
    assert sorted(found.hits) == [1, 2]


def test_an_entry_that_only_replaces_modules_is_not_the_sharding_pass_business() -> None:
    text = """
    - match: nowhere.*
      replace_module: {_target_: zoo.make}
      module_type: zoo.Block
      tp_divide_attrs: [num_heads]
    """
    found, _, _ = resolved(text)
    assert (found.faults, found.hits) == ((), {})


def test_derived_boundaries_are_never_changed() -> None:
    tree = fixture_tree("toy_bias")
    derived = derive_boundaries(tree, MESH)
    plan = plan_of('- {match: "*", params: {}, in_src: {}, region_dispatch: false}')
    resolve(plan, tree, MESH, derived)
    assert derived == derive_boundaries(tree, MESH)


def test_an_unknown_match_is_told_at_each_of_its_places_and_set_aside() -> None:
    text = "- {match: model.layers.0.mpl, in_src: none}\n- {match: model.layers.0.mpl, in_dst: none}\n"
    found, _, plan = resolved(text)
    assert [(f.rule, cut(plan, f), f.entry) for f in found.faults] == [
        ("unknown-module", "model.layers.0.mpl", 0),
        ("unknown-module", "model.layers.0.mpl", 1),
    ]
    assert found.set_aside[0].modules == ("model.layers.0.mlp",)
    assert found.faults[0].data["near"] == ("model.layers.0.mlp",)


def test_a_merge_only_glob_still_merges_and_sets_the_rest_aside() -> None:
    found, shown, plan = resolved('- {match: "model.layers.0.*", region_dispatch: false}')
    (fault,) = found.faults
    assert (fault.rule, cut(plan, fault)) == ("merge-only-glob", '"model.layers.0.*"')
    assert "model.layers.0.adapter" in fault.data["modules"]
    assert "model.layers.0.mlp" not in fault.data["modules"]
    assert shown["model.layers.0.mlp"]["region_dispatch"] is False
    assert found.set_aside[0].modules == fault.data["modules"]
    assert "model.layers.0.adapter" not in found.boundaries


def test_a_sentinel_counts_as_no_contract_for_a_glob() -> None:
    found, _, _ = resolved('- {match: "*.adapter", params: auto}')
    assert [f.rule for f in found.faults] == ["merge-only-glob"]


def test_sentinels_on_a_created_boundary_are_told_one_by_one_and_leave_the_fields_unknown() -> None:
    found, _, plan = resolved("- {match: model.mixer, params: {}, in_src: auto, out_dst: none}")
    assert [(f.rule, cut(plan, f), f.module) for f in found.faults] == [
        ("sentinel-on-insert", "auto", "model.mixer"),
        ("sentinel-on-insert", "none", "model.mixer"),
    ]
    assert found.boundaries["model.mixer"].broken == {"in_src", "out_dst"}


def test_a_created_boundary_without_any_layout_is_refused_and_set_aside() -> None:
    found, _, _ = resolved("- {match: model.mixer, region_dispatch: false}")
    assert [(f.rule, f.module) for f in found.faults] == [("missing-contract", "model.mixer")]
    assert found.set_aside[0].modules == ("model.mixer",)
    assert "model.mixer" not in found.boundaries


def test_dropped_parameters_are_listed_for_each_module() -> None:
    found, _, plan = resolved('- {match: "*.mlp", params: {up_proj.weight: {tp: shard(0)}}}')
    assert [(f.rule, f.module, cut(plan, f)) for f in found.faults] == [
        ("dropped-parameters", f"model.layers.{i}.mlp", "params") for i in range(3)
    ]
    assert found.faults[0].data["dropped"] == ("gate_proj.weight", "down_proj.weight")


def test_emptying_the_parameters_is_no_slip() -> None:
    assert resolved("- {match: model.norm, params: {}}\n- {match: lm_head, params: none}")[0].faults == ()


def test_a_field_that_cannot_be_read_is_marked_until_an_entry_writes_it_anew() -> None:
    text = "- {match: model.norm, in_src: 5, region_dispatch: 3}\n"
    found, _, _ = resolved(text)
    assert found.boundaries["model.norm"].broken == {"in_src", "region_dispatch"}
    assert found.boundaries["model.norm"].in_src
    again, _, _ = resolved(text + '- {match: "*.norm", in_src: {}, region_dispatch: true}')
    assert again.boundaries["model.norm"].broken == set()


def test_a_half_readable_field_keeps_what_was_read_and_is_marked() -> None:
    text = "- {match: model.norm, params: {weight: {tp: replicate}, bias: shard(0)}}"
    found, _, _ = resolved(text)
    assert found.faults == ()
    assert list(found.boundaries["model.norm"].params or {}) == ["weight"]
    assert found.boundaries["model.norm"].broken == {"params"}


def test_an_unreadable_contract_does_not_make_a_glob_merge_only() -> None:
    found, _, _ = resolved('- {match: "*.adapter", params: 5}')
    assert found.faults == ()
    assert found.boundaries["model.layers.0.adapter"].broken == {"params"}


def test_every_value_that_an_entry_set_has_its_line() -> None:
    text = "- match: model.norm\n  in_src: none\n- match: '*.norm'\n  region_dispatch: false\n"
    found, shown, _ = resolved(text)
    assert shown["model.norm"]["origin"] == {
        "in_src": {"path": "plan.yaml", "line": 2},
        "region_dispatch": {"path": "plan.yaml", "line": 4},
    }
    assert [e.index for e in found.boundaries["model.norm"].touched] == [0, 1]


def test_an_alias_of_a_shared_module_is_not_a_name() -> None:
    tree = tree_of(["model.embed", "head"], aliases={"head.embed": "model.embed"})
    found = resolve(plan_of("- {match: head.embed, params: {}}"), tree, MESH, {})
    (fault,) = found.faults
    assert (fault.rule, fault.data["alias"]) == ("unknown-module", "model.embed")
    assert resolve(plan_of('- {match: "head.*", params: {}}'), tree, MESH, {}).faults[0].rule == "glob-matches-nothing"


@pytest.mark.parametrize(
    ("match", "problem", "near"),
    [
        ("model.layers.0.mpl", "spelling", ("model.layers.0.mlp",)),
        ("modle.layers.0.mpl", "spelling", ("model.layers.0.mlp",)),
        ("layers.0.mlp", "prefix", ("model.layers.0.mlp",)),
        ("layers.0.mpl", "spelling", ("model.layers.0.mlp",)),
        ("mlp", "prefix", ("model.layers.0.mlp", "model.layers.1.mlp", "model.layers.2.mlp")),
        ("module.model.norm", "extra-prefix", ("model.norm",)),
        ("model.norm.weight", "parameter", ("model.norm",)),
        ("model.layers.3.mlp", "number", ()),
        ("zoo.lion", "spelling", ()),
    ],
)
def test_what_a_wrong_name_meant(match: str, problem: str, near: tuple[str, ...]) -> None:
    (fault,) = resolved(f"- {{match: {match}, out_dst: none}}")[0].faults
    assert (fault.data["problem"], fault.data["near"]) == (problem, near)
    if problem == "number":
        assert (fault.data["parent"], fault.data["children"]) == ("model.layers", ("0", "1", "2"))


def test_head_counts_divide_by_themselves_only_where_tp_cuts_the_heads() -> None:
    assert resolved(NOTHING)[1]["model.layers.0.self_attn"]["auto_divided"] == ["num_heads"]
    assert resolved(NOTHING)[1]["model.layers.0.mlp"]["auto_divided"] == []
    whole = "- {match: '*.self_attn', params: {q_proj.weight: {tp: replicate}}}"
    assert resolved(whole)[1]["model.layers.0.self_attn"]["auto_divided"] == []
    one = resolved(NOTHING, topology=mesh_topology({"dp": 2}))[1]
    assert one["model.layers.0.self_attn"]["auto_divided"] == []


@pytest.mark.parametrize(
    ("text", "deferred"),
    [
        (NOTHING, ["o_proj.bias"]),
        ("- {match: '*.self_attn', out_src: {tp: shard(1)}}", []),
        ("- {match: '*.self_attn', out_src: none}", []),
        ("- {match: '*.self_attn', params: {o_proj.weight: {tp: shard(1)}}}", ["o_proj.bias"]),
        ("- {match: '*.self_attn', params: {o_proj.weight: {tp: shard(0)}}}", []),
        ("- {match: '*.self_attn', params: {o_proj.weight: {tp: shard(1)}, o_proj.bias: {tp: shard(0)}}}", []),
    ],
)
def test_a_row_wise_bias_waits_for_the_sum(text: str, deferred: list[str]) -> None:
    assert resolved(text, "toy_bias")[1]["model.layers.0.self_attn"]["deferred_biases"] == deferred


def test_the_bias_of_a_boundary_that_is_the_linear_layer_itself_waits_too() -> None:
    text = """
    - match: model.layers.0.self_attn.o_proj
      params: {weight: {tp: shard(1)}, bias: {tp: replicate}}
      out_src: {tp: partial}
    """
    assert resolved(text, "toy_bias")[1]["model.layers.0.self_attn.o_proj"]["deferred_biases"] == ["bias"]


def test_tied_embeddings_are_a_pair() -> None:
    found, _, _ = resolved(NOTHING, "gemma2")
    assert found.tied == (("model.embed_tokens.weight", "lm_head.weight"),)
    assert resolved(NOTHING, "llama")[0].tied == ()


def test_special_parameters_name_their_handler() -> None:
    tree = tree_of(["layers.0.mixer.gated_delta"])
    assert resolve(plan_of(NOTHING), tree, MESH, {}).special == {"layers.0.mixer.gated_delta.weight": "gated_delta"}


@pytest.mark.parametrize(
    ("sizes", "ep", "problems"),
    [
        ({"dp": 4}, 4, []),
        ({"dp": 2}, 4, ["region"]),
        ({"dp": 3, "tp": 2}, 4, ["region"]),
        ({"dp": 16}, 16, ["experts"]),
        ({"dp": 8, "pp": 2}, 4, ["pipeline"]),
        ({"dp": 4}, 1, []),
        ({"dp": 1, "ep": 16}, 16, ["experts"]),
    ],
)
def test_the_expert_region_must_fit_mesh_and_model(sizes: dict[str, int], ep: int, problems: list[str]) -> None:
    found, _, _ = resolved(NOTHING, "qwen2_moe", mesh_topology(sizes, ep=ep))
    assert [f.data["problem"] for f in found.faults] == problems


def test_without_a_mesh_the_size_of_the_region_is_not_guessed() -> None:
    assert resolved(NOTHING, "qwen2_moe", Topology(tp=1, cp=1, ep=4))[0].faults == ()


def test_expert_parallelism_that_is_only_assumed_is_not_reported() -> None:
    topology = mesh_topology({"dp": 3}).activated(frozenset({"ep"}))
    found, shown, _ = resolved("- {match: '*.mlp', when: ep, region_dispatch: false}", "qwen2_moe", topology, True)
    assert found.faults == ()
    assert shown["model.layers.0.mlp"]["ep_size"] == 1


def test_only_ep_cuts_marked_experts_and_never_the_rest() -> None:
    from hplint.resolve.layouts import cutting_axes, parameter_axes

    topology = mesh_topology({"dp": 2, "tp": 2}, ep=2)
    boundary = resolved(NOTHING, "qwen2_moe", topology)[0].boundaries["model.layers.0.mlp"]
    assert parameter_axes(boundary, topology) == ("tp", "ep")
    assert cutting_axes(boundary, "experts.down_proj", topology) == ("ep",)
    assert cutting_axes(boundary, "gate.weight", topology) == ("tp",)
