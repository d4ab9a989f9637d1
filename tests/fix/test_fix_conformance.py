"""What fixing makes of the plans that the runtime refused (fixtures/conformance), in YAML; Python: test_fix_python.py.

Of the refused cases whose code has a fix, at least 90 % lose that code and gain no judged error. The rest is listed in
``REMAINS``, each code with the reason.
"""

from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from checking import check_plans, fixture_tree
from test_conformance import JUDGED, cases, difference, topology_of

from hplint.fix.loop import Checked, fix_text
from hplint.resolve.show import to_json

RULES = Path(__file__).parent.parent.parent / "rules"
REMAINS: dict[str, str] = {
    "HPL302": "the function that the entries inject does not fit the module",
    "HPL405": "the wrapper that is meant, and the boundary without one, are refused on this topology",
}
"""Code -> why some cases keep it."""

RUN_WRONG = {"HPL409", "HPL510"}
"""Codes of plans that the runtime takes, but runs wrong: their fixes change region_dispatch."""


class Outcome(NamedTuple):
    case: dict[str, Any]
    before: str
    after: str
    found: Checked
    left: Checked
    again: str


@cache
def fixable() -> frozenset[str]:
    """The codes whose pages promise a fix."""
    pages = (p.read_text(encoding="utf-8").split("---\n")[1] for p in RULES.glob("*/hpl*.md"))
    fronts = [dict(line.split(": ") for line in front.splitlines()) for front in pages]
    return frozenset(f["code"] for f in fronts if f["fix"] != "none")


@cache
def outcomes() -> list[Outcome]:
    """Every refused case whose code has a fix, after --fix --unsafe-fixes."""
    return [outcome(c) for c in cases() if not c["expect"]["accept"] and c["expect"]["code"] in fixable()]


def outcome(case: dict[str, Any]) -> Outcome:
    tree, topology = fixture_tree(case["model"]), topology_of(case)

    def check(text: str) -> Checked:
        return check_plans(text, topology, tree)

    before = yaml.dump({"plan_overrides": case["entries"]}, Dumper=yaml.CSafeDumper, sort_keys=False)
    fixed = fix_text(before, check, unsafe=True)
    return Outcome(case, before, fixed.text, check(before), check(fixed.text), fix_text(fixed.text, check, True).text)


def judged(checked: Checked) -> Counter[str]:
    return Counter(d.code for d in checked.diagnostics if d.severity == "error" and d.code in JUDGED)


def succeeds(done: Outcome) -> bool:
    before, after = judged(done.found), judged(done.left)
    return after[done.case["expect"]["code"]] == 0 and not set(after) - set(before)


def test_fixing_leaves_nine_of_ten_refused_plans_without_the_error_that_the_runtime_met() -> None:
    kept = Counter(o.case["expect"]["code"] for o in outcomes() if not succeeds(o))
    assert sum(kept.values()) <= 0.1 * len(outcomes()), kept
    assert not set(kept) - set(REMAINS), "each code that stays in some case needs its reason"


def test_fixing_adds_no_error_to_any_refused_plan() -> None:
    assert not [o.case["id"] for o in outcomes() if judged(o.left) - judged(o.found)]


def test_fixing_once_more_changes_no_refused_plan() -> None:
    assert not [o.case["id"] for o in outcomes() if o.again != o.after]


def test_fixed_plans_are_plans() -> None:
    for done in outcomes():
        data = yaml.safe_load(done.after)
        assert isinstance(data["plan_overrides"], list), done.case["id"]


def test_safe_fixes_never_change_what_a_plan_means_that_the_runtime_takes() -> None:
    for case in (c for c in cases() if c["expect"]["accept"]):
        tree, topology = fixture_tree(case["model"]), topology_of(case)
        text = yaml.dump({"plan_overrides": case["entries"]}, Dumper=yaml.CSafeDumper, sort_keys=False)
        fixed = fix_text(text, partial(check_plans, topology=topology, tree=tree))
        if fixed.text == text:
            continue
        resolved = fixed.checked.plans[0].resolved
        assert resolved is not None
        expected, actual = case["expect"]["plan"], to_json(resolved, tree, topology)["boundaries"]
        if any(d.code in RUN_WRONG for d in fixed.done):
            expected = {n: {**b, "region_dispatch": actual[n]["region_dispatch"]} for n, b in expected.items()}
        assert not difference(expected, actual), case["id"]
