"""Inputs and outputs of drafts: their names, and how they continue what lies around."""

import pytest
from drafting import complaints, contract, drafted

WHOLE, SEQUENCE = {"tp": "replicate"}, {"tp": "shard(1)"}
BOTH = {"cp": "shard(1)", "tp": "shard(1)"}


@pytest.mark.parametrize(
    ("setting", "layout"),
    [
        ({"tp": 2}, WHOLE),
        ({"tp": 2, "sequence_parallel": True}, SEQUENCE),
        ({"tp": 2, "cp": 2}, {"cp": "shard(1)", "tp": "replicate"}),
        ({"tp": 2, "cp": 2, "sequence_parallel": True}, BOTH),
        ({"cp": 2, "sequence_parallel": True}, {"cp": "shard(1)"}),
    ],
)
@pytest.mark.parametrize("derive", [True, False])
def test_hidden_states_stay_as_the_neighbours_have_them(
    setting: dict[str, int], layout: dict[str, str], derive: bool
) -> None:
    found = contract("model.layers.0.adapter", "toy", **setting, derive=derive)
    assert found["in_src"] == found["in_dst"] == {"hidden_states": layout}
    assert found["out_src"] == found["out_dst"] == {"output": layout}


def test_layouts_that_the_plan_gave_a_neighbour_are_continued() -> None:
    text = (
        "- match: model.layers.0.mlp\n"
        "  out_dst: {output: {tp: shard(1)}}\n"
        "- match: model.layers.0.adapter\n"
    )  # fmt: skip
    assert "in_src: {hidden_states: {tp: shard(1)}}" in drafted(text, "toy", tp=2)


def test_a_neighbour_that_forgot_the_context_axis_is_not_followed() -> None:
    text = (
        "- match: model.layers.0.mlp\n"
        "  out_dst: {output: {tp: replicate}}\n"
        "- match: model.layers.0.adapter\n"
    )  # fmt: skip
    assert "in_src: {hidden_states: {cp: shard(1), tp: shard(1)}}" in drafted(
        text, "toy", tp=2, cp=2, sequence_parallel=True
    )


def test_several_outputs_follow_the_order_in_which_the_forward_returns_them() -> None:
    found = contract("model.mixer", "toy", tp=2, sequence_parallel=True)
    assert found["in_src"] == {"left": SEQUENCE, "right": SEQUENCE}
    assert list(found["out_src"]) == list(found["out_dst"]) == ["output_0", "output_1"]


@pytest.mark.parametrize(
    ("match", "model", "names"),
    [
        ("model.layers.0.mlp.up_proj", "toy", ["input"]),
        ("model.layers.0", "mixtral", ["hidden_states"]),
        ("model.layers.0.mlp.experts", "mixtral", ["hidden_states"]),
        ("model.rotary_emb", "llama", ["x"]),
        ("model", "llama", ["input_ids"]),
    ],
)
def test_inputs_are_named_as_the_forward_names_them(match: str, model: str, names: list[str]) -> None:
    assert list(contract(match, model, tp=2)["in_src"]) == names


@pytest.mark.parametrize(
    ("match", "name"),
    [
        ("model.layers.0.mlp", "x"), ("model.layers.1.mlp", "hidden_states"), ("model.embed_tokens", "input"),
        ("lm_head", "input"), ("model.norm", "hidden_states"),
    ],
)  # fmt: skip
def test_templates_take_the_forwards_names_too(match: str, name: str) -> None:
    assert list(contract(match, "deepseek_v3", tp=2, derive=False)["in_dst"]) == [name]


def test_a_container_without_a_forward_declares_parameters_alone() -> None:
    assert contract("model.layers", "mixtral", tp=2, ep=2) == {"params": {}}


def test_token_ids_are_never_cut_along_the_sequence_by_tp() -> None:
    found = contract("model.embed_tokens", "toy", tp=2, cp=2, sequence_parallel=True, derive=False)
    ids = {"cp": "shard(1)", "tp": "replicate"}
    assert found["in_src"] == found["in_dst"] == {"input": ids}
    assert (found["out_src"], found["out_dst"]) == (
        {"output": {"cp": "shard(1)", "tp": "partial"}}, {"output": BOTH}
    )  # fmt: skip


def test_a_layer_inside_a_region_hands_on_what_it_finds_there() -> None:
    column = contract("model.layers.0.mlp.up_proj", "toy", tp=2, sequence_parallel=True)
    assert column["in_src"] == column["in_dst"] == {"input": WHOLE}
    assert column["out_src"] == column["out_dst"] == {"output": {"tp": "shard(2)"}}
    row = contract("model.layers.0.mlp.down_proj", "toy", tp=2, sequence_parallel=True)
    assert row["in_src"] == row["in_dst"] == {"input": {"tp": "shard(2)"}}
    assert row["out_src"] == row["out_dst"] == {"output": {"tp": "partial"}}
    activation = contract("model.layers.0.mlp.act_fn", "llama", tp=2, sequence_parallel=True)
    assert activation["out_src"] == {"output": {"tp": "shard(2)"}}


def test_a_layer_that_stands_alone_gathers_what_it_has_cut() -> None:
    found = contract("model.layers.0.self_attn.q_proj", "toy", tp=2, sequence_parallel=True, derive=False)
    assert (found["in_src"], found["in_dst"]) == ({"input": SEQUENCE}, {"input": WHOLE})
    assert (found["out_src"], found["out_dst"]) == ({"output": {"tp": "shard(2)"}}, {"output": SEQUENCE})


def test_attention_inside_a_drafted_layer_gets_the_whole_sequence() -> None:
    found = contract("model.layers.0", "toy", tp=2, sequence_parallel=True, derive=False)
    assert (found["in_src"], found["in_dst"]) == ({"hidden_states": SEQUENCE}, {"hidden_states": WHOLE})
    assert (found["out_src"], found["out_dst"]) == ({"output": WHOLE}, {"output": SEQUENCE})


def test_a_head_keeps_its_cut_where_the_loss_takes_it() -> None:
    setting = {"tp": 2, "derive": False, "sequence_parallel": True}
    kept = contract("lm_head", "toy", **setting, loss_parallel=True)
    assert kept["out_src"] == kept["out_dst"] == {"output": {"tp": "shard(2)"}}
    whole = contract("lm_head", "toy", **setting)
    assert (whole["in_src"], whole["out_dst"]) == ({"input": SEQUENCE}, {"output": WHOLE})


def test_without_any_active_axis_a_layout_still_names_one() -> None:
    text = drafted("- match: model.layers.0.adapter\n", "toy")
    assert "in_src: {hidden_states: {tp: replicate}}" in text
    assert [c[:6] for c in complaints(text, "toy")] == ["HPL204"], "which says that it has size 1"
