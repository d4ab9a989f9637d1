"""A resolved plan of styles as plain JSON values: ``hplint plan show --format json``."""

from typing import Any

from hplint.model.tree import ModuleTree
from hplint.plan.entry import UNKNOWN
from hplint.plan.placement import REPLICATE, Placement, shard
from hplint.plan.plan import Plan
from hplint.plan.style import StyleEntry
from hplint.resolve.style_coverage import cuts, style_coverage
from hplint.resolve.styles import resolve_styles
from hplint.resolve.topology import Topology

VERSION = 1


def styles_json(plan: Plan, tree: ModuleTree, topology: Topology) -> dict[str, Any]:
    """Modules that have a style, in module order, with the layouts of their own parameters over tp; then what the plan
    saves, and what it leaves whole. Bytes are null where the size of tp is not known."""
    resolved = resolve_styles(plan, tree, topology)
    modules: dict[str, Any] = {}
    for fqn, entries in resolved.by_module.items():
        if fqn not in tree.modules:
            continue
        entry, module = resolved.winners[fqn], tree.modules[fqn]
        cut = cuts(plan, entry.style, module) if entry.style else {}
        modules[fqn] = {
            "style": entry.style.name if entry.style else None,
            "base": entry.style.base if entry.style else None,
            "arguments": {n: _plain(k.value) for n, k in entry.style.arguments.items()} if entry.style else {},
            "params": {n: {"tp": str(shard(cut[n]) if n in cut else REPLICATE)} for n in module.parameters},
            "keys": [_key(e, plan) for e in entries],
        }
    size = topology.tp
    found = style_coverage(plan, tree, resolved, size or 1)
    return {
        "version": VERSION,
        "topology": topology.to_json(),
        "styles": modules,
        "unmatched": [_key(e, plan) for e in resolved.unmatched],
        "guessed_root": sorted({r for i in resolved.guessed for r in resolved.roots.get(i, ())}),
        "coverage": {
            "bytes": found.whole,
            "bytes_per_rank": found.per_rank if size else None,
            "weight_bytes": found.weights,
            "cut_bytes": found.cut,
            "uncovered": [{"name": name, "bytes": count} for name, count in found.largest],
            "odd_layers": [{"layer": layer, "whole": names} for layer, names in found.odd],
        },
    }


def _key(entry: StyleEntry, plan: Plan) -> dict[str, Any]:
    line = plan.source.position(entry.span.start).line
    return {"key": entry.key.value if entry.key else None, "path": plan.source.path, "line": line}


def _plain(value: Any) -> Any:
    """An argument as JSON has it; placements as they are spelled."""
    match value:
        case Placement():
            return str(value)
        case tuple():
            return [_plain(v) for v in value]
        case dict():
            return {str(k): _plain(v) for k, v in value.items()}
    return "?" if value is UNKNOWN else value
