"""Overrides: what the active entries of a plan say about one match, folded together, in the order of application."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hplint.plan.entry import SHARDING_FIELDS, Entry, Text
from hplint.plan.layout import CONTRACT_FIELDS
from hplint.plan.plan import Plan
from hplint.resolve.topology import WHEN_WORDS, Topology

OTHER_FIELDS = (
    "region_dispatch", "inner_target", "inner_wrapper", "inner_out_src", "local_compute_fn", "tp_divide_attrs",
    "out_names",
)  # fmt: skip


class Change(NamedTuple):
    """What an override does to one field: set ``value``; take it away (``sentinel`` none); leave it as it is (auto); or
    nobody knows (``broken``; with ``value``, as far as it could be read)."""

    field: str
    entry: Entry
    value: Any = None
    sentinel: str | None = None
    broken: bool = False


@dataclass(slots=True)
class Override:
    """One match with the last change that its entries make to each field; all stand at the place of the first one."""

    match: Text
    entries: list[Entry] = field(default_factory=list)
    changes: dict[str, Change] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Fold another entry in, field by field; what it leaves out or null stays (2.3)."""
        self.entries.append(entry)
        self.changes.update((c.field, c) for c in _changes(entry))

    @property
    def contract(self) -> list[Change]:
        """The changes to contract fields."""
        return [c for name in CONTRACT_FIELDS if (c := self.changes.get(name))]

    @property
    def inserts(self) -> bool:
        """Whether a glob of this override creates boundaries: some contract field is a mapping, or may be one."""
        return any(c.sentinel is None for c in self.contract)


def overrides(plan: Plan, topology: Topology, include_inactive: bool) -> list[Override]:
    """The overrides of a plan in the order in which they apply."""
    found: dict[str, Override] = {}
    python = plan.dialect == "python"
    for entry in plan.entries:
        if not (include_inactive or _is_active(entry, topology)) or not acts_on_boundaries(entry):
            continue
        for match in entry.matches:
            override = found.get(match.value)
            if override is None or python:
                # A key that a dict has already keeps its position and loses its value.
                override = found[match.value] = Override(match)
            override.add(entry)
    return list(found.values())


def _is_active(entry: Entry, topology: Topology) -> bool:
    word = entry.when.value if entry.when else None
    return word not in WHEN_WORDS or topology.when_active(word)


def acts_on_boundaries(entry: Entry) -> bool:
    """Whether the sharding pass looks at an entry: one that only replaces modules is skipped whole (S34)."""
    if entry.replace_module is None and "replace_module" not in entry.broken:
        return True
    return any(c.field in SHARDING_FIELDS for c in _changes(entry))


def _changes(entry: Entry) -> Iterable[Change]:
    for name in CONTRACT_FIELDS:
        written = entry.contract.get(name)
        if written is None or written.broken:
            if written is not None or name in entry.broken:
                yield Change(name, entry, broken=True)
        elif not written.null:
            yield Change(name, entry, written.layouts, written.sentinel, written.partly_broken)
    for name in OTHER_FIELDS:
        value = getattr(entry, name)
        if name in entry.broken:
            yield Change(name, entry, broken=True)
        elif value is not None:
            yield Change(name, entry, _plain(name, value))


def _plain(name: str, value: Any) -> Any:
    if name == "region_dispatch":
        return value.value
    return tuple(t.value for t in value) if name == "out_names" else value
