from collections.abc import Callable

import pytest
from checking import check_text, mesh_topology
from hypothesis import given
from hypothesis import strategies as st

from hplint.front.read import read_document
from hplint.lint.request import CheckedPlan
from hplint.model.tree import ModuleTree
from hplint.plan.placement import PARTIAL, REPLICATE, Placement, shard
from hplint.report.communication import communication
from hplint.report.folding import fold, ranges
from hplint.report.plan_show import plan_show
from hplint.report.style import Style
from hplint.resolve.show import to_json

PLAN = """\
plan_overrides:
- match: model.layers.1.mlp
  out_dst: {tp: shard(1)}
- match: model.mixer
  in_src: {a: {tp: shard(1)}}
  in_dst: {a: {tp: replicate}}
"""


def shown(text: str, tree: ModuleTree, **style: object) -> str:
    topology = mesh_topology({"dp": 2, "tp": 2}, sequence_parallel=True, loss_parallel=False, derive=True)
    plan = read_document("plan.yaml", text.encode()).plans[0]
    _, (resolved,) = check_text(text, topology, tree)
    assert resolved is not None
    checked = CheckedPlan("plan.yaml", plan, topology, "tree:toy.json", tree, resolved)
    value = to_json(resolved, tree, topology, plan)
    return "\n".join(plan_show(checked, value, Style(**style)))  # type: ignore[arg-type]


def test_equal_layers_are_told_once_and_changed_ones_by_themselves(tree: Callable[[str], ModuleTree]) -> None:
    text = shown(PLAN, tree("toy"))
    assert text.startswith("plan.yaml: 2 entries\nToyLM (tree:toy.json) on dp=2,tp=2, sequence parallel: ")
    assert "\nmodel.layers.{0,2}.mlp  x2  mlp, derived\n" in text
    assert "\nmodel.layers.1.mlp  mlp, merged\n" in text


def test_values_say_which_line_they_came_from_and_what_they_communicate(tree: Callable[[str], ModuleTree]) -> None:
    block = shown(PLAN, tree("toy")).partition("model.layers.1.mlp  mlp, merged\n")[2].partition("\n\n")[0]
    out = next(line for line in block.splitlines() if line.startswith("  out"))
    assert "tp partial → shard(1)" in out and out.endswith("tp reduce-scatter dim 1; line 3")


def test_an_inserted_boundary_shows_what_nobody_declared(tree: Callable[[str], ModuleTree]) -> None:
    block = shown(PLAN, tree("toy")).partition("model.mixer  inserted\n")[2].partition("\n\n")[0]
    assert "  in  a  tp shard(1) → replicate  tp all-gather dim 1; line 5; line 6" in block


def test_a_terminal_in_ascii_gets_ascii(tree: Callable[[str], ModuleTree]) -> None:
    text = shown(PLAN, tree("toy"), encoding="ascii")
    assert text.isascii() and "tp partial -> shard(1)" in text


@pytest.mark.parametrize(
    ("source", "destination", "words"),
    [
        (shard(1), REPLICATE, "tp all-gather dim 1"),
        (shard(1), shard(2), "tp all-to-all dim 1 to dim 2"),
        (PARTIAL, REPLICATE, "tp all-reduce"),
        (PARTIAL, shard(1), "tp reduce-scatter dim 1"),
        (REPLICATE, shard(-1), "tp slice dim -1"),
        (REPLICATE, REPLICATE, ""),
        (shard(0), shard(0), ""),
        (PARTIAL, PARTIAL, ""),
    ],
)
def test_a_change_of_placement_names_its_collective(source: Placement, destination: Placement, words: str) -> None:
    assert communication(source, destination, "tp") == words


def test_names_fold_over_experts_and_layers() -> None:
    items = [(f"layers.{a}.experts.{b}.up", "same") for a in range(3) for b in range(4)]
    items.insert(5, ("layers.0.norm", "norm"))
    items += [("layers.7.norm", "norm"), ("head", "head"), ("layers.1.norm", "other")]
    assert fold(items) == [
        ("layers.{0-2}.experts.{0-3}.up", "same", 12),
        ("layers.{0,7}.norm", "norm", 2),
        ("head", "head", 1),
        ("layers.1.norm", "other", 1),
    ]


def test_ranges_spell_runs_of_numbers() -> None:
    assert ranges(["0", "1", "2", "5", "10", "11"]) == "0-2,5,10-11"


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from("xy")), unique_by=lambda t: t[:2]))
def test_folding_loses_nothing(items: list[tuple[int, int, str]]) -> None:
    folded = fold((f"a.{i}.b.{j}", content) for i, j, content in items)
    assert sum(count for _, _, count in folded) == len(items)
    assert {content for _, content, _ in folded} == {content for _, _, content in items}
