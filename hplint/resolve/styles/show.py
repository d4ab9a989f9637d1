"""A resolved plan of styles as plain JSON values: ``hplint plan show --format json``."""

from typing import Any

from hplint.model.tree import ModuleTree
from hplint.plan.entry import UNKNOWN
from hplint.plan.placement import REPLICATE, Placement, shard
from hplint.plan.plan import Plan
from hplint.plan.style import StyleEntry
from hplint.resolve.styles.coverage import style_coverage
from hplint.resolve.styles.cuts import Cut, module_cuts
from hplint.resolve.styles.resolved import resolve_styles
from hplint.resolve.topology import Topology

VERSION = 1


def styles_json(plan: Plan, tree: ModuleTree, topology: Topology) -> dict[str, Any]:
    """Modules that have a style, in module order, with the layouts of their own parameters; parameters that have one of
    their own stand under their full names. Then what the plan saves, and what it leaves whole. Bytes are null where the
    size of an axis that cuts is not known; so are path and line of entries that the model ships beside the plan."""
    resolved = resolve_styles(plan, tree, topology)
    beside = {e.index for e in resolved.beside}
    styles: dict[str, Any] = {}
    for name, entries in resolved.by_module.items():
        # Where none counts, another plan has taken the module over.
        entry = resolved.winners.get(name, entries[-1])
        module = tree.modules.get(name) or tree.modules[name.rpartition(".")[0]]
        cuts = [c for c in module_cuts(plan, module, resolved.winners) if name in (module.fqn, c.name)]
        styles[name] = {
            "style": entry.style.name if entry.style else None,
            "base": entry.style.base if entry.style else None,
            "arguments": {n: _plain(k.value) for n, k in entry.style.arguments.items()} if entry.style else {},
            "params": {c.name.rpartition(".")[2]: {c.axis: _placement(c)} for c in cuts},
            "keys": [_key(e, plan, e.index in beside) for e in entries],
        }
    found = style_coverage(plan, tree, resolved, topology)
    sized = topology.tp is not None and not found.unsized
    return {
        "version": VERSION,
        "topology": topology.to_json(),
        "styles": styles,
        "unmatched": [_key(e, plan) for e in resolved.unmatched],
        "guessed_root": sorted({r for i in resolved.guessed for r in resolved.roots.get(i, ())}),
        "coverage": {
            "bytes": found.whole,
            "bytes_per_rank": found.per_rank if sized else None,
            "weight_bytes": found.weights,
            "cut_bytes": found.cut,
            "uncovered": [{"name": g.name, "bytes": g.bytes, "count": g.times} for g in found.largest],
            "odd_layers": [{"layer": layer, "whole": names} for layer, names in found.odd],
        },
    }


def _placement(cut: Cut) -> str:
    """How a parameter lies over the axis; "?" where the style cannot be read."""
    return "?" if cut.is_unread else str(REPLICATE if cut.dim is None else shard(cut.dim))


def _key(entry: StyleEntry, plan: Plan, beside: bool = False) -> dict[str, Any]:
    line = None if beside else plan.source.position(entry.span.start).line
    path = None if beside else plan.source.path
    return {"key": entry.key.value if entry.key else None, "path": path, "line": line}


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
