"""Resolved plans and the faults of resolving against the verdicts of the real runtime."""

import json
from functools import cache
from typing import Any

import pytest
import yaml
from checking import FIXTURES, fixture_tree, mesh_topology
from trees import plan_of

from hplint.derive.derive import derive_boundaries
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.resolver import resolve
from hplint.resolve.show import to_json

CODES = {
    "unknown-module": "HPL101", "glob-matches-nothing": "HPL102", "merge-only-glob": "HPL103",
    "sentinel-on-insert": "HPL301", "missing-contract": "HPL302", "dropped-parameters": "HPL305",
    "expert-region": "HPL802",
}  # fmt: skip
WARNINGS = {"HPL102", "HPL305"}
AFTER_MERGE = frozenset((
    "HPL304", "HPL205", "HPL206", "HPL306", "HPL307", "HPL310", "HPL403", "HPL401", "HPL404", "HPL405", "HPL504",
    "HPL502", "HPL503", "HPL507", "HPL402", "HPL508",
))  # fmt: skip
"""Codes of checks that the runtime makes when all entries have been applied."""


@cache
def cases() -> list[dict[str, Any]]:
    lines = (FIXTURES / "conformance" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def resolved(case: dict[str, Any]) -> tuple[ResolvedPlan, dict[str, Any]]:
    given = case["topology"]
    sizes = {"dp": 2} | {a: given[a] for a in ("cp", "tp") if given[a] > 1}
    flags = {k: given[k] for k in ("ep", "sequence_parallel", "loss_parallel", "derive")}
    topology, tree = mesh_topology(sizes, **flags), fixture_tree(case["model"])
    plan = plan_of(yaml.safe_dump({"plan_overrides": case["entries"]}, sort_keys=False))
    found = resolve(plan, tree, topology, derive_boundaries(tree, topology))
    return found, to_json(found, tree, topology, plan)["boundaries"]


def codes_of(found: ResolvedPlan) -> set[str]:
    return {CODES[f.rule] for f in found.faults}


def difference(expected: dict[str, Any], shown: dict[str, Any]) -> str | None:
    """Where the shown plan says something else; fields that a case leaves out are unset or empty."""
    if expected.keys() != shown.keys():
        return f"boundaries {sorted(expected.keys() ^ shown.keys())}"
    for fqn, fields in shown.items():
        for name, value in fields.items():
            if name not in ("mode", "origin") and (value or None) != (expected[fqn].get(name) or None):
                return f"{fqn}.{name}: {value} instead of {expected[fqn].get(name)}"
        for name in ("out_src", "out_dst"):
            if (fields[name] is None) != (expected[fqn][name] is None):
                return f"{fqn}.{name}: empty and unset are taken for each other"
    return None


def test_every_accepted_plan_resolves_to_the_boundaries_of_the_runtime() -> None:
    accepted = [c for c in cases() if c["expect"]["accept"]]
    assert len(accepted) == 280
    wrong = {c["id"]: text for c in accepted if (text := difference(c["expect"]["plan"], resolved(c)[1]))}
    assert not wrong


def test_accepted_plans_have_exactly_the_warnings_of_the_runtime_and_no_other_fault() -> None:
    wrong = {}
    for case in cases():
        if case["expect"]["accept"] and (codes := codes_of(resolved(case)[0])) != set(case["expect"]["warnings"]):
            wrong[case["id"]] = codes
    assert not wrong


@pytest.mark.parametrize("code", sorted(set(CODES.values()) - WARNINGS))
def test_every_refusal_of_the_runtime_while_merging_is_a_fault(code: str) -> None:
    refused = [c for c in cases() if c["expect"].get("code") == code]
    assert refused
    assert not [c["id"] for c in refused if code not in codes_of(resolved(c)[0])]


def test_plans_refused_after_merging_merge_without_a_fault_and_with_the_runtimes_warnings() -> None:
    wrong = {}
    for case in cases():
        if case["expect"].get("code") in AFTER_MERGE:
            codes = codes_of(resolved(case)[0])
            if codes != set(case["expect"]["warnings"]):
                wrong[case["id"]] = codes
    assert not wrong
