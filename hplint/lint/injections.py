"""The injected functions of a plan, each with the boundaries on which it counts: what the rules on them walk."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hplint.derive.boundary import Boundary
from hplint.lint.case import Case
from hplint.plan.entry import Entry, Target, Text

if TYPE_CHECKING:
    from hplint.targets.reading import Reading
    from hplint.targets.shipped import Shipped

INJECTIONS = ("local_compute_fn", "inner_wrapper", "replace_module")
"""Fields that name a function to inject."""


@dataclass(slots=True)
class Injection:
    """One function that an entry injects, by target or (``inner_wrapper`` alone) by registry name.

    ``boundaries`` are those on which this entry's value is the one that counts after all merging; empty without a
    model. ``reading`` is None for registry names, and where nothing can be read. ``severity`` is "warning" where the
    runtime would never get to the function: the entry lands nowhere, or is overridden wherever it lands.
    """

    field: str
    value: Target | Text
    entry: Entry
    boundaries: tuple[Boundary, ...] = ()
    reading: "Reading | None" = None
    severity: str | None = None

    @property
    def path(self) -> Text:
        """The dotted path or the registry name, with its place."""
        return self.value.path if isinstance(self.value, Target) else self.value

    @property
    def shipped(self) -> "Shipped | None":
        """The row of a function that HyperParallel ships."""
        from hplint.targets.shipped import find_shipped

        return find_shipped(self.path.value)

    @property
    def mark(self) -> str:
        """The decorator that its function must carry."""
        from hplint.targets.context import MARK

        return MARK[self.field]

    @property
    def other_marks(self) -> frozenset[str]:
        """The decorators that its function carries in the place of the right one; none where it has that, where it has
        none at all, and where it cannot be read."""
        marks = (self.reading.marks if self.reading else None) or frozenset()
        return frozenset() if self.mark in marks else marks

    @property
    def foreign_context(self) -> frozenset[str]:
        """The context parameters of other fields, where its function lacks the decorator that would tell its own."""
        from hplint.targets.context import CONTEXT

        if not self.reading or self.reading.marks is None or self.mark in self.reading.marks:
            return frozenset()
        return frozenset(name for names in CONTEXT.values() for name in names)

    @property
    def context(self) -> tuple[str, ...]:
        """The context parameters that its function must declare."""
        from hplint.targets.context import CONTEXT

        return CONTEXT[self.field]

    @property
    def all_context(self) -> tuple[str, ...]:
        """The context parameters that its function may declare."""
        from hplint.targets.context import OPTIONAL_CONTEXT

        return (*self.context, *OPTIONAL_CONTEXT.get(self.field, ()))

    @property
    def reserved(self) -> tuple[str, ...]:
        """The context names that nobody may configure (R84)."""
        return self.all_context if self.field == "local_compute_fn" else self.context


def injections(case: Case, *fields: str) -> Iterator[Injection]:
    """The injections of a plan in reading order; of these fields only, if any are given."""
    if case.injections is None:
        case.injections = tuple(_all(case))
    return (i for i in case.injections if not fields or i.field in fields)


def _all(case: Case) -> Iterator[Injection]:
    for entry in case.plan.entries:
        for field in INJECTIONS:
            value: Target | Text | None = getattr(entry, field)
            if value is not None:
                yield _injection(case, entry, field, value)


def _injection(case: Case, entry: Entry, field: str, value: Target | Text) -> Injection:
    reading = None
    if isinstance(value, Target) and case.targets:
        here = case.plan.source if case.plan.dialect == "python" else None
        reading = case.targets.read(value.path.value, here)
    found = Injection(field, value, entry, reading=reading)
    if case.resolved and field != "replace_module":
        hits = case.resolved.hits.get(entry.index)
        landed = (*hits.merged, *hits.inserted) if hits else ()
        boundaries = (case.resolved.boundaries[fqn] for fqn in landed)
        found.boundaries = tuple([b for b in boundaries if b.origin.get(field) is entry])
        if not found.boundaries and not any(s.entry is entry for s in case.resolved.set_aside):
            found.severity = "warning"
    return found


def replacements(case: Case) -> Iterator[tuple[Entry, Text, tuple[str, ...]]]:
    """Every match of every entry that replaces modules in this run, with the modules that it selects (none without a
    model). Entries that this run skips come with the case that supposes them active."""
    from hplint.plan.pattern import is_glob
    from hplint.resolve.match import Matcher

    matcher = None
    for entry in case.plan.entries:
        if entry.replace_module is None or (entry.index in case.inactive and not case.topology.assumed):
            continue
        for match in entry.matches:
            if case.tree is None:
                names: tuple[str, ...] = ()
            elif is_glob(match.value):
                matcher = matcher or Matcher(case.tree)
                names = matcher.hits(match.value)
            else:
                names = (match.value,) if match.value in case.tree.modules else ()
            yield entry, match, names


def wrapper_names(case: Case) -> tuple[str, ...]:
    """The names that ``inner_wrapper`` may give as a string: the shipped registry, and names that the project says it
    registers (R96)."""
    from hplint.targets.shipped import REGISTRY

    return (*REGISTRY, *case.settings.get("wrapper_names", ()))
