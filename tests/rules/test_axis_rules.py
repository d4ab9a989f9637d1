"""Axes and placements: HPL201, 202, 204 to 208, 213."""

from typing import Any

import pytest
from checking import check_text, fixture_tree, mesh_topology

from hplint.lint.diagnostic import Diagnostic
from hplint.resolve.topology import Topology


def check(text: str, model: str | None = "toy", mesh: dict[str, int] | None = None, **flags: Any) -> list[Diagnostic]:
    topology = mesh_topology(mesh or {"dp": 2, "tp": 2}, **flags)
    return check_text(text, topology, fixture_tree(model) if model else None)[0]


def of(code: str, found: list[Diagnostic]) -> list[Diagnostic]:
    return [d for d in found if d.code == code]


def cut(d: Diagnostic) -> str:
    return d.source.cut(d.span)


@pytest.mark.parametrize(
    ("axis", "meant"),
    [("TP", "`tp`"), ("tp2", "`tp`"), ('"tp "', "`tp`"), ("dp_shrad", "`dp_shard`"), ("cpp", "`cp` or `pp`")],
)
def test_a_misspelt_axis_is_an_error_at_its_token_with_the_near_names(axis: str, meant: str) -> None:
    found = check(f"- match: model.norm\n  in_dst: {{hidden_states: {{{axis}: replicate}}}}\n")
    (d,) = of("HPL201", found)
    assert (cut(d).strip('"'), d.severity) == (axis.strip('"'), "error")
    assert d.help.startswith(f"did you mean {meant}?")


def test_an_axis_of_the_given_mesh_is_allowed() -> None:
    text = "- match: model.norm\n  in_dst: {hidden_states: {expert: replicate}}\n"
    assert of("HPL201", check(text, mesh={"dp": 2, "tp": 2, "expert": 2})) == []
    assert len(of("HPL201", check(text))) == 1


def test_axes_are_checked_without_a_model() -> None:
    text = "- match: model.norm\n  params: {weight: {tpp: shard(0), dp: shard(0)}}\n"
    assert {d.code for d in check(text, model=None)} == {"HPL201", "HPL202"}


def test_a_misspelt_axis_in_inner_out_src_is_a_warning() -> None:
    text = """
- match: model.layers.0.self_attn
  region_dispatch: false
  inner_target: o_proj
  inner_wrapper: {_target_: toy_kernels.wrap_attention}
  inner_out_src: {output: {tpp: replicate}}
"""
    (d,) = of("HPL201", check(text))
    assert (d.severity, cut(d)) == ("warning", "tpp")


def test_a_forgotten_axis_level_of_an_output_is_named() -> None:
    (d,) = of("HPL201", check("- match: model.norm\n  out_dst: {output: shard(1)}\n"))
    assert "`output: {tp: shard(1)}`" in d.help


def test_what_an_inactive_entry_writes_is_a_warning() -> None:
    text = "- match: model.norm\n  when: cp\n  in_dst: {hidden_states: {tpp: replicate, dp: replicate}}\n"
    found = check(text)
    assert {(d.code, d.severity) for d in found} == {("HPL201", "warning"), ("HPL202", "warning")}


def test_inactive_axes_are_told_once_each() -> None:
    text = """
- match: model.norm
  in_src: {hidden_states: {tp: replicate, cp: shard(1)}}
  in_dst: {hidden_states: {tp: replicate, cp: shard(1), pp: replicate}}
- match: model.layers.0.input_layernorm
  when: cp
  in_dst: {hidden_states: {cp: shard(1)}}
"""
    found = of("HPL204", check(text))
    assert [(cut(d), d.severity) for d in found] == [("cp", "info"), ("pp", "info")]
    assert "2 placements" in found[0].message


def test_axes_of_unknown_size_are_not_called_inactive() -> None:
    text = "- match: model.norm\n  in_src: {hidden_states: {tp: replicate, cp: shard(1)}}\n"
    assert check_text(text, Topology(), fixture_tree("toy"))[0] == []


def test_a_dim_that_a_parameter_lacks_is_an_error_where_its_axis_counts_and_a_warning_elsewhere() -> None:
    text = "- match: model.norm\n  params:\n    weight: {tp: shard(1)}\n    bias: {tp: replicate}\n"
    (d,) = of("HPL205", check(text))
    assert (cut(d), d.severity) == ("shard(1)", "error")
    (d,) = of("HPL205", check(text, mesh={"dp": 2, "tp": 1}))
    assert d.severity == "warning"


def test_a_negative_dim_counts_from_the_end() -> None:
    text = """
from hyper_parallel.distributed import ModuleShardingSpec, TP
from hyper_parallel.core.dtensor.placement_types import Shard, Replicate
plan = {"model.norm": ModuleShardingSpec(params={"weight": {TP: Shard(-1)}, "bias": {TP: Shard(-2)}})}
"""
    found = check_text(text, mesh_topology({"dp": 2, "tp": 2}), fixture_tree("toy"), ".py")[0]
    assert ["`bias`" in d.message for d in of("HPL205", found)] == [True]
    assert of("HPL206", found) == []


def test_an_indivisible_dim_is_told_with_the_sizes_that_would_work() -> None:
    text = """
- match: model.layers.*.mlp
  params:
    gate_proj.weight: {tp: shard(0)}
    up_proj.weight: {tp: replicate}
    down_proj.weight: {tp: replicate}
"""
    (d,) = of("HPL206", check(text, "toy_odd", {"dp": 2, "tp": 4}))
    assert (cut(d), len(d.modules)) == ("shard(0)", 3)
    assert "`gate_proj.weight` [90, 48] on dim 0" in d.message and "90 does not divide by 4" in d.message
    assert "90 divides by 1, 2, 3, 5, 6" in d.help


def test_one_derived_fault_of_many_layers_is_one_finding_at_the_plan() -> None:
    text = "plan_overrides:\n- match: model.norm\n  in_src: auto\n"
    (d,) = of("HPL206", check(text, "toy_odd", {"dp": 2, "tp": 4}))
    assert (cut(d), len(d.modules)) == ("plan_overrides", 3)
    for name in ("gate_proj.weight", "up_proj.weight", "down_proj.weight"):
        assert f"`{name}`" in d.message


def test_several_axes_on_one_dim_cut_it_by_their_product() -> None:
    text = """
- match: model.layers.0.adapter
  params: {weight: {tp: shard(0), cp: shard(0)}, scale: {tp: shard(0)}}
"""
    found = of("HPL206", check(text, "toy", {"dp": 2, "cp": 16, "tp": 8}))
    assert len(found) == 1 and "64 does not divide by 128" in found[0].message


def test_ep_cuts_the_experts_of_marked_boundaries_by_the_ep_size() -> None:
    text = """
- match: "*.mlp"
  params:
    gate.weight: {tp: replicate, ep: shard(1)}
    experts.gate_up_proj: {ep: shard(2), tp: shard(1)}
    experts.down_proj: {ep: shard(0)}
"""
    tree = fixture_tree("mixtral")
    shape = tree.parameters["model.layers.0.mlp.experts.gate_up_proj"].shape
    found = of("HPL206", check(text, "mixtral", {"dp": 2, "tp": 2}, ep=4, sequence_parallel=True))
    assert shape[2] % 4 == 0 and found == []
    found = of("HPL206", check(text, "mixtral", {"dp": 3, "tp": 2}, ep=3, sequence_parallel=True))
    assert [(cut(d), "`ep` (size 3)" in d.message) for d in found] == [("shard(2)", True), ("shard(0)", True)]


def test_divisibility_is_not_judged_without_sizes() -> None:
    text = "- match: model.layers.0.mlp\n  in_src: auto\n"
    assert of("HPL206", check_text(text, Topology(), fixture_tree("toy_odd"))[0]) == []


def test_a_partial_parameter_is_an_error_only_where_its_axis_may_be_active() -> None:
    text = "- match: model.norm\n  params: {weight: {tp: partial}, bias: {cp: partial}}\n"
    found = of("HPL207", check(text, model=None))
    assert [(cut(d), d.severity) for d in found] == [("partial", "error"), ("partial", "warning")]


def test_a_partial_destination_is_compared_with_its_source() -> None:
    text = """
- match: model.layers.0.mlp
  in_src: {hidden_states: {tp: partial}}
  in_dst: {hidden_states: {tp: partial}}
  out_src: {tp: replicate}
  out_dst: {tp: partial}
"""
    for model in ("toy", None):
        assert [d.field for d in of("HPL208", check(text, model))] == ["out_dst"]


def test_a_partial_destination_keeps_quiet_where_the_source_is_misspelt_or_cleared() -> None:
    text = """
- match: model.layers.0.mlp
  out_src: {tpp: partial}
  out_dst: {tp: partial}
- match: model.layers.1.mlp
  out_src: none
  out_dst: {tp: partial}
- match: model.layers.2.mlp
  out_src: {tp: partail}
  out_dst: {tp: partial}
"""
    assert of("HPL208", check(text)) == []


def test_a_parameter_cut_on_an_axis_of_fsdp_is_an_error_and_no_info() -> None:
    text = "- match: model.norm\n  params: {weight: {dp_shard: shard(0)}, bias: {cp: shard(0)}}\n"
    found = check(text)
    assert [(cut(d), d.severity) for d in of("HPL213", found)] == [("dp_shard", "error"), ("cp", "warning")]
    assert of("HPL204", found) == []


def test_experts_that_ep_does_not_divide_are_told_once() -> None:
    text = '- {match: "*.mlp", when: ep, region_dispatch: false, local_compute_fn: {_target_: toy_kernels.ep_mlp}}'
    codes = [d.code for d in check(text, "qwen2_moe_a2_7b", {"dp": 8}, ep=8)]
    assert codes.count("HPL802") == 1 and "HPL206" not in codes
