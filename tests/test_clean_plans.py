"""Plans that are right: shipped examples, and derived boundaries written down once more. Nothing is said of them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from checking import FIXTURES, check_text, fixture_tree, mesh_topology

from hplint.lint.request import Request, Run
from hplint.lint.session import lint
from hplint.plan.layout import CONTRACT_FIELDS
from hplint.resolve.show import to_json
from hplint.resolve.topology import Topology

PLANS = sorted((FIXTURES / "plans" / "ok").iterdir())
NAMED = re.compile(r"model=\S*?/(?:configs|trees)/(\w+)")


def check(path: Path) -> Run:
    """As its directives say, but with the stored tree of the model that they name: nothing is built."""
    named = NAMED.search(path.read_text(encoding="utf-8"))
    assert named, f"{path.name} names no model"
    return lint(Request((str(path),), model=f"tree:{FIXTURES / 'trees' / named[1]}.json", use_cache=False))


@pytest.mark.parametrize("path", PLANS, ids=lambda p: p.name)
def test_nothing_is_wrong_with_a_plan_that_is_right(path: Path) -> None:
    run = check(path)
    assert run.plans and all(p.resolved is not None and p.resolved.boundaries for p in run.plans)
    assert [(d.code, d.message) for d in run.diagnostics if d.severity != "info"] == []


def test_one_plan_is_right_unchanged_on_six_topologies() -> None:
    run = check(FIXTURES / "plans" / "ok" / "llama3_8b_six_topologies.yaml")
    assert len(run.plans) == 6 and not run.diagnostics


TOPOLOGIES = [
    mesh_topology({"dp": 2, "cp": 2, "tp": 2}, ep=4, sequence_parallel=True, loss_parallel=True),
    mesh_topology({"dp": 4, "tp": 2}),
    mesh_topology({"dp": 4, "cp": 2}, ep=2),
    mesh_topology({"dp": 4}, ep=4, sequence_parallel=True),
]


def written_down(boundaries: dict[str, Any]) -> str:
    """Every contract of a resolved plan as an entry. Left out, and so inherited: negative dims, which YAML cannot
    write, and stacked experts, whose parameters exist only once the plan is applied."""
    entries = []
    for fqn, boundary in boundaries.items():
        fields = {f: boundary[f] for f in CONTRACT_FIELDS if boundary[f] is not None and "(-" not in str(boundary[f])}
        if boundary.get("ep_stack"):
            fields.pop("params", None)
        laid = {f: {name: axes or {"tp": "replicate"} for name, axes in v.items()} for f, v in fields.items()}
        entries.append({"match": fqn, **laid})
    return json.dumps(entries)


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=lambda t: f"tp{t.tp}-cp{t.cp}-ep{t.ep}")
@pytest.mark.parametrize(
    "name", ["deepseek_v3", "dispatching_moe_8x7b", "gemma2", "mixtral", "qwen2", "qwen2_moe", "qwen3", "toy_bias"]
)
def test_writing_down_what_is_derived_changes_nothing(name: str, topology: Topology) -> None:
    tree = fixture_tree(name)
    alone, derived = check_text("- {match: lm_head, params: auto}\n", topology, tree)
    assert derived[0] is not None
    before = to_json(derived[0], tree, topology)["boundaries"]
    found, restated = check_text(written_down(before), topology, tree)
    assert {d.code for d in found} - {"HPL204"} <= {d.code for d in alone}
    assert restated[0] is not None
    after = to_json(restated[0], tree, topology)["boundaries"]
    for boundary in (*before.values(), *after.values()):
        del boundary["mode"], boundary["origin"]
    assert after == before
