"""Draft, write and check again: what the tests on drafts share."""

from collections.abc import Sequence
from typing import Any

import yaml
from checking import check_plans, finder, fixture_tree, mesh_topology

from hplint.fix.draft import COMMENT, expand
from hplint.fix.edit import apply
from hplint.fix.yaml_edit import realise
from hplint.lint.proposal import Change, Draft
from hplint.model.tree import ModuleTree
from hplint.resolve.topology import Topology


def changes(
    text: str, tree: ModuleTree, topology: Topology, modules: Sequence[str] = (), others: Sequence[Topology] = ()
) -> tuple[Change, ...]:
    """What a draft for the last entry of a plan comes to; for its match, unless modules are given."""
    checked = check_plans(text, topology, tree).plans[0]
    assert checked.resolved is not None
    entry = checked.plan.entries[-1]
    names = tuple(modules) or tuple(t.value for t in entry.matches)
    return expand(Draft(entry, names), checked.plan, tree, topology, checked.resolved, others, finder())


def drafted(
    text: str, model: str, modules: Sequence[str] = (), others: Sequence[dict[str, int]] = (), **setting: Any
) -> str:
    """The text of a plan after a draft for its last entry. ``setting``: axis sizes and flags."""
    tree, topology = fixture_tree(model), topology_of(setting)
    further = [topology_of({**setting, **sizes}) for sizes in others]
    plan = check_plans(text, topology, tree).plans[0].plan
    return apply(text, realise(plan.source, plan, changes(text, tree, topology, modules, further)))


def topology_of(setting: dict[str, Any]) -> Topology:
    flags = {k: v for k, v in setting.items() if k not in ("tp", "cp")}
    return mesh_topology({"dp": 2, "cp": setting.get("cp", 1), "tp": setting.get("tp", 1)}, **flags)


def contract(match: str, model: str, **setting: Any) -> dict[str, Any]:
    """The one drafted entry for a module, as data."""
    (entry,) = yaml.safe_load(drafted(f"- match: {match}\n", model, **setting))
    return {k: v for k, v in entry.items() if k != "match"}


def complaints(text: str, model: str, **setting: Any) -> list[str]:
    """What a check says of a text, but for attention that lacks a wrapper and experts that nothing computes."""
    found = check_plans(text, topology_of(setting), fixture_tree(model)).diagnostics
    return [f"{d.code} {d.message}" for d in found if d.code not in ("HPL410", "HPL411")]


__all__ = ["COMMENT", "changes", "complaints", "contract", "drafted", "topology_of"]
