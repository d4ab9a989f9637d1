"""Inputs and outputs of boundaries: HPL105, 304, 313."""

import pytest
from checking import check_text, fixture_tree, mesh_topology

from hplint.lint.diagnostic import Diagnostic


def check(text: str, model: str = "toy", suffix: str = ".yaml") -> list[Diagnostic]:
    topology = mesh_topology({"dp": 2, "tp": 2}, sequence_parallel=True)
    return check_text(text, topology, fixture_tree(model), suffix)[0]


def of(code: str, found: list[Diagnostic]) -> list[Diagnostic]:
    return [d for d in found if d.code == code]


def cut(d: Diagnostic) -> str:
    return d.source.cut(d.span)


MIXER = """
- match: model.mixer
  params: {}
  in_src: {left: {tp: shard(1)}, right: {tp: shard(1)}}
  in_dst: {left: {tp: replicate}, right: {tp: replicate}}
"""


def test_an_unknown_one_of_several_inputs_is_an_error_told_once() -> None:
    assert check(MIXER) == []
    (d,) = of("HPL105", check(MIXER.replace("left", "lefd")))
    assert (cut(d), d.severity) == ("lefd", "error")
    assert "did you mean `left`?" in d.help
    assert [d.source.cut(r.span) for r in d.related] == ["lefd"]


def test_an_unknown_input_that_is_not_communicated_is_a_warning() -> None:
    text = MIXER.replace("left: {tp: shard(1)}", "lefd: {tp: replicate}").replace("left", "lefd")
    assert [d.severity for d in of("HPL105", check(text))] == ["warning"]


def test_a_single_unknown_input_is_a_warning() -> None:
    text = "- match: model.norm\n  in_src: {hidden: {tp: shard(1)}}\n  in_dst: {hidden: {tp: shard(1)}}\n"
    assert [(cut(d), d.severity) for d in of("HPL105", check(text))] == [("hidden", "warning")]


def test_the_name_that_derivation_uses_is_not_unknown() -> None:
    text = "- match: model.norm\n  in_src: {hidden_states: {tp: shard(1)}}\n  in_dst: {hidden_states: {tp: shard(1)}}\n"
    assert of("HPL105", check(text)) == []


def test_a_name_for_kwargs_is_unknown_only_when_it_is_near_another() -> None:
    text = """
- match: "*.self_attn"
  in_src: {hidden_states: {tp: shard(1)}, %s: {tp: shard(1)}}
  in_dst: {hidden_states: {tp: replicate}, %s: {tp: replicate}}
"""
    assert of("HPL105", check(text % ("position_ids", "position_ids"), "llama")) == []
    (d,) = of("HPL105", check(text % ("atention_mask", "atention_mask"), "llama"))
    assert (d.severity, len(d.modules)) == ("warning", 2)


def test_derived_names_are_never_reported() -> None:
    text = '- match: "*.mlp"\n  in_dst: {hidden_states: {tp: replicate}}\n'
    assert of("HPL105", check(text, "qwen3_moe")) == []


@pytest.mark.parametrize("cleared", ["none", "{}"])
def test_a_destination_without_any_source_is_an_error_where_the_source_was_cleared(cleared: str) -> None:
    (d,) = of("HPL304", check(f"- match: model.layers.*.mlp\n  in_src: {cleared}\n"))
    assert (cut(d), d.severity, len(d.modules)) == ("in_src", "error", 3)


def test_an_insert_without_a_source_is_an_error_at_its_destination() -> None:
    (d,) = of("HPL304", check("- match: model.layers.0.adapter\n  in_dst: {hidden_states: {tp: shard(1)}}\n"))
    assert (cut(d), d.severity) == ("in_dst", "error")


def test_an_input_on_one_side_only_is_a_warning_where_something_is_communicated() -> None:
    text = MIXER.replace(", right: {tp: replicate}", "")
    assert [(cut(d), d.severity) for d in of("HPL304", check(text))] == [("right", "warning")]
    assert of("HPL304", check(text.replace("right: {tp: shard(1)}", "right: {tp: replicate}"))) == []


def test_a_misspelt_input_is_not_one_sided_too() -> None:
    found = check(MIXER.replace("in_dst: {left", "in_dst: {lefd"))
    assert [cut(d) for d in of("HPL105", found)] == ["lefd"]
    assert [cut(d) for d in of("HPL304", found)] == []


def test_a_source_that_cannot_be_read_is_no_second_fault() -> None:
    found = check(
        "- match: model.norm\n  in_src: {hidden_states: {tp: shrd(1)}}\n  in_dst: {hidden_states: {tp: replicate}}\n"
    )
    assert {d.code for d in found} == {"HPL203"}


def test_an_unknown_destination_is_an_error_unless_it_is_replicated() -> None:
    text = "- match: model.layers.0.mlp\n  out_dst: {outptu: {tp: %s}}\n"
    (d,) = of("HPL313", check(text % "shard(1)"))
    assert (cut(d), d.severity, d.help) == ("outptu", "error", "did you mean `output`?")
    assert [d.severity for d in of("HPL313", check(text % "replicate"))] == ["warning"]


def test_several_outputs_are_named_by_their_source() -> None:
    text = (
        MIXER
        + "  out_src: {sum: {tp: replicate}, difference: {tp: replicate}}\n  out_dst: {difference: {tp: shard(1)}}\n"
    )
    assert of("HPL313", check(text)) == []


def python(fields: str) -> str:
    return f"""
from hyper_parallel.distributed import ModuleShardingSpec, Target, TP
from hyper_parallel.core.dtensor.placement_types import Shard, Replicate
plan = {{"model.mixer": ModuleShardingSpec(
    params={{}},
    in_src={{"left": {{TP: Replicate()}}, "right": {{TP: Replicate()}}}},
    in_dst={{"left": {{TP: Replicate()}}, "right": {{TP: Replicate()}}}},
    {fields}
)}}
"""


def test_out_names_that_the_source_lacks_stop_a_wrapper_on_the_boundary_itself() -> None:
    fields = """out_src={"sum": {TP: Replicate()}, "difference": {TP: Replicate()}},
    out_names=["sum", "diff"], region_dispatch=False, inner_target="self",
    inner_wrapper=Target("toy_kernels.wrap_attention"),"""
    found = of("HPL313", check(python(fields), suffix=".py"))
    assert [(cut(d).strip('"'), d.severity) for d in found] == [("diff", "error")]


def test_a_source_that_out_names_lack_stops_a_local_region() -> None:
    fields = """out_src={"sum": {TP: Replicate()}, "difference": {TP: Replicate()}},
    out_names=["sum"], region_dispatch=False, local_compute_fn=Target("toy_kernels.fast_mlp"),"""
    found = of("HPL313", check(python(fields), suffix=".py"))
    assert [cut(d).strip('"') for d in found] == ["difference"]
