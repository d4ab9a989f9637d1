"""Shipped tp_plans of fixture models, changed on purpose, applied and compared inside of the shared ranks."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from verifying import FIXTURES, ROOT

from hplint.apply.applier import apply_plan
from hplint.apply.mesh.meshes import build_meshes
from hplint.apply.plan import ApplyPlan
from hplint.apply.run.model_values import model_with_values
from hplint.apply.styles.dialect import freeze
from hplint.lint.shipped_document import shipped_document
from hplint.model.build import model_request
from hplint.model.read_tree import read_tree
from hplint.model.spec import parse_spec
from hplint.plan.entry import Text
from hplint.plan.plan import Plan
from hplint.plan.style import Style, StyleEntry
from hplint.resolve.topology import Topology
from hplint.text.span import START

Changes = Mapping[str, str | None]
"""Key -> the word that it gets; None takes its rule away."""


def config(folder: Path, name: str, **changes: Any) -> str:
    """A small model of fixtures/conformance, changed: the path of a folder of its own."""
    values = json.loads((FIXTURES / "conformance" / "models" / name / "config.json").read_text(encoding="utf-8"))
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(values | {"vocab_size": 64} | changes), encoding="utf-8")
    return str(folder)


def request_of(model: str) -> dict[str, Any]:
    """``tiny_llama`` is a folder of fixtures/configs, anything else a path."""
    folder = FIXTURES / "configs" / model
    return dict(model_request(parse_spec(f"hf:{folder if folder.is_dir() else model}", ROOT), ()))


def make(model: str) -> nn.Module:
    """The model with seeded values."""
    return model_with_values(request_of(model), 0, torch.device("cpu"), "eager")


def on(tp: int = 2, ep: int = 1) -> Topology:
    """A mesh of tp alone; experts over the same ranks."""
    return Topology(tp=tp, cp=1, dp=1, pp=1, ep=ep)


def plan_for(model: nn.Module, changes: Changes = {}, topology: Topology | None = None) -> ApplyPlan:  # noqa: B006
    """The plan that a model ships, changed, without the rules of the linter."""
    topology = topology or on()
    tree = read_tree(model, "")
    sections = ("tp", "ep") if (topology.ep or 1) > 1 else ("tp",)
    plans = shipped_document(tree, sections).plans
    return freeze((_changed(plans[0], changes), *plans[1:]), tree, topology)


def _changed(plan: Plan, changes: Changes) -> Plan:
    entries = [e for e in plan.styles if e.key is not None and e.key.value not in changes]
    for number, (key, word) in enumerate(changes.items()):
        if word is not None:
            entries.append(StyleEntry(1000 + number, Text(key, START), Style(word, "hf", START), START, shipped=True))
    return replace(plan, styles=tuple(entries))


def verified(model: str, changes: Changes = {}, ep: int = 1) -> dict[str, Any]:  # noqa: B006
    """Runs on each rank: apply the changed plan, compare."""
    plan = plan_for(make(model), changes, on(2, ep))
    assert plan.styles is not None
    found = plan.styles.verify(lambda: make(model), plan, build_meshes(plan.topology), 0, None, None)
    return found.to_json()


def applied(model: str, ep: int = 1) -> nn.Module:
    """Runs on each rank: the model under the plan that it ships."""
    live = make(model)
    plan = plan_for(live, {}, on(2, ep))
    apply_plan(live, plan, build_meshes(plan.topology))
    return live
