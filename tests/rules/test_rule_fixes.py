"""What rules propose: which fixes are safe, which are guesses, and what they take along."""

from pathlib import Path
from typing import Any

import pytest
from checking import check_plans, check_text, fixture_tree, mesh_topology

from hplint.fix.loop import fix_text
from hplint.front.read import read_document
from hplint.lint.diagnostic import Diagnostic
from hplint.plan.placement import shard
from hplint.plan.plain import plain_fields

COMPUTE = "  local_compute_fn: {_target_: toy_kernels.fast_mlp}\n"


def find(code: str, text: str, model: str = "toy", **axes: int) -> Diagnostic:
    """The one finding of a code."""
    found, _ = check_text(text, mesh_topology({"dp": 2, **(axes or {"tp": 2})}), fixture_tree(model))
    (diagnostic,) = [d for d in found if d.code == code]
    return diagnostic


def titles(diagnostic: Diagnostic, safe: bool | None = None) -> list[str]:
    return [p.title for p in diagnostic.proposals if safe is None or p.safe is safe]


def fixed(text: str, unsafe: bool = False, model: str = "toy", **axes: int) -> str:
    tree, topology = fixture_tree(model), mesh_topology({"dp": 2, **(axes or {"tp": 2})})
    return fix_text(text, lambda t: check_plans(t, topology, tree), unsafe).text


@pytest.mark.parametrize(
    ("match", "safe"),
    [
        ("modl.layers.0.self_atn", True), ("layers.0.mlp", True), ("module.model.norm", True),
        ("model.layers.0.self_attn.x_proj", False), ("model.layers.9.mlp", False), ("nothing.like.it", False),
    ],
)  # fmt: skip
def test_a_module_name_with_one_reading_is_a_safe_fix(match: str, safe: bool) -> None:
    diagnostic = find("HPL101", f"- match: {match}\n  out_dst: auto\n")
    assert [p.safe for p in diagnostic.proposals[:1]] == [safe]


def test_a_projection_that_the_model_lacks_is_not_taken_for_another_one_with_certainty() -> None:
    diagnostic = find("HPL101", "- match: model.layers.0.self_attn.q_proj\n  out_dst: auto\n", "deepseek_v3")
    assert titles(diagnostic, safe=True) == []


def test_a_name_as_near_as_another_is_a_choice() -> None:
    diagnostic = find("HPL101", "- match: model.layers.0.self_attn.x_proj\n  out_dst: auto\n")
    assert len(titles(diagnostic, safe=False)) > 1


def test_a_layer_that_the_model_lacks_is_only_taken_out_as_a_guess() -> None:
    text = "- match: model.layers.9.mlp\n  out_dst: auto\n- match: lm_head\n  out_dst: auto\n"
    assert fixed(text) == text
    assert fixed(text, unsafe=True) == "- match: lm_head\n  out_dst: auto\n"


def test_a_key_is_not_renamed_to_one_that_is_written_beside_it() -> None:
    text = "- match: '*.mlp'\n  params: auto\n  parms: auto\n"
    assert titles(find("HPL002", text)) == []


def test_a_list_match_becomes_entries_that_say_the_same() -> None:
    text = (
        "- match: [model.layers.0.mlp, model.layers.1.mlp, model.layers.0.mlp]  # both\n"
        "  # column-wise\n"
        "  params:\n    up_proj.weight: {tp: shard(0)}\n    gate_proj.weight: {tp: shard(0)}\n"
        "    down_proj.weight: {tp: shard(1)}\n"
    )
    rest = "  params:\n    up_proj.weight: {tp: shard(0)}\n    gate_proj.weight: {tp: shard(0)}\n"
    rest += "    down_proj.weight: {tp: shard(1)}\n"
    assert fixed(text) == (
        f"- match: model.layers.0.mlp  # both\n  # column-wise\n{rest}- match: model.layers.1.mlp\n{rest}"
    )


def test_an_entry_with_an_unreadable_part_is_not_split() -> None:
    assert titles(find("HPL007", "- match: [a, b]\n  region_dispatch: maybe\n  out_dst: auto\n")) == []


def test_an_entry_turns_into_plain_values() -> None:
    text = (
        "- match: '*.mlp'\n  when: ep\n  region_dispatch: false\n  out_dst: none\n  out_src: {tp: Shard( 1 )}\n"
        "  params: {w: {tp: shard(0)}}\n  tp_divide_attrs: [n]\n  inner_wrapper: sdpa_hf\n  in_src:\n"
        "  local_compute_fn: {_target_: a.b, x: [1, {y: 2}]}\n"
    )
    (plan,) = read_document("plan.yaml", text.encode()).plans
    assert plain_fields(plan.entries[0]) == {
        "when": "ep", "region_dispatch": False, "out_dst": "none", "out_src": {"tp": shard(1)},
        "params": {"w": {"tp": shard(0)}}, "tp_divide_attrs": ["n"], "inner_wrapper": "sdpa_hf", "in_src": None,
        "local_compute_fn": {"_target_": "a.b", "x": [1, {"y": 2}]},
    }  # fmt: skip
    assert plain_fields(plan.entries[0], ("out_dst", "when")) == {"when": "ep", "out_dst": "none"}


def test_a_token_that_is_right_for_other_modules_of_the_glob_is_not_changed_with_certainty() -> None:
    own = "  inner_wrapper: {_target_: toy_kernels.wrap_attention}\n"
    glob = f"- match: '*.self_attn'\n  region_dispatch: true\n  inner_target: self\n{own}"
    shipped = "- match: model.layers.0.self_attn\n  inner_wrapper: sdpa_hf\n"
    assert titles(find("HPL409", glob + shipped, cp=2), safe=True) == []
    assert titles(find("HPL409", glob.replace(own, "  inner_wrapper: sdpa_hf\n"), cp=2), safe=True)


@pytest.mark.parametrize(("key", "safe"), [("lefd", True), ("rihgt", False)])
def test_the_only_input_is_renamed_with_certainty_to_the_first_alone(key: str, safe: bool) -> None:
    text = f"- match: model.mixer\n  params: {{}}\n  in_src: {{{key}: {{tp: shard(1)}}}}\n"
    text += f"  in_dst: {{{key}: {{tp: replicate}}}}\n"
    diagnostic = find("HPL105", text)
    assert [p.safe for p in diagnostic.proposals] == [safe]
    assert len(diagnostic.proposals[0].changes) == 2


@pytest.mark.parametrize(
    ("target", "safe", "title"),
    [
        ("fused_kernels.shared_mlp, chunks: 2", True, "add `region_dispatch: false`"),
        ("toy_kernels.fast_mlp", True, "add `region_dispatch: true`"),
        ("fused_kernels.mlp.gated_mlp", False, "add `region_dispatch: false`, for `missing_backend.ops.silu_mul` "
         "(mlp.py:22) may communicate"),
        ("nowhere.at_all", False, "add `region_dispatch: false`, for it cannot be read"),
    ],
)  # fmt: skip
def test_region_dispatch_is_decided_by_the_source(target: str, safe: bool, title: str) -> None:
    diagnostic = find("HPL401", f"- match: '*.mlp'\n  local_compute_fn: {{_target_: {target}}}\n")
    assert [(p.title, p.safe) for p in diagnostic.proposals] == [(title, safe)]


def test_an_injection_goes_with_the_fields_that_serve_it_alone() -> None:
    head = "- match: '*.self_attn'\n  region_dispatch: false\n"
    wrapper = "  inner_target: self\n  inner_wrapper: {_target_: toy_kernels.fast_mlp}\n"
    rest = "  out_dst: auto\n"
    assert fixed(head + wrapper + rest, unsafe=True) == f"- match: '*.self_attn'\n{rest}"


def test_region_dispatch_stays_where_the_entry_injects_something_else() -> None:
    text = "- match: '*.mlp'\n  region_dispatch: true\n  inner_target: self\n"
    text += f"  inner_wrapper: {{_target_: toy_kernels.undecorated_compute}}\n{COMPUTE}"
    (proposal,) = find("HPL504", text).proposals
    assert proposal.title == "remove `inner_wrapper` and `inner_target`"


def test_a_function_is_injected_into_the_modules_that_it_fits() -> None:
    text = f"- match: '*.mlp'\n  region_dispatch: true\n{COMPUTE}"
    assert fixed(text, unsafe=True, model="deepseek_v3", tp=1) == text.replace("'*.mlp'", "'model.layers.1.mlp'")


def test_the_layouts_of_an_entry_stay_where_its_function_goes_to_fewer_modules() -> None:
    text = f"- match: '*.mlp'\n  out_dst: auto\n  region_dispatch: true\n{COMPUTE}"
    assert fixed(text, unsafe=True, model="deepseek_v3", tp=1) == (
        f"- match: '*.mlp'\n  out_dst: auto\n- match: 'model.layers.1.mlp'\n  region_dispatch: true\n{COMPUTE}"
    )


def test_a_condition_is_not_taken_from_layouts_with_certainty() -> None:
    text = "- match: '*.input_layernorm'\n  when: cp\n  module_type: torch.nn.LayerNorm\n"
    text += "  replace_module: {_target_: fused_kernels.norm.fused_norm}\n"
    assert [p.safe for p in find("HPL513", text).proposals] == [True]
    assert [p.safe for p in find("HPL513", f"{text}  out_dst: auto\n").proposals] == [False]


def test_a_placement_of_another_kind_counts_as_a_guess() -> None:
    entry = "- match: model.norm\n  in_dst: {hidden_states: {tp: %s}}\n"
    assert [p.safe for p in find("HPL203", entry % "shrd(0)").proposals] == [True]
    number = find("HPL203", entry % "1")
    assert titles(number)[0] == "replace `1` by `shard(1)`" and not titles(number, safe=True)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("int", 1), ("float", 1), ("bool", False), ("str", ""), ('Literal["fast", "slow"]', "fast"), ("list[int]", []),
        ("int | None", 1), ("dict[str, int]", {}), ("Backend", None), ("Literal[4, 8]", 4), ("Optional[bool]", False),
    ],
)  # fmt: skip
def test_a_missing_keyword_gets_a_value_that_its_annotation_takes(
    tmp_path_factory: pytest.TempPathFactory, annotation: str, value: Any
) -> None:
    from hplint.targets.find import TargetFinder

    folder: Path = tmp_path_factory.mktemp("src")
    text = f"from typing import Literal, Optional\n\ndef f(*, x: {annotation}):\n    pass\n"
    (folder / "m.py").write_text(text, encoding="utf-8")
    reading = TargetFinder([folder], environment=False).read("m.f")
    (signature,) = reading.signatures
    example = reading.example(signature, signature.parameters[0])
    assert example == value and type(example) is type(value)


def test_an_entry_that_several_fixes_leave_bare_goes_as_a_whole() -> None:
    rest = "- match: lm_head\n  out_dst: auto\n"
    text = "- match: model.norm\n  region_dispatch: true\n  tp_divide_attrs: [width, width]\n"
    assert fixed(text + rest, unsafe=True) == rest


def test_an_entry_with_a_key_that_nobody_understands_stays() -> None:
    rest = "- match: lm_head\n  out_dst: auto\n"
    text = "- match: model.norm\n  region_dispatch: true\n  note: rows\n"
    assert fixed(text + rest) == f"- match: model.norm\n  note: rows\n{rest}"


def test_the_params_of_an_entry_stay_where_one_of_them_is_no_placement() -> None:
    text = "- match: model.norm\n  params:\n    weight: {tp: shard}\n    bias: shard(0)\n"
    assert fixed(text, unsafe=True) == (
        "- match: model.norm\n  params:\n    weight: {tp: replicate}\n    bias: {tp: shard(0)}\n"
    )


def test_a_glob_with_a_near_name_is_not_taken_out() -> None:
    assert titles(find("HPL102", "- match: '*.mlpx'\n  out_dst: auto\n")) == ["replace `*.mlpx` by `*.mlp`"]
    assert titles(find("HPL102", "- match: '*.nothing'\n  out_dst: auto\n")) == ["remove the entry `*.nothing`"]
