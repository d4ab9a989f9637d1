"""Slips of form: one fault each, at the token that is wrong, and the rest is read as it was meant."""

import pytest

from hplint.front.read import read_document
from hplint.plan.plan import Plan


def plan_of(text: str, path: str = "plan.yaml") -> Plan:
    document = read_document(path, text.encode())
    assert document.faults == ()
    (plan,) = document.plans
    return plan


def faults(text: str, path: str = "plan.yaml") -> list[tuple[str, str, str]]:
    plan = plan_of(text, path)
    return [(f.rule, plan.source.cut(f.span), f.data.get("problem", "")) for f in plan.faults]


@pytest.mark.parametrize(
    "text",
    [
        "plan_overrides:\n  match: lm_head\n  params: {weight: {tp: shard(0)}}\n",
        "plan_overrides:\n  match: lm_head\n  when: cp\n",
        "plan_overrides: {match: lm_head}\n",
        "plan_overides:\n  match: lm_head\n  params: {weight: {tp: shard(0)}}\n",
        "match: lm_head\nparams: {weight: {tp: shard(0)}}\n",
    ],
)
def test_an_entry_without_its_dash_is_one_fault_and_is_read(text: str) -> None:
    plan = plan_of(text)
    assert [m.value for m in plan.entries[0].matches] == ["lm_head"]
    assert [f.data.get("problem") for f in plan.faults if f.rule == "wrong-type"] == ["no-dash"]
    assert {f.rule for f in plan.faults} <= {"wrong-type", "unknown-key"}


def test_fields_without_match_and_dash_are_one_fault() -> None:
    text = "plan_overrides:\n  params: {weight: {tp: shard(0)}}\n  region_dispatch: false\n"
    assert faults(text) == [("wrong-type", "params", "no-dash")]


def test_a_module_that_has_the_name_of_a_field_is_no_forgotten_dash() -> None:
    plan = plan_of("plan_overrides:\n  params: {params: {w: {tp: shard(0)}}}\n")
    assert plan.faults == () and [m.value for m in plan.entries[0].matches] == ["params"]


def test_the_value_of_a_match_is_no_match() -> None:
    (fault,) = plan_of("plan_overrides:\n  lm_head: 3\n").faults
    assert fault.field is None and fault.data["match"] == "lm_head"
