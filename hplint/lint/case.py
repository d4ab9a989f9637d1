"""A case: one plan against one model on one topology. Rules see nothing else."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hplint.model.tree import ModuleTree
from hplint.plan.entry import Entry
from hplint.plan.fault import Fault
from hplint.plan.layout import Layout
from hplint.plan.placement import Placement
from hplint.plan.plan import Plan
from hplint.resolve.layouts import complete
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.topology import CANONICAL_AXES, Topology
from hplint.text.span import Span

if TYPE_CHECKING:
    from hplint.derive.boundary import Boundary
    from hplint.lint.injections import Injection
    from hplint.plan.style import StyleEntry
    from hplint.plan.written import Written
    from hplint.resolve.coverage import Coverage
    from hplint.resolve.styles.resolved import ResolvedStyles
    from hplint.targets.find import TargetFinder


@dataclass(slots=True)
class Case:
    """``tree`` and ``resolved`` are None without a model; rules that need them keep quiet. ``inactive`` are the indexes
    of entries whose ``when`` does not hold: findings on them become warnings. ``targets`` reads injected functions.
    """

    plan: Plan
    topology: Topology
    tree: ModuleTree | None = None
    resolved: ResolvedPlan | None = None
    targets: "TargetFinder | None" = None
    inactive: frozenset[int] = frozenset()
    case_faults: tuple[Fault, ...] = ()
    """Faults of this pairing alone (model-unavailable, size-mismatch)."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    near_inputs: dict[tuple[str, int], list[str]] = field(default_factory=dict, init=False, repr=False)
    """What unknown input names may mean, by name and node: see inputs.py."""
    injections: "tuple[Injection, ...] | None" = field(default=None, init=False, repr=False)
    """The injected functions, once somebody asked for them: see injections.py."""
    _coverage: "Coverage | None" = field(default=None, init=False, repr=False)
    _written: "tuple[Written, ...] | None" = field(default=None, init=False, repr=False)
    _styles: "ResolvedStyles | None" = field(default=None, init=False, repr=False)

    def faults(self, rule: str) -> Iterator[Fault]:
        """The faults that the rule of that name words, in reading order."""
        resolved = self.resolved.faults if self.resolved else ()
        return (f for f in (*self.plan.faults, *self.case_faults, *resolved) if f.rule == rule)

    def entry(self, fault: Fault) -> Entry | None:
        """The entry that a fault stands in; None in plans of styles, see :meth:`style_entry`."""
        return None if fault.entry is None or not self.plan.entries else self.plan.entries[fault.entry]

    def style_entry(self, fault: Fault) -> "StyleEntry | None":
        """The entry of a plan of styles that a fault stands in."""
        return None if fault.entry is None or not self.plan.styles else self.plan.styles[fault.entry]

    @property
    def styles(self) -> "ResolvedStyles | None":
        """Which module gets which style, worked out once per case; None without a model, and for plans of entries."""
        if self._styles is None and self.plan.styles and self.tree:
            from hplint.resolve.styles.resolved import resolve_styles

            self._styles = resolve_styles(self.plan, self.tree, self.topology)
        return self._styles

    def boundaries(self) -> "Iterator[Boundary]":
        """The resolved boundaries; none without a model."""
        return iter(self.resolved.boundaries.values() if self.resolved else ())

    @property
    def coverage(self) -> "Coverage | None":
        """Which boundary lays out which parameter, worked out once per case; None without a model."""
        if self._coverage is None and self.resolved and self.tree:
            from hplint.resolve.coverage import cover

            self._coverage = cover(self.resolved, self.tree, self.topology, self.plan.entries)
        return self._coverage

    def is_settled(self, boundary: "Boundary", *fields: str) -> bool:
        """Whether these fields of a boundary are what the runtime would see: see Coverage.settled."""
        return self.coverage is None or self.coverage.settled(boundary, *fields)

    @property
    def written(self) -> "tuple[Written, ...]":
        """Every placement that the plan's contracts write, in reading order."""
        if self._written is None:
            from hplint.plan.written import written

            self._written = tuple(written(self.plan))
        return self._written

    def laid_out(self, layout: Layout | None) -> tuple[Placement, ...] | None:
        """The placements over the active axes; replicate on all of them for a layout that nobody declared (S4, S5).
        None where one could not be read, or where an axis is unknown and may be a misspelt one."""
        if layout is None:
            layout = Layout({})
        if not all(axis in CANONICAL_AXES or axis in self.topology.mesh for axis in layout.placements):
            return None
        placements = tuple(p for p in complete(layout, self.topology.active_axes).values() if p is not None)
        return placements if len(placements) == len(self.topology.active_axes) else None

    def place(self, boundary: "Boundary", name: str | None = None) -> tuple[Span, Entry | None]:
        """Where a finding about a boundary stands when no token of its own is at fault: the key of the field that an
        entry set, else the match of the entry that last touched the boundary, else the plan's anchor."""
        if name and (entry := boundary.origin.get(name)) and name in entry.keys:
            return entry.keys[name], entry
        if boundary.touched and (match := boundary.touched[-1].match):
            return match.span, boundary.touched[-1]
        return self.plan.anchor, None
