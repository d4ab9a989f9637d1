"""The child process that asks an installed HyperParallel for its boundaries.

Started by ``derive/installed.py`` as ``python -m hplint.model.plan_worker``. It reads ``{"tree", "mesh", "sizes",
"flags"}`` as JSON from the standard input and prints ``{"boundaries": …}`` or ``{"error": …, "missing": bool}``.
"""

import importlib
import json
import os
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from hplint.model.tree import Module, ModuleTree

ROOTS = (
    "hyper_parallel.distributed",
    "hyper_parallel.auto_models.components.distributed",
    "hyper_models.components.distributed",
)
"""Packages in which the planner has lived, newest first."""
_MAPPINGS = ("params", "in_src", "in_dst", "out_src", "out_dst")


class PlannerMissingError(Exception):
    """No known root can be imported, or none has a planner."""


def main() -> int:
    """Answer one request. What imported packages print goes to the standard error stream."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        answer: dict[str, Any] = {"boundaries": _plan(json.load(sys.stdin))}
    except PlannerMissingError as error:
        answer = {"error": str(error), "missing": True}
    except Exception as error:  # whatever the foreign planner raises is told in one line
        lines = str(error).splitlines() or [""]
        answer = {"error": f"{type(error).__name__}: {lines[0]}", "missing": False}
    with answers:
        json.dump(answer, answers)
    return 0


def _plan(asked: Mapping[str, Any]) -> dict[str, Any]:
    planner_class = _planner_class()
    model = skeleton(ModuleTree.from_json(asked["tree"]))
    planner = planner_class({}, derive=True, allow_uncovered_params=True)
    plan = planner.plan(model, _Mesh(asked["mesh"]), **asked["sizes"], **asked["flags"])
    return {fqn: _boundary(spec) for fqn, spec in _specs(plan).items()}


def _planner_class() -> Any:
    reasons = []
    for root in ROOTS:
        try:
            return importlib.import_module(root).ShardingPlanner
        except ModuleNotFoundError as error:
            if not error.name or not (root == error.name or root.startswith(f"{error.name}.")):
                raise
        except AttributeError:
            reasons.append(f"{root} has no ShardingPlanner")
    raise PlannerMissingError("; ".join(reasons))


class _Mesh:
    """As much of a device mesh as planning looks at: names and sizes, no process group."""

    def __init__(self, axes: Mapping[str, int]) -> None:
        self.mesh_dim_names = tuple(axes)
        self.shape = tuple(axes.values())
        self.ndim = len(self.shape)

    def size(self, dim: int | None = None) -> int:
        if dim is not None:
            return self.shape[dim]
        total = 1
        for size in self.shape:
            total *= size
        return total

    def __getitem__(self, name: str) -> "_Mesh":
        return _Mesh({name: self.shape[self.mesh_dim_names.index(name)]})


def skeleton(tree: ModuleTree) -> nn.Module:
    """A model of the tree's names, classes, parameters on the meta device, ints and configuration; it cannot run."""
    made: dict[str, nn.Module] = {}
    for fqn, module in tree.modules.items():
        made[fqn] = _module(module)
        if fqn:
            owner, _, name = fqn.rpartition(".")
            made[owner].add_module(name, made[fqn])
    for alias, fqn in tree.aliases.items():
        owner, _, name = alias.rpartition(".")
        if owner in made:
            made[owner].add_module(name, made[fqn])
    for first, *others in tree.ties:
        parameter = made[first.rpartition(".")[0]].get_parameter(first.rpartition(".")[2])
        for other in others:
            owner, _, name = other.rpartition(".")
            if owner in made:
                made[owner].register_parameter(name, parameter)
    root = made[""]
    root.config = _namespace(tree.config)
    return root


def _module(module: Module) -> nn.Module:
    cls = _class(module.cls.name if module.cls else "Unknown")
    made: nn.Module = cls.__new__(cls)
    nn.Module.__init__(made)
    for name, tensor in module.parameters.items():
        dtype = getattr(torch, tensor.dtype, torch.float32)
        values = torch.empty(tensor.shape, dtype=dtype, device="meta")
        made.register_parameter(name, nn.Parameter(values, requires_grad=tensor.requires_grad))
    for name, number in module.ints.items():
        setattr(made, name, number)
    return made


def _class(dotted: str) -> Any:
    """torch's own class where it is one, else an empty class of the same name."""
    path, _, name = dotted.rpartition(".")
    if path.startswith("torch.nn."):
        return getattr(importlib.import_module(path), name)
    return type(name, (nn.Module,), {"__module__": path or "unknown"})


def _namespace(values: Any) -> Any:
    if isinstance(values, Mapping):
        return SimpleNamespace(**{str(k): _namespace(v) for k, v in values.items()})
    return values


def _specs(plan: Any) -> Mapping[str, Any]:
    """The plan's mapping from module names to specs, under whatever name this version keeps it."""
    for value in (plan, *vars(plan).values()) if hasattr(plan, "__dict__") else (plan,):
        if isinstance(value, Mapping) and value and all(hasattr(v, "in_src") for v in value.values()):
            return value
    raise TypeError(f"{type(plan).__name__} holds no mapping from modules to specs")


def _boundary(spec: Any) -> dict[str, Any]:
    fields = {name: _layouts(getattr(spec, name, None)) for name in _MAPPINGS}
    return fields | {
        "region_dispatch": getattr(spec, "region_dispatch", None),
        "ep_size": getattr(spec, "ep_size", None) or None,
    }


def _layouts(value: Any) -> dict[str, dict[str, str]] | None:
    if value is None:
        return None
    return {
        name: {str(getattr(axis, "value", axis)): _placement(p) for axis, p in layout.items()}
        for name, layout in value.items()
    }


def _placement(value: Any) -> str:
    kind = type(value).__name__.lstrip("_").lower()
    return f"shard({value.dim})" if kind == "shard" else kind


if __name__ == "__main__":
    sys.exit(main())
