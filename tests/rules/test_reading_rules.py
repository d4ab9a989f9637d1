"""What the rules about reading say, and where they keep quiet."""

import pytest
from checking import check_text, fixture_tree, mesh_topology

from hplint.lint.diagnostic import Diagnostic
from hplint.resolve.topology import Topology

ATTENTION = "model.layers.0.self_attn"


def found(text: str, code: str, topology: Topology | None = None, model: str | None = None) -> list[Diagnostic]:
    tree = fixture_tree(model) if model else None
    return [d for d in check_text(text, topology or Topology(), tree)[0] if d.code == code]


def helps(body: str, code: str) -> list[str]:
    return [d.help for d in found(f'- match: "*.mlp"\n{body}', code)]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("shrd(0)", "shard(0)"),
        ("shard[1]", "shard(1)"),
        ("Shard(dim=1)", "shard(1)"),
        ("S(2)", "shard(2)"),
        ("replicated", "replicate"),
        ("R", "replicate"),
        ("Partial(sum)", "partial"),
        ("partail", "partial"),
    ],
)
def test_a_misspelt_placement_gets_its_right_spelling(written: str, meant: str) -> None:
    (advice,) = helps(f'  params: {{w: {{tp: "{written}"}}}}\n', "HPL203")
    assert f"`{meant}`" in advice


def test_a_placement_that_means_nothing_gets_the_grammar() -> None:
    (advice,) = helps("  params: {w: {tp: shard}}\n", "HPL203")
    assert "did you mean" not in advice and "`shard(N)`" in advice


def test_a_negative_dim_is_told_to_count_from_zero() -> None:
    (advice,) = helps("  params: {w: {tp: shard(-1)}}\n", "HPL203")
    assert "from 0" in advice


def test_a_forgotten_axis_level_is_shown_in_its_right_form() -> None:
    (advice,) = helps("  params: {q_proj.weight: Shard(0)}\n", "HPL203")
    assert "`q_proj.weight: {tp: shard(0)}`" in advice


@pytest.mark.parametrize(
    ("body", "code", "part"),
    [
        ("  parms: {}\n", "HPL002", "`params`"),
        ("  out_names: [a]\n  params: auto\n", "HPL002", "order of the `out_src` keys"),
        ("  zzz: 1\n  params: auto\n", "HPL002", "allowed are"),
        ('  region_dispatch: "False"\n', "HPL003", "write false without quotes"),
        ("  local_compute_fn: a.b\n", "HPL003", "{_target_: a.b}"),
        ("  tp_divide_attrs: num_heads\n", "HPL003", "[num_heads]"),
        ("  when: sp\n", "HPL006", "`sequence_parallel`"),
        ("  when: always\n", "HPL006", "leave `when` out"),
        ("  params: None\n", "HPL303", "`none`"),
        ("  out_src: first_input\n", "HPL303", "inner_out_src"),
        ("  out_src: shard(1)\n", "HPL303", "{tp: shard(1)}"),
        ("  inner_out_src: firstinput\n", "HPL407", "`first_input`"),
    ],
)
def test_advice_names_what_was_meant(body: str, code: str, part: str) -> None:
    (advice,) = helps(body, code)
    assert part in advice


def test_a_directive_with_an_unknown_key_is_told() -> None:
    (finding,) = found("# hplint: modle=x\n- match: a\n  params: auto\n", "HPL002")
    assert "`model`" in finding.help


def test_an_attribute_must_be_positive_even_without_tensor_parallelism() -> None:
    text = f"- match: {ATTENTION}\n  tp_divide_attrs: [layer_idx]\n"
    (finding,) = found(text, "HPL318", mesh_topology({"dp": 2}), "llama")
    assert "is not positive" in finding.message


def test_an_automatic_attribute_is_fine_without_tensor_parallelism() -> None:
    text = f"- match: {ATTENTION}\n  tp_divide_attrs: [num_heads]\n"
    assert found(text, "HPL318", mesh_topology({"dp": 2}), "toy") == []
    assert len(found(text, "HPL318", mesh_topology({"dp": 2, "tp": 2}), "toy")) == 1


def test_one_attribute_of_many_layers_is_one_finding() -> None:
    text = '- match: "*.self_attn"\n  tp_divide_attrs: [layer_idx]\n'
    (finding,) = found(text, "HPL318", mesh_topology({"dp": 2, "tp": 2}), "llama")
    assert len(finding.modules) > 1 or finding.modules == (ATTENTION,)


def test_attributes_that_a_later_entry_replaces_are_not_reported() -> None:
    text = f"- match: {ATTENTION}\n  tp_divide_attrs: [head_dim]\n- match: {ATTENTION}\n  tp_divide_attrs: []\n"
    assert found(text, "HPL318", mesh_topology({"dp": 2, "tp": 2}), "llama") == []


def test_a_protected_attribute_is_told_without_a_model() -> None:
    (finding,) = found(f"- match: {ATTENTION}\n  tp_divide_attrs: [head_dim]\n", "HPL318")
    assert finding.module is None and finding.field == "tp_divide_attrs"


def test_a_directive_is_not_refused_by_the_runtime() -> None:
    (one,) = found("# hplint: mesh = dp=2\n- match: a\n  params: auto\n", "HPL003")
    assert "written with spaces" in one.message and "`mesh=dp=2`" in one.message
    for text in ("# hplint: mesh=dp2\n- match: a\n  params: auto\n", "# hplint: ep=0\n- match: a\n  params: auto\n"):
        (one,) = found(text, "HPL003")
        assert "runtime" not in one.message and one.message.endswith("it changes nothing")


def test_keys_that_yaml_reads_as_something_else_are_shown_as_written() -> None:
    entry = "- match: a\n  null: 3\n  on: 4\n  params: auto\n"
    assert [d.message.split()[0] for d in found(entry, "HPL002")] == ["`null`", "`on`"]
    assert "(`on`)" in found("on: {params: auto}\n", "HPL003")[0].message
    (one,) = found("- match: a\n  params: {w: {on: shard(0)}}\n", "HPL203")
    assert one.message.startswith("the axis is `on` (a bool)")
    (one,) = found("- match: lm_head\n  params: {on: {tp: shard(0)}}\n", "HPL104", mesh_topology({"tp": 2}), "toy")
    assert one.message.startswith("`on` is no parameter")


def test_the_value_of_a_python_plan_item_is_named_by_its_key() -> None:
    text = (
        "from hyper_parallel.distributed import ModuleShardingSpec\n"
        'plan = {"a": ModuleShardingSpec(params="auto"), "head": {"params": "auto"}}\n'
    )
    (one,) = [d for d in check_text(text, Topology(), None, ".py")[0] if d.code == "HPL003"]
    assert one.message.startswith("the value of `head` is a dict, but must be a ModuleShardingSpec")


def test_a_size_that_cannot_be_read_is_not_taken_for_a_missing_one() -> None:
    text = "accelerator: {tp_size: 0}\nplan_overrides: [{match: lm_head, params: auto}]\n"
    assert [d.code for d in check_text(text, mesh_topology({"tp": 2}), None)[0]] == ["HPL003"]
