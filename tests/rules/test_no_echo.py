"""One slip is one finding: what follows from it keeps quiet."""

import pytest
from checking import check_text, fixture_tree, mesh_topology


def codes(text: str, suffix: str = ".yaml", **flags: bool) -> list[str]:
    topology = mesh_topology({"dp": 2, "tp": 2}, **flags)
    return [d.code for d in check_text(text, topology, fixture_tree("toy"), suffix)[0]]


@pytest.mark.parametrize(
    "fields",
    [
        "in_src: {hiden_states: {tp: shard(1)}}",
        "in_src: {hiden_states: {tp: shard(1)}}\n  in_dst: {hidden_states: {tp: replicate}}",
        "in_src: {hidden_states: {tp: shard(1)}}\n  in_dst: {hiden_states: {tp: replicate}}",
        "in_src: {hidden_states: {tp: shard(1)}, xyz: {tp: shard(1)}}",
    ],
)
@pytest.mark.parametrize("module", ["model.layers.0.mlp", "model.layers.0"])
def test_a_misspelt_input_is_not_missed_on_the_other_side(fields: str, module: str) -> None:
    text = f"- match: {module}\n  {fields}\n"
    found, _ = check_text(text, mesh_topology({"dp": 2, "tp": 2}), fixture_tree("toy"))
    places = {d.span for d in found if d.code == "HPL105"}
    assert places and not [d for d in found if d.code == "HPL304" and d.span in places]


@pytest.mark.parametrize(
    ("match", "key"),
    [
        ("lm_head", "lm_head.weight"),
        ("lm_head", "model.lm_head.weight"),
        ("lm_head", "lm_head.wieght"),
    ],
)
def test_a_parameter_behind_the_name_of_its_module_is_not_dropped(match: str, key: str) -> None:
    assert codes(f"- match: {match}\n  params: {{{key}: {{tp: shard(0)}}}}\n") == ["HPL104"]


def test_a_parameter_behind_the_name_of_one_layer_is_meant_in_all_of_them() -> None:
    keys = "gate_proj.weight: {tp: shard(0)}, down_proj.weight: {tp: shard(1)}"
    text = f'- match: "*.mlp"\n  params: {{model.layers.0.mlp.up_proj.weight: {{tp: shard(0)}}, {keys}}}\n'
    assert codes(text) == ["HPL104"]


@pytest.mark.parametrize(
    ("field", "function"),
    [
        ("local_compute_fn", "wrap_attention"),
        ("replace_module", "wrap_attention"),
        ("replace_module", "undecorated_compute"),
    ],
)
def test_a_function_of_another_field_is_not_asked_for_what_that_hands_it(field: str, function: str) -> None:
    more = "module_type: toy_models.GatedMLP" if field == "replace_module" else "region_dispatch: false"
    found = codes(f"- match: model.layers.0.mlp\n  {more}\n  {field}: {{_target_: toy_kernels.{function}}}\n")
    assert "HPL504" in found and "HPL507" not in found
