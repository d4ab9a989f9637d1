"""What the page of ``hplint report`` shows, as plain JSON values: no number is worked out in the browser but sums."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from hplint import __version__
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.request import CheckedPlan, Run
from hplint.model.tree import ModuleTree
from hplint.report.folding import fold
from hplint.report.packed_names import pack
from hplint.report.page_tree import Told, page_tree
from hplint.report.plan_show import INJECTIONS, topology_words
from hplint.resolve.memory import Memory, ParameterMemory, memory
from hplint.resolve.show import to_json
from hplint.resolve.traffic import Batch, Move, moves
from hplint.text.source import Source
from hplint.text.span import Span

VERSION = 1
EMPTY_CONTRACT: dict[str, Any] = {"flows": [], "moves": [], "divided": [], "deferred": [], "stacked": {}, "ep": None}
LARGEST = 10
_NUMBERS = re.compile(r"\d+")
FLOWS = (("in", "in_src", "in_dst"), ("out", "out_src", "out_dst"))


def page_data(run: Run, batch: int, length: int | None) -> dict[str, Any]:
    """Everything on the page. ``batch`` counts sequences of one data-parallel rank, ``length`` their tokens; without
    one, traffic is that of one token. ``findings`` are those in files without a plan that could be read."""
    plans: dict[int, dict[str, Any]] = {}
    for checked in run.plans:
        plan = plans.setdefault(id(checked.plan), _plan(checked))
        seq = length or checked.topology.seq_len
        plan["topologies"].append(_topology(checked, run, Batch(batch, seq or 1)) | {"length": seq, "batch": batch})
    read = {id(p.plan.source) for p in run.plans}
    return {
        "version": VERSION,
        "hplint": __version__,
        "plans": list(plans.values()),
        "findings": [_finding(d) for d in run.diagnostics if id(d.source) not in read],
    }


def _plan(checked: CheckedPlan) -> dict[str, Any]:
    return {
        "path": checked.path,
        "name": checked.plan.name,
        "model": checked.model,
        "entries": checked.plan.size,
        "text": checked.plan.source.text,
        "topologies": [],
    }


def _topology(checked: CheckedPlan, run: Run, batch: Batch) -> dict[str, Any]:
    diagnostics = _findings(checked, run)
    shown = {"label": topology_words(checked), "findings": [_finding(d) for d in diagnostics]}
    resolved, tree, topology = checked.resolved, checked.tree, checked.topology
    if tree is None:
        return shown
    told: dict[str, list[int]] = {}
    for number, diagnostic in enumerate(diagnostics):
        for fqn in diagnostic.modules:
            told.setdefault(fqn, []).append(number)
    if resolved is None:
        return shown | _styles(checked, tree, told)
    plan = to_json(resolved, tree, topology, checked.plan)
    contracts: dict[str, list[str]] = {}
    sent: list[Move] = []
    for fqn, boundary in plan["boundaries"].items():
        own = list(moves(resolved.boundaries[fqn], tree, topology, batch))
        sent += own
        contract = _contract(boundary, resolved.boundaries[fqn].kind, own)
        contracts.setdefault(json.dumps(contract), []).append(fqn)
    held = memory(resolved, tree, topology)
    numbers = {fqn: number for number, names in enumerate(contracts.values()) for fqn in names}
    sizes = {axis: topology.size(axis) for axis in topology.active_axes}
    if topology.ep not in (None, 1):
        sizes["ep"] = topology.ep
    return shown | {
        "axes": sizes,
        "boundaries": [[pack(names), json.loads(contract)] for contract, names in contracts.items()],
        "tree": page_tree(tree, numbers, held, told),
        "memory": _memory(held),
        "traffic": _totals(sent),
        "uncounted": sorted({m.name for m in sent if m.bytes is None}),
        "special": plan["special"],
        "tied": plan["tied"],
    }


def _styles(checked: CheckedPlan, tree: ModuleTree, told: Told) -> dict[str, Any]:
    """A plan of styles: no boundary communicates as far as the plan tells, a module with a style counts as one."""
    from hplint.resolve.styles.memory import style_memory
    from hplint.resolve.styles.show import styles_json

    contracts: dict[str, list[str]] = {}
    for fqn, style in styles_json(checked.plan, tree, checked.topology)["styles"].items():
        if fqn not in tree.modules:
            continue  # A parameter with a style of its own: the tree shows its bytes.
        line = style["keys"][-1]["line"]
        contract = EMPTY_CONTRACT | {
            "kind": style["style"] or "unread",
            "mode": "style",
            "params": style["params"],
            "set": style["arguments"],
            "lines": dict.fromkeys(("params", *style["arguments"]), line) if line else {},
        }
        contracts.setdefault(json.dumps(contract), []).append(fqn)
    held = style_memory(checked.plan, tree, checked.topology)
    numbers = {fqn: number for number, names in enumerate(contracts.values()) for fqn in names}
    return {
        "axes": {"tp": checked.topology.tp},
        "boundaries": [[pack(names), json.loads(contract)] for contract, names in contracts.items()],
        "tree": page_tree(tree, numbers, held, told),
        "memory": _memory(held),
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
    return {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "path": source.path,
        "at": _at(source, diagnostic.span),
        "modules": pack(diagnostic.modules),
        "fix": diagnostic.fixes[0].title if diagnostic.fixes else None,
        "related": [[r.message, *_at(source, r.span)[:2]] for r in diagnostic.related],
    }


def _at(source: Source, span: Span) -> list[int]:
    start, end = source.position(span.start), source.position(max(span))
    return [start.line, start.column, end.line, end.column]


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
    return {
        "whole": found.whole,
        "local": found.local,
        "sharded": found.sharded,
        "replicated": found.replicated,
        "unsized": list(found.unsized),
        "largest": _largest(found.parameters),
        "largest_replicated": _largest([p for p in found.parameters if not p.is_cut]),
    }


def _largest(parameters: Sequence[ParameterMemory]) -> list[list[Any]]:
    """Name, how many, and of each: bytes of the whole, on a rank, cuts. Equal ones of several layers are one row."""
    alike: dict[tuple[str, int, int, tuple[tuple[str, int], ...]], list[str]] = {}
    for p in parameters:
        alike.setdefault((_NUMBERS.sub("*", p.name), p.whole, p.local, p.cuts), []).append(p.name)
    most = sorted(alike.items(), key=lambda item: -item[0][2])[:LARGEST]
    rows = [
        [name, count, whole, local, list(cuts)]
        for (_, whole, local, cuts), names in most
        for name, _, count in fold((name, None) for name in names)
    ]
    return rows[:LARGEST]


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
