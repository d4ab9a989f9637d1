"""Check plan text in-process, as the command line would: what the page and conformance tests share."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hplint.derive.boundary import Boundary
from hplint.derive.derive import derive_boundaries
from hplint.fix.loop import Checked
from hplint.front.read import read_document
from hplint.lint.case import Case  # noqa: F401 - re-exported for rule tests
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.pairing import _mismatches
from hplint.lint.registry import Registry
from hplint.lint.request import CheckedPlan
from hplint.lint.run import Engine
from hplint.lint.select import Selection
from hplint.model.tree import ModuleTree
from hplint.plan.fault import Fault
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.topology import Topology
from hplint.targets.find import TargetFinder

FIXTURES = Path(__file__).parent.parent / "fixtures"


@cache
def engine() -> Engine:
    return Engine(Registry(), Selection(), _derive)


@cache
def fixture_tree(name: str) -> ModuleTree:
    return ModuleTree.from_json(json.loads((FIXTURES / "trees" / f"{name}.json").read_text(encoding="utf-8")))


@cache
def finder() -> TargetFinder:
    return TargetFinder([FIXTURES / "conformance", FIXTURES / "targets"])


_derived: dict[Any, dict[str, Boundary]] = {}


def _derive(tree: ModuleTree, topology: Topology) -> dict[str, Boundary]:
    key = (id(tree), repr(topology))
    if key not in _derived:
        _derived[key] = derive_boundaries(tree, topology)
    return _derived[key]


def check_text(
    text: str,
    topology: Topology,
    tree: ModuleTree | None,
    suffix: str = ".yaml",
    faults: tuple[Fault, ...] = (),
) -> tuple[list[Diagnostic], list[ResolvedPlan | None]]:
    """All diagnostics of one file, and the resolved plan of each plan in it."""
    document = read_document(f"plan{suffix}", text.encode())
    found = engine().check_document(document)
    resolved = []
    for plan in document.plans:
        # What pairing a file with a mesh would record.
        own = _mismatches(plan.accelerator, topology.mesh, None) if plan.accelerator and topology.mesh else ()
        diagnostics, result = engine().check(plan, tree, topology, finder(), (*faults, *own))
        found += diagnostics
        resolved.append(result)
    found.sort(key=lambda d: (d.span, d.code))
    return found, resolved


def check_plans(
    text: str, topology: Topology, tree: ModuleTree | None, suffix: str = ".yaml"
) -> Checked:  # fmt: skip
    """The same for the fix loop, which needs each plan with what was found in it."""
    document = read_document(f"plan{suffix}", text.encode())
    found = engine().check_document(document)
    plans = []
    for plan in document.plans:
        own = _mismatches(plan.accelerator, topology.mesh, None) if plan.accelerator and topology.mesh else ()
        diagnostics, resolved = engine().check(plan, tree, topology, finder(), own)
        found += diagnostics
        found_here = tuple(diagnostics)
        plans.append(CheckedPlan(plan.source.path, plan, topology, None, tree, resolved, found_here, finder()))
    return Checked(sorted(found, key=lambda d: (d.span, d.code)), plans)


def mesh_topology(sizes: Mapping[str, int], **flags: Any) -> Topology:
    """A topology over an explicit mesh, axes of size 1 kept."""
    dp = sizes.get("dp", 1)
    return Topology(
        tp=sizes.get("tp", 1), cp=sizes.get("cp", 1), dp=dp, pp=sizes.get("pp", 1), mesh=dict(sizes),
        **({"ep": sizes.get("ep", 1)} | flags),
    )  # fmt: skip
