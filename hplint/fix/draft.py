"""Contract drafts: what an entry lacks in order to create its boundaries, worked out from the model and from what lies
around them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hplint.fix.draft_contract import Contract, Drafter, Tensors
from hplint.fix.draft_parameters import is_cut
from hplint.fix.draft_setting import Placements, Setting
from hplint.fix.edit import CannotRealise
from hplint.lint.proposal import AddEntries, Change, Draft, Rename, SetField
from hplint.model.tree import ModuleTree
from hplint.plan.entry import Entry
from hplint.plan.layout import CONTRACT_FIELDS, Layouts
from hplint.plan.pattern import is_glob
from hplint.plan.placement import PARTIAL
from hplint.plan.plain import plain_fields
from hplint.plan.plan import Plan
from hplint.resolve.match import Matcher
from hplint.resolve.patterns import exact_patterns
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.topology import Topology

if TYPE_CHECKING:
    from hplint.targets.find import TargetFinder

COMMENT = "draft by hplint: check before use"
MOST = 32
"""Entries into which one is split at most."""

Fields = dict[str, Any]
"""Field -> value: contract fields, and ``out_names`` where the dialect has it."""


class _Group(NamedTuple):
    """Modules of one class that need the same fields."""

    fields: Fields
    modules: list[str]


def expand(
    change: Draft,
    plan: Plan,
    tree: ModuleTree,
    topology: Topology,
    resolved: ResolvedPlan,
    others: Sequence[Topology] = (),
    finder: "TargetFinder | None" = None,
) -> tuple[Change, ...]:
    """The changes that a draft comes to: fields for its entry, or for the several entries that it is split into.

    ``topology`` is the one that the finding was made on, ``others`` are further ones that the plan runs on: layouts
    name the active axes of all, and what is cut divides by all. ``finder`` reads forwards for the number of their
    outputs. Raises CannotRealise.
    """
    entry = change.entry
    modules = [fqn for fqn in change.modules if fqn in tree.modules]
    if not modules or len(entry.matches) != 1:
        raise CannotRealise("it is not known for which modules")
    topologies = _supposed(entry, (topology, *others))
    setting = Setting(tree, topologies, resolved, frozenset(modules), plan.dialect == "python", finder)
    drafter = Drafter(setting)
    groups = _grouped(setting, modules, [_fields(change, drafter, plan, fqn) for fqn in modules])
    match = entry.matches[0].value
    matcher = Matcher(tree)
    hits = matcher.hits(match) if is_glob(match) else ()
    rest = [fqn for fqn in hits if fqn not in setting.drafted]
    if len(groups) == 1 and not rest:
        return _in_place(entry, groups[0].fields)
    return _split(entry, groups, rest, matcher)


def _supposed(entry: Entry, topologies: Sequence[Topology]) -> tuple[Topology, ...]:
    """The topologies on which an entry counts; all, its condition supposed to hold, where it counts on none."""
    word = entry.when.value if entry.when else None
    if word is None:
        return tuple(topologies)
    active = tuple(t for t in topologies if t.when_active(word))
    return active or tuple(t.activated(frozenset((word,))) for t in topologies)


def _grouped(setting: Setting, modules: Sequence[str], fields: Sequence[Fields]) -> list[_Group]:
    groups: dict[tuple[object, ...], _Group] = {}
    for fqn, own in zip(modules, fields, strict=True):
        key = (setting.tree.modules[fqn].node.cls, repr(own))
        groups.setdefault(key, _Group(own, [])).modules.append(fqn)
    return list(groups.values())


def _in_place(entry: Entry, fields: Fields) -> tuple[Change, ...]:
    # The comment stands above the first of them: what is there already comes before what is added.
    order = [f for f in entry.keys if f in fields] + [f for f in fields if f not in entry.keys]
    return tuple(SetField(entry, f, fields[f], COMMENT if f == order[0] else "") for f in order)


def _split(entry: Entry, groups: Sequence[_Group], rest: Sequence[str], matcher: Matcher) -> tuple[Change, ...]:
    """One entry for each pattern of each group; ``rest`` are modules for which the entry is right as it is."""
    parts: list[tuple[str, Fields, str]] = [(p, {}, "") for p in exact_patterns(rest, matcher)]
    for group in groups:
        for number, pattern in enumerate(exact_patterns(group.modules, matcher)):
            parts.append((pattern, group.fields, "" if number else COMMENT))
    said = plain_fields(entry)
    if said is None:
        raise CannotRealise("a part of the entry could not be read")
    if not parts:
        raise CannotRealise("no pattern hits the root module alone")
    if len(parts) > MOST:
        raise CannotRealise(f"it would take {len(parts)} entries")
    (match, fields, _), *others = parts
    changes: list[Change] = [Rename(entry.matches[0].span, match), *_in_place(entry, fields)]
    for pattern, fields, comment in others:
        changes.append(AddEntries(({"match": pattern, **said, **fields},), after=entry, comment=comment))
    return tuple(changes)


def _fields(change: Draft, drafter: Drafter, plan: Plan, fqn: str) -> Fields:
    """The fields to write for a module: those that were asked for, else all that no entry lays out."""
    boundary = drafter.setting.resolved.boundaries.get(fqn)
    kept: dict[str, Layouts] = {}
    for field in CONTRACT_FIELDS:
        if field in change.fields:
            continue
        written = change.entry.contract.get(field)
        if written is not None and (written.layouts is not None or written.broken):
            kept[field] = written.layouts or {}
        elif boundary is not None and (boundary.kind is not None or field in boundary.origin):
            kept[field] = boundary.contract(field) or {}
    contract = drafter.contract(fqn, uncut=_is_uncut(drafter, fqn, kept))
    fields: Fields = {}
    for field in change.fields or CONTRACT_FIELDS:
        if field in kept:
            continue
        value = _continued(drafter.setting, contract, field, kept)
        sentinel = field in change.entry.keys
        if value is not None or sentinel:
            fields[field] = value or {}
    several = len(contract.outputs) > 1 and "out_src" in fields and "out_dst" in fields
    if several and plan.dialect == "python" and "out_names" not in change.entry.keys:
        fields["out_names"] = list(contract.outputs)
    return fields


def _is_uncut(drafter: Drafter, fqn: str, kept: Mapping[str, Layouts]) -> bool:
    """Whether what is written already tells that no parameter is cut, or leaves no room for partial outputs."""
    setting = drafter.setting
    if "params" in kept:
        return not is_cut({path: setting.placements(o) or {} for path, o in kept["params"].items()})
    if "out_src" not in kept or PARTIAL not in drafter.contract(fqn).leaving.values():
        return False
    layouts = (setting.placements(o) for o in kept["out_src"].values())
    return not any(PARTIAL in (placements or {}).values() for placements in layouts)


def _continued(setting: Setting, contract: Contract, field: str, kept: Mapping[str, Layouts]) -> Tensors | None:
    """The drafted value of a field. Its partner, in_src for in_dst say, gives the names where it was written."""
    partner = {"in_src": "in_dst", "in_dst": "in_src", "out_src": "out_dst", "out_dst": "out_src"}.get(field)
    drafted = contract.fields.get(field)
    names = kept.get(partner or "")
    if not partner or not names:
        return drafted
    default: Placements = {
        "in_src": contract.entering,
        "in_dst": contract.inside,
        "out_src": contract.leaving,
        "out_dst": contract.handed_on,
    }[field]
    found: Tensors = {}
    for name, layout in names.items():
        own = setting.placements(layout)
        same = contract.entering == contract.inside if field in ("in_src", "in_dst") else False
        found[name] = own if field == "in_dst" and same and own is not None else (drafted or {}).get(name, default)
    return found
