"""Contract drafts as a whole: entries split where modules differ, and the plans that the runtime refused for want of a
contract."""

from collections import Counter
from functools import cache
from typing import Any

import pytest
import yaml
from checking import check_plans, finder, fixture_tree
from drafting import COMMENT, complaints, drafted, topology_of
from test_conformance import JUDGED, cases
from test_conformance import topology_of as topology_of_case

from hplint.fix.draft import expand
from hplint.fix.edit import CannotRealise, apply
from hplint.fix.loop import Checked, fix_text
from hplint.fix.yaml_edit import realise
from hplint.lint.proposal import Draft, SetField
from hplint.lint.request import CheckedPlan
from hplint.plan.plan import Plan

SETTINGS = [{"tp": 2}, {"tp": 2, "sequence_parallel": True}, {"tp": 2, "cp": 2, "sequence_parallel": True}, {"cp": 2}]
OWN = {"HPL318", "HPL402", "HPL404", "HPL508"}
"""What an entry says besides its contract (attributes, injected functions) is looked at only once the boundary exists:
a draft may bring such faults to light, but never causes them."""


def test_a_comment_marks_the_draft() -> None:
    text = drafted("- match: model.layers.0.adapter\n  region_dispatch: false  # black box\n", "toy", tp=2)
    assert text == (
        "- match: model.layers.0.adapter\n"
        "  region_dispatch: false  # black box\n"
        "  # draft by hplint: check before use\n"
        "  params: {weight: {tp: replicate}, scale: {tp: replicate}}\n"
        "  in_src: {hidden_states: {tp: replicate}}\n"
        "  in_dst: {hidden_states: {tp: replicate}}\n"
        "  out_src: {output: {tp: replicate}}\n"
        "  out_dst: {output: {tp: replicate}}\n"
    )


def test_a_glob_whose_hits_are_alike_is_kept() -> None:
    layers = [f"model.layers.{i}.adapter" for i in range(3)]
    text = drafted("- match: '*.adapter'\n  region_dispatch: false\n", "toy", layers, tp=2)
    assert [e["match"] for e in yaml.safe_load(text)] == ["*.adapter"]
    assert not complaints(text, "toy", tp=2)


def test_a_glob_that_hits_several_classes_becomes_one_entry_for_each_pattern_of_each() -> None:
    tree = fixture_tree("toy")
    below = [f for f in tree.modules if ".mlp." in f]
    text = drafted("- match: '*.mlp.*'\n  region_dispatch: false\n", "toy", below, tp=2)
    entries = yaml.safe_load(text)
    assert [e["match"] for e in entries] == [
        "model.layers.*.mlp.gate_proj", "model.layers.*.mlp.up_proj", "model.layers.*.mlp.down_proj"
    ]  # fmt: skip
    assert all(e["region_dispatch"] is False for e in entries)
    assert text.count(COMMENT) == 2, "one comment for each contract"
    assert not complaints(text, "toy", tp=2)


def test_boundaries_that_a_glob_hits_too_keep_the_entry_without_a_contract() -> None:
    tree = fixture_tree("toy")
    absent = [f for f in tree.modules if f.startswith("model.layers.0") and f.count(".") != 3]
    absent.append("model.layers.0.adapter")
    text = drafted("- match: model.layers.0*\n  region_dispatch: false\n", "toy", absent, tp=2)
    entries = {e["match"]: e for e in yaml.safe_load(text)}
    assert set(entries["model.layers.0.mlp"]) == {"match", "region_dispatch"}
    assert "params" in entries["model.layers.0.adapter"]
    assert not complaints(text, "toy", tp=2)


def test_layers_that_no_star_can_tell_apart_are_named_by_ranges() -> None:
    layers = [f"model.layers.{i}" for i in range(3)]
    tree = fixture_tree("toy")
    text = drafted("- match: model.layers*\n  out_dst: auto\n", "toy", [f for f in tree.modules if f in layers], tp=2)
    assert "model.layers.[0-2]" in [e["match"] for e in yaml.safe_load(text)]


def test_what_an_entry_writes_itself_is_kept_and_continued() -> None:
    text = "- match: model.mixer\n  in_dst: {left: {tp: shard(1)}, right: {tp: replicate}}\n  out_dst: none\n"
    (entry,) = yaml.safe_load(drafted(text, "toy", tp=2))
    assert entry["in_dst"] == {"left": {"tp": "shard(1)"}, "right": {"tp": "replicate"}}
    assert list(entry["in_src"]) == ["left", "right"]
    assert entry["out_dst"] != "none"


def test_parameters_are_not_cut_where_the_written_output_is_whole() -> None:
    text = "- match: model.layers.0.mlp\n  params: auto\n  out_src: {output: {tp: replicate}}\n"
    (entry,) = yaml.safe_load(drafted(text, "toy", tp=2, derive=False))
    assert {p["tp"] for p in entry["params"].values()} == {"replicate"}


def test_a_draft_suits_all_topologies_of_its_plan() -> None:
    text = "- match: model.layers.0.mlp\n"
    two = yaml.safe_load(drafted(text, "toy_odd", tp=2, derive=False))[0]
    both = yaml.safe_load(drafted(text, "toy_odd", others=[{"tp": 4, "cp": 2}], tp=2, derive=False))[0]
    assert two["params"]["up_proj.weight"] == {"tp": "shard(0)"}, "2 divides 90"
    assert both["params"]["up_proj.weight"] == {"tp": "replicate", "cp": "replicate"}, "4 does not"
    assert both["in_src"]["hidden_states"]["cp"] == "shard(1)"


def test_axes_stand_in_the_order_of_the_mesh_that_has_most_of_them() -> None:
    (entry,) = yaml.safe_load(drafted("- match: model.norm\n", "toy", others=[{"cp": 2}], tp=2, derive=False))
    assert list(entry["in_src"]["input"]) == ["cp", "tp"]


def test_the_comment_stands_above_the_first_field_that_was_drafted() -> None:
    text = drafted("- match: model.norm\n  out_dst: auto\n", "toy", tp=2, derive=False).splitlines()
    assert text[1:3] == [f"  # {COMMENT}", "  out_dst: {output: {tp: replicate}}"]


def test_an_entry_that_this_run_skips_gets_the_layouts_of_one_that_takes_it() -> None:
    text = drafted("- match: model.layers.0.adapter\n  when: cp\n", "toy", tp=2)
    (entry,) = yaml.safe_load(text)
    assert entry["in_src"] == {"hidden_states": {"cp": "shard(1)", "tp": "replicate"}}
    assert not complaints(text, "toy", tp=2)


def test_the_root_is_left_out_for_no_pattern_hits_it_alone() -> None:
    tree, setting = fixture_tree("toy"), {"tp": 2, "derive": False}
    text = drafted("- match: '*'\n  region_dispatch: false\n", "toy", list(tree.modules), **setting)
    assert "" not in [e["match"] for e in yaml.safe_load(text)]
    assert not complaints(text, "toy", **setting)


def test_a_module_that_the_model_lacks_cannot_be_drafted() -> None:
    with pytest.raises(CannotRealise):
        drafted("- match: model.nothing\n", "toy", tp=2)


def test_several_outputs_have_their_names_in_python() -> None:
    tree, topology = fixture_tree("toy"), topology_of({"tp": 2})
    text = 'plan_overrides = {"model.mixer": ModuleShardingSpec(region_dispatch=False)}\n'
    text = f"from hyper_parallel.distributed import ModuleShardingSpec\n{text}"
    checked = check_plans(text, topology, tree, ".py").plans[0]
    assert checked.resolved is not None
    draft = Draft(checked.plan.entries[0], ("model.mixer",))
    made = expand(draft, checked.plan, tree, topology, checked.resolved, (), finder())
    fields = {c.field: c.value for c in made if isinstance(c, SetField)}
    assert fields["out_names"] == list(fields["out_src"]) == ["output_0", "output_1"]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("derive", [True, False])
@pytest.mark.parametrize("model", ["toy", "toy_bias", "toy_odd", "mixtral", "qwen2_moe", "qwen3_moe", "deepseek_v3"])
def test_a_draft_for_any_module_is_lint_clean(model: str, derive: bool, setting: dict[str, Any]) -> None:
    setting = {**setting, "derive": derive, "ep": 1 if model.startswith("toy") else 2}
    tree = fixture_tree(model)
    there = check_plans("- match: nothing.*\n", topology_of(setting), tree).plans[0].resolved
    assert there is not None
    kinds: dict[tuple[int, str], str] = {}
    for fqn, module in tree.modules.items():
        if fqn and fqn not in there.boundaries:
            kinds.setdefault((id(module.node), fqn.rpartition(".")[2]), fqn)
    for fqn in kinds.values():
        text = drafted(f"- match: {fqn}\n", model, **setting)
        assert not complaints(text, model, **setting), text


# The plans that the runtime refused


def _drafts(checked: CheckedPlan) -> dict[int, list[str]]:
    """Entry -> the modules for which it lacks a contract."""
    found: dict[int, list[str]] = {}
    for fault in checked.resolved.faults if checked.resolved else ():
        if fault.rule == "merge-only-glob" and fault.entry is not None:
            found.setdefault(fault.entry, []).extend(fault.data["modules"])
        elif fault.rule in ("sentinel-on-insert", "missing-contract") and fault.entry is not None:
            found.setdefault(fault.entry, []).append(fault.module or "")
    return found


def _draft_one(checked: CheckedPlan, text: str) -> str:
    """The text after the first draft that can be made; the same text without one."""
    plan: Plan = checked.plan
    assert checked.tree is not None and checked.resolved is not None
    for index, modules in _drafts(checked).items():
        draft = Draft(plan.entries[index], tuple(dict.fromkeys(modules)))
        try:
            made = expand(draft, plan, checked.tree, checked.topology, checked.resolved, (), finder())
            return apply(text, realise(plan.source, plan, made))
        except CannotRealise:
            continue
    return text


@cache
def outcomes() -> list[tuple[dict[str, Any], set[str], set[str]]]:
    """(case, judged errors before, after) of every plan that was refused for want of a contract, all drafts made."""
    found = []
    for case in cases():
        if case["expect"].get("code") not in ("HPL103", "HPL301", "HPL302"):
            continue
        tree, topology = fixture_tree(case["model"]), topology_of_case(case)
        text = yaml.dump({"plan_overrides": case["entries"]}, Dumper=yaml.CSafeDumper, sort_keys=False)
        before = checked = check_plans(text, topology, tree)
        while (after := _draft_one(checked.plans[0], text)) != text:
            text, checked = after, check_plans(after, topology, tree)
        found.append((case, _judged(before), _judged(checked)))
    return found


def _judged(checked: Checked) -> set[str]:
    return {d.code for d in checked.diagnostics if d.severity == "error" and d.code in JUDGED}


def test_a_draft_takes_the_fault_away_from_every_refused_plan() -> None:
    assert not [c["id"] for c, _, after in outcomes() if c["expect"]["code"] in after]


def test_a_draft_causes_no_error_in_any_refused_plan() -> None:
    assert not [(c["id"], after - before) for c, before, after in outcomes() if after - before - OWN]


@pytest.mark.parametrize(
    "codes", [("HPL103", "HPL301", "HPL302"), ("HPL304", "HPL306", "HPL307", "HPL310")], ids=" ".join
)
def test_of_refused_plans_at_most_one_in_twenty_keeps_its_error_after_fixing(codes: tuple[str, ...]) -> None:
    kept: Counter[str] = Counter()
    count = 0
    for case in (c for c in cases() if c["expect"].get("code") in codes):
        tree, topology = fixture_tree(case["model"]), topology_of_case(case)

        def check(text: str, tree: Any = tree, topology: Any = topology) -> Checked:
            return check_plans(text, topology, tree)

        text = yaml.dump({"plan_overrides": case["entries"]}, Dumper=yaml.CSafeDumper, sort_keys=False)
        before, after = _judged(check(text)), _judged(check(fix_text(text, check, unsafe=True).text))
        count += 1
        kept[case["expect"]["code"]] += case["expect"]["code"] in after or bool(after - before)
    assert kept.total() <= count / 20, kept
