"""Findings that are told as one: those of many modules, and those of names that a loop makes at one place."""

import pytest
from checking import check_text, fixture_tree, mesh_topology

from hplint.lint.diagnostic import Diagnostic, Finding
from hplint.lint.run import shape
from hplint.text.span import START

HEAD = """\
from hyper_parallel.distributed import ModuleShardingSpec, TP
from hyper_parallel.core.dtensor.placement_types import Shard
plan = {}
"""
MLP = "up_proj.weight: {tp: shard(0)}, gate_proj.weight: {tp: shard(0)}, down_proj.weight: {tp: shard(1)}"


def found(text: str, code: str, suffix: str = ".yaml", model: str = "toy") -> list[Diagnostic]:
    diagnostics, _ = check_text(text, mesh_topology({"dp": 2, "tp": 2}), fixture_tree(model), suffix)
    return [d for d in diagnostics if d.code == code]


def test_names_that_a_loop_makes_are_one_finding_first_layer_first() -> None:
    text = f'{HEAD}for i in range(126):\n    plan[f"model.layers.{{i}}.mpl"] = ModuleShardingSpec(params="auto")\n'
    (one,) = found(text, "HPL101", ".py", "llama3_405b")
    assert one.message.startswith("`model.layers.0.mpl` is not") and one.message.endswith(" (and 125 more like it)")
    assert "`model.layers.0.mlp`" in one.help


def test_names_that_differ_in_more_than_a_number_are_one_finding_too() -> None:
    rounds = 'for i in range(2):\n  for n in ("q", "k"):\n    plan[f"model.layers.{i}.self_attn.{n}_porj"] = '
    (one,) = found(f'{HEAD}{rounds}ModuleShardingSpec(params="auto")\n', "HPL101", ".py")
    assert "layers.0.self_attn.q_porj" in one.message and one.message.endswith("(and 3 more like it)")


def test_parameter_keys_that_a_comprehension_makes_are_one_finding() -> None:
    spec = 'ModuleShardingSpec(params={f"x.{i}.weight": {TP: Shard(0)} for i in range(5)})'
    (one,) = found(f'{HEAD}plan["model.layers.0.mlp"] = {spec}\n', "HPL104", ".py")
    assert one.message.startswith("`x.0.weight`") and one.message.endswith(
        "(in model.layers.0.mlp, and 4 more like it)"
    )


def test_a_parameter_that_a_container_owns_too_is_one_finding_for_all_layers() -> None:
    keys = "".join(f"    {i}.mlp.up_proj.weight: {{tp: shard(0)}}\n" for i in range(3))
    text = f'- match: model.layers\n  params:\n{keys}- match: "*.mlp"\n  params: {{{MLP}}}\n'
    (one,) = found(text, "HPL306")
    assert one.modules == tuple(f"model.layers.{i}.mlp" for i in range(3))
    assert one.message.endswith("(in model.layers.0.mlp and 2 more modules)")


def test_names_at_different_places_stay_apart() -> None:
    text = "".join(f"- match: model.layers.{i}.mpl\n  params: auto\n" for i in range(3))
    assert len(found(text, "HPL101")) == 3


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("`a.0.b` is wrong", "`a.12.b` is wrong", True),
        ("`0.b` is wrong", "`1.b` is wrong", True),
        ("`a.0` is wrong", "`a.1` is wrong", True),
        ("`a.b0` is wrong", "`a.b1` is wrong", False),
        ("`a.b` [64] is wrong", "`a.b` [65] is wrong", False),
        ("`shard(0)` of `a.b` is wrong", "`shard(1)` of `a.b` is wrong", False),
    ],
)
def test_only_numbers_between_dots_make_two_messages_one(one: str, other: str, same: bool) -> None:
    assert (shape(Finding(START, one)) == shape(Finding(START, other))) is same
