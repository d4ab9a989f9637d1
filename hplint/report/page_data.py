"""What the page of ``hplint report`` shows, as plain JSON values: no number is worked out in the browser but sums."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from hplint import __version__
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.request import CheckedPlan, Run
from hplint.model.tree import ModuleTree
from hplint.report.packed_names import Packed, pack
from hplint.report.plan_show import INJECTIONS, topology_words
from hplint.resolve.memory import Memory, memory
from hplint.resolve.show import to_json
from hplint.resolve.traffic import Batch, Move, moves

VERSION = 1
FLOWS = (("in", "in_src", "in_dst"), ("out", "out_src", "out_dst"))


def page_data(run: Run, batch: int, length: int | None) -> dict[str, Any]:
    """Everything on the page. ``batch`` counts sequences of one data-parallel rank, ``length`` their tokens; without
    one, traffic is that of one token."""
    trees: dict[int, int] = {}
    shown: list[ModuleTree] = []
    plans: dict[int, dict[str, Any]] = {}
    for checked in run.plans:
        if checked.tree is not None and id(checked.tree) not in trees:
            trees[id(checked.tree)] = len(shown)
            shown.append(checked.tree)
        plan = plans.setdefault(id(checked.plan), _plan(checked, trees))
        seq = length or checked.topology.seq_len
        plan["topologies"].append(_topology(checked, run, Batch(batch, seq or 1)) | {"length": seq, "batch": batch})
    return {
        "version": VERSION,
        "hplint": __version__,
        "trees": [_tree(tree) for tree in shown],
        "plans": list(plans.values()),
        "findings": [_finding(d) for d in run.diagnostics if not any(d.source is p.plan.source for p in run.plans)],
    }


def _plan(checked: CheckedPlan, trees: dict[int, int]) -> dict[str, Any]:
    return {
        "path": checked.path,
        "name": checked.plan.name,
        "model": checked.model,
        "entries": checked.plan.size,
        "tree": trees.get(id(checked.tree)),
        "text": checked.plan.source.text,
        "topologies": [],
    }


def _tree(tree: ModuleTree) -> dict[str, Any]:
    """Nodes as the tree shares them: the page opens them one by one."""
    return {
        "classes": [cls.name for cls in tree.classes],
        "root": tree.root,
        "nodes": [
            [n.cls, [list(c) for c in n.children], [[k, list(t.shape), t.dtype] for k, t in n.parameters.items()]]
            for n in tree.nodes
        ],
    }


def _topology(checked: CheckedPlan, run: Run, batch: Batch) -> dict[str, Any]:
    found = {"label": topology_words(checked), "findings": [_finding(d) for d in _findings(checked, run)]}
    resolved, tree, topology = checked.resolved, checked.tree, checked.topology
    if resolved is None or tree is None:
        return found
    plan = to_json(resolved, tree, topology, checked.plan)
    contracts: dict[str, list[str]] = {}
    sent: list[Move] = []
    for fqn, boundary in plan["boundaries"].items():
        own = list(moves(resolved.boundaries[fqn], tree, topology, batch))
        sent += own
        contract = _contract(boundary, resolved.boundaries[fqn].kind, own)
        contracts.setdefault(json.dumps(contract), []).append(fqn)
    sizes = {axis: topology.size(axis) for axis in (*topology.active_axes, "ep")}
    return found | {
        "axes": {axis: size for axis, size in sizes.items() if size not in (None, 1)},
        "boundaries": [[pack(names), json.loads(contract)] for contract, names in contracts.items()],
        "memory": _memory(memory(resolved, tree, topology)),
        "traffic": _totals(sent),
        "uncounted": sorted({m.name for m in sent if m.bytes is None}),
        "special": plan["special"],
        "tied": plan["tied"],
    }


def _findings(checked: CheckedPlan, run: Run) -> list[Diagnostic]:
    """What is told of this plan on this topology, and of its file as a whole."""
    here = {(d.code, d.span, d.message): d for d in checked.diagnostics}
    others = {
        (d.code, d.span, d.message)
        for p in run.plans
        if p is not checked and p.plan.source is checked.plan.source
        for d in p.diagnostics
    }
    told = [d for d in run.diagnostics if d.source is checked.plan.source]
    keys = [(d.code, d.span, d.message) for d in told]
    return [here.get(key, d) for d, key in zip(told, keys, strict=True) if key in here or key not in others]


def _finding(diagnostic: Diagnostic) -> dict[str, Any]:
    source = diagnostic.source
    start, end = source.position(diagnostic.span.start), source.position(max(diagnostic.span))
    return {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "path": source.path,
        "at": [start.line, start.column, end.line, end.column],
        "modules": pack(diagnostic.modules),
        "fix": diagnostic.fixes[0].title if diagnostic.fixes else None,
    }


def _contract(boundary: dict[str, Any], kind: str | None, sent: Sequence[Move]) -> dict[str, Any]:
    lines = {field: place["line"] for field, place in boundary["origin"].items()}
    return {
        "kind": kind,
        "mode": boundary["mode"],
        "params": boundary["params"] or {},
        "flows": [
            [side, name, (boundary[a] or {}).get(name), (boundary[b] or {}).get(name)]
            for side, a, b in FLOWS
            for name in dict.fromkeys((*(boundary[a] or {}), *(boundary[b] or {})))
        ],
        "moves": [[m.side, m.name, m.axis, m.forward, m.backward, m.bytes] for m in sent],
        "set": {f: boundary[f] for f in INJECTIONS if boundary[f] not in (None, [])},
        "divided": boundary["auto_divided"],
        "deferred": boundary["deferred_biases"],
        "stacked": {path: len(parts) for path, parts in boundary["ep_stack"].items()},
        "ep": boundary["ep_size"],
        "lines": lines,
    }


def _memory(found: Memory) -> dict[str, Any]:
    groups: dict[tuple[int, int, tuple[tuple[str, int], ...]], list[str]] = {}
    for parameter in found.parameters:
        groups.setdefault((parameter.whole, parameter.local, parameter.cuts), []).append(parameter.name)
    return {
        "whole": found.whole,
        "local": found.local,
        "sharded": found.sharded,
        "replicated": found.replicated,
        "unsized": list(found.unsized),
        "parameters": [[pack(names), whole, local, list(cuts)] for (whole, local, cuts), names in groups.items()],
        "largest": [[p.name, p.whole, p.local, list(p.cuts)] for p in found.largest()],
        "largest_replicated": [[p.name, p.whole, p.local, list(p.cuts)] for p in found.largest(replicated=True)],
    }


def _totals(sent: Iterable[Move]) -> list[list[Any]]:
    """Axis, direction, collective, calls, bytes: added up over all boundaries."""
    totals: dict[tuple[str, str, str], list[int]] = {}
    for move in sent:
        for direction, collective in (("forward", move.forward), ("backward", move.backward)):
            if collective:
                row = totals.setdefault((move.axis, direction, collective), [0, 0])
                row[0] += 1
                row[1] += move.bytes or 0
    return [[*key, *row] for key, row in sorted(totals.items())]


__all__ = ["Packed", "page_data"]
