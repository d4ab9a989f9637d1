"""Fixing Python plans: the runtime's verdicts written as plan dicts, and random damage to them."""

import ast
import json
from collections import Counter
from functools import cache, partial
from random import Random
from typing import Any

from checking import check_plans, fixture_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from test_conformance import JUDGED, cases, topology_of
from test_fix_conformance import fixable
from test_fix_random import damaged, lines_of, new_errors

from hplint.fix.edit import difference
from hplint.fix.loop import Checked, fix_text
from hplint.plan.placement import parse

HEAD = """\
from hyper_parallel.core.dtensor.placement_types import Partial, Replicate, Shard
from hyper_parallel.distributed import ModuleShardingSpec, Target

"""
CONTRACT = ("params", "in_src", "in_dst", "out_src", "out_dst", "inner_out_src")


def written(value: Any, placements: bool) -> str:
    """A value of a case as Python spells it."""
    if isinstance(value, dict) and "_target_" in value:
        rest = [f"{k}={v!r}" for k, v in value.items() if k != "_target_"]
        return f"Target({', '.join([json.dumps(value['_target_']), *rest])})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {written(v, placements)}" for k, v in value.items()) + "}"
    if isinstance(value, str) and placements and (placement := parse(value)):
        return str(placement).capitalize() if placement.dim is not None else f"{placement.kind.capitalize()}()"
    return repr(value) if not isinstance(value, str) else json.dumps(value)


def python_plan(case: dict[str, Any]) -> str | None:
    """A case as a Python plan dict; None for what Python cannot say (when, list matches, one match twice)."""
    entries = case["entries"]
    matches = [e.get("match") for e in entries]
    if not entries or any("when" in e or not isinstance(e.get("match"), str) for e in entries):
        return None
    if len(set(matches)) < len(matches):
        return None
    items = []
    for entry in entries:
        fields = [f"{k}={written(v, k in CONTRACT)}," for k, v in entry.items() if k != "match"]
        body = "".join(f"        {f}\n" for f in fields)
        items.append(f"    {json.dumps(entry['match'])}: ModuleShardingSpec(\n{body}    ),\n")
    return HEAD + "plan = {\n" + "".join(items) + "}\n"


@cache
def sayable() -> list[tuple[dict[str, Any], str]]:
    return [(c, text) for c in cases() if (text := python_plan(c))]


def judged(checked: Checked) -> Counter[str]:
    return Counter(d.code for d in checked.diagnostics if d.severity == "error" and d.code in JUDGED)


def test_fixing_heals_nine_of_ten_refused_plans_in_python_too() -> None:
    total, kept, worse = 0, Counter[str](), []
    for case, text in sayable():
        if case["expect"].get("code") not in fixable():
            continue
        check = partial(check_plans, topology=topology_of(case), tree=fixture_tree(case["model"]), suffix=".py")
        before = check(text)
        code = case["expect"]["code"]
        if code not in judged(before):
            continue  # Some slips of a YAML file are other ones, or none, in a Python dict.
        fixed = fix_text(text, check, unsafe=True)
        total += 1
        if judged(fixed.checked)[code]:
            kept[code] += 1
        if judged(fixed.checked) - judged(before):
            worse.append(case["id"])
        ast.parse(fixed.text)
    assert total > 250
    assert not worse
    assert kept.total() <= 0.1 * total, kept


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=60, deadline=None, report_multiple_bugs=False)
def test_fixing_damaged_python_plans_keeps_its_promises(seed: int, unsafe: bool) -> None:
    rng = Random(seed)
    case, text = rng.choice(sayable())
    text = HEAD + damaged(text.removeprefix(HEAD), rng)
    if rng.random() < 0.3:
        text = text.replace("\n", "\r\n")
    check = partial(check_plans, topology=topology_of(case), tree=fixture_tree(case["model"]), suffix=".py")
    before = check(text)
    fixed = fix_text(text, check, unsafe)
    told = f"{text}\n=====\n{fixed.text}"
    assert fix_text(fixed.text, check, unsafe).text == fixed.text, told
    assert not new_errors(before, check(fixed.text)), told
    if fixed.text == text:
        return
    ast.parse(fixed.text)
    touched = {line for e in difference(text, fixed.text) for line in lines_of(text, e.span.start, e.span.end)}
    kept = [line for number, line in enumerate(text.split("\n")) if number not in touched]
    rest = iter(fixed.text.split("\n"))
    assert all(any(line == other for other in rest) for line in kept), told
