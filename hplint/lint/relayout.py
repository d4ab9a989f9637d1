"""A boundary's contract with other parameters: what an entry has to say so that the rest of it still fits."""

from collections.abc import Iterable, Mapping
from typing import Any

from hplint.derive.boundary import Boundary
from hplint.lint.case import Case
from hplint.lint.proposal import AddEntries, AddItem, Change, Remove, Rename, SetField
from hplint.lint.remedies import injection_fields
from hplint.plan.entry import Entry
from hplint.plan.layout import Layout, Layouts
from hplint.plan.placement import PARTIAL, REPLICATE, Placement, shard
from hplint.plan.plain import plain_fields
from hplint.resolve.match import Matcher
from hplint.resolve.patterns import exact_patterns

MOST = 12
"""Entries that a fix adds at most."""
WHOLE = Layout({})
"""The layout of a tensor that every rank holds in full."""
Plain = dict[str, Placement]


def patterns_of(case: Case, modules: Iterable[str]) -> list[str]:
    """Patterns that hit these modules and no others; [] where that would take too many."""
    if case.tree is None:
        return []
    found = exact_patterns(modules, Matcher(case.tree))
    return found if len(found) <= MOST else []


def plain_layout(case: Case, boundary: Boundary, path: str, layout: Layout) -> Plain:
    """A parameter's layout as an entry would write it: over the axes that count for it."""
    from hplint.resolve.layouts import cutting_axes

    axes = cutting_axes(boundary, path, case.topology) or ("tp",)
    return {axis: layout.placements.get(axis) or REPLICATE for axis in axes}


def plain_params(case: Case, boundary: Boundary, changed: Mapping[str, Layout]) -> dict[str, Plain]:
    """All parameters of a boundary, some of them laid out anew or added."""
    known = {**(boundary.params or {}), **changed}
    return {path: plain_layout(case, boundary, path, layout) for path, layout in known.items()}


def fitting_outputs(case: Case, boundary: Boundary, params: Mapping[str, Plain]) -> dict[str, dict[str, Plain]]:
    """The output fields that have to change along with the parameters: where no parameter is cut on tp any more, the
    template's output is neither partial nor cut by features. Fields that an entry wrote are left to it."""
    if "tp" not in case.topology.active_axes or any(p.get("tp", REPLICATE).is_shard for p in params.values()):
        return {}
    found = {}
    for name in ("out_src", "out_dst"):
        layouts: Layouts = boundary.contract(name) or {}
        cut = [layout for layout in layouts.values() if layout.placements.get("tp") in (PARTIAL, shard(-1))]
        if cut and name not in boundary.origin:
            found[name] = {
                output: {axis: _joined(layout, axis) for axis in case.topology.active_axes}
                for output, layout in layouts.items()
            }
    return found


def _joined(layout: Layout, axis: str) -> Placement:
    placement = layout.placements.get(axis) or REPLICATE
    return REPLICATE if axis == "tp" and placement in (PARTIAL, shard(-1)) else placement


def add_params(
    case: Case, modules: Iterable[str], items: Mapping[str, Layout], entry: Entry | None = None
) -> tuple[Change, ...]:
    """The changes that lay out further parameters of these boundaries, which are alike.

    They go into the ``params`` of ``entry``, where it writes these and lands on no other boundary; else into entries of
    their own. () where that takes too many, or where a pattern cannot name the modules.
    """
    resolved = case.resolved
    names = list(dict.fromkeys(modules))
    if resolved is None or not names:
        return ()
    boundary = resolved.boundaries.get(names[0]) or Boundary(names[0])
    params = plain_params(case, boundary, items)
    outputs = fitting_outputs(case, boundary, params)
    if entry is not None and _lands_on(case, entry) == set(names):
        added = [AddItem(entry, "params", path, params[path]) for path in items]
        return (*added, *(SetField(entry, field, value) for field, value in outputs.items()))
    condition = {"when": entry.when.value} if entry and entry.when else {}
    return add_entries(case, names, {**condition, "params": params, **outputs}, entry)


def add_entries(
    case: Case, modules: Iterable[str], fields: Mapping[str, Any], after: Entry | None = None
) -> tuple[Change, ...]:
    """An entry of its own with these fields for each pattern that the modules need; () where that takes too many."""
    patterns = patterns_of(case, modules)
    return (AddEntries(tuple({"match": p, **fields} for p in patterns), after=after),) if patterns else ()


def narrowed(entry: Entry, patterns: list[str]) -> tuple[Change, ...]:
    """The changes that make an entry one for each of these patterns; () where a part of it could not be read."""
    said = plain_fields(entry)
    if said is None or len(entry.matches) != 1 or not patterns:
        return ()
    first, *others = patterns
    rename = Rename(entry.matches[0].span, first)
    return (rename, AddEntries(tuple({"match": p, **said} for p in others), after=entry)) if others else (rename,)


def on_condition(entry: Entry, field: str, word: str) -> tuple[Change, ...]:
    """The changes that put what an entry injects through ``field`` under a condition; what else it says stays as it
    is, in an entry of its own. () where a part of it could not be read."""
    goes = injection_fields(entry, field)
    if entry.keys.keys() <= {"match", *goes}:
        return (SetField(entry, "when", word),)
    said = plain_fields(entry, goes)
    if said is None or len(entry.matches) != 1:
        return ()
    added = AddEntries(({"match": entry.matches[0].value, "when": word, **said},), after=entry)
    return (*(Remove(entry.keys[name]) for name in goes), added)


def _lands_on(case: Case, entry: Entry) -> set[str]:
    hits = case.resolved.hits.get(entry.index) if case.resolved else None
    return {*hits.merged, *hits.inserted} if hits else set()
