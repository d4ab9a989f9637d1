"""What the drafts of one plan are worked out from."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from hplint.derive.boundary import Boundary
from hplint.derive.derive import derive_boundaries
from hplint.derive.families import family_of, rules_of
from hplint.derive.roles import SPECIAL, role_of
from hplint.model.tree import ModuleTree
from hplint.plan.layout import Layout
from hplint.plan.placement import Placement
from hplint.resolve.layouts import complete
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.topology import Topology

if TYPE_CHECKING:
    from hplint.targets.find import TargetFinder

Placements = dict[str, Placement]
"""Axis -> placement, one for each active axis."""


@dataclass
class Setting:
    """A plan's model, its topologies (the first one is that of the finding), and its boundaries as they are now.

    ``drafted`` are the modules that get contracts. ``negative_dims``: whether the dialect can write ``shard(-1)``.
    """

    tree: ModuleTree
    topologies: Sequence[Topology]
    resolved: ResolvedPlan
    drafted: frozenset[str]
    negative_dims: bool = False
    finder: "TargetFinder | None" = None
    _outputs: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The axes that are active in any of the topologies, in mesh order as far as one of them tells. Without any it
        is tp: a layout has to name an axis."""
        orders = sorted((t.active_axes for t in self.topologies), key=len, reverse=True)
        return tuple(dict.fromkeys(axis for order in orders for axis in order)) or ("tp",)

    def sizes(self, axis: str) -> list[int]:
        """The sizes that an axis is known to have."""
        return [s for t in self.topologies if (s := t.size(axis)) is not None]

    @cached_property
    def derived(self) -> Mapping[str, Boundary]:
        """What derivation would make of the model, whether or not it is off. Nothing is marked for an expert mesh: a
        boundary that a plan inserts never is."""
        here = self.topologies[0]
        shape = replace(here, derive=True, ep=here.ep if here.has_ep_axis else 1, assumed=here.assumed - {"ep"})
        return derive_boundaries(self.tree, shape)

    @cached_property
    def _family(self) -> tuple[tuple[str, str], ...]:
        return rules_of(family_of(self.tree.config, self.tree.class_name), {})

    def role(self, name: str) -> str:
        """The role of a parameter by its full name."""
        return role_of(name.lower(), self._family)

    @cached_property
    def owners(self) -> Mapping[str, str]:
        """Full parameter name -> the boundary that declares it."""
        found: dict[str, str] = {}
        for fqn, boundary in self.resolved.boundaries.items():
            lead = f"{fqn}." if fqn else ""
            for path in boundary.params or ():
                for source in boundary.ep_stack.get(path, (path,)):
                    found.setdefault(lead + source, fqn)
        return found

    @cached_property
    def left_out(self) -> frozenset[str]:
        """Parameters that no contract needs: further names of tied ones, and those that a special handler lays out."""
        further = {name for names in self.tree.ties for name in names[1:]}
        return frozenset(further | {n for n in self.resolved.special if self.role(n) == SPECIAL})

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {fqn: i for i, fqn in enumerate(self.tree.modules)}

    @cached_property
    def ranks(self) -> tuple[list[str], list[int]]:
        """The boundaries that lay out activations, drafted ones left out, and their places, in module order."""
        boundaries = self.resolved.boundaries
        there = sorted(
            (self._places[fqn], fqn)
            for fqn, b in boundaries.items()
            if fqn in self._places and fqn not in self.drafted and (b.in_src or b.in_dst or b.out_dst)
        )
        return [fqn for _, fqn in there], [place for place, _ in there]

    def around(self, fqn: str) -> tuple[int, int]:
        """Which of those boundaries lie inside a module, as a slice; those before and after it stand around the slice,
        the ones that hold it among those before."""
        names, places = self.ranks
        first = bisect_right(places, self._places[fqn])
        last = first
        lead = f"{fqn}." if fqn else ""
        while last < len(names) and names[last].startswith(lead):
            last += 1
        return first, last

    def placements(self, layout: Layout | None) -> Placements | None:
        """A layout over the active axes; None where it, or a part of it, is not known."""
        if layout is None:
            return None
        found = {a: p for a, p in complete(layout, self.axes).items() if p is not None}
        return found if len(found) == len(self.axes) else None

    def outputs(self, fqn: str) -> tuple[str, ...]:
        """The names of a module's outputs where its forward surely returns several; else ()."""
        cls = self.tree.modules[fqn].cls
        if cls is None or self.finder is None:
            return ()
        if cls.name not in self._outputs:
            from hplint.targets.outputs import output_names

            self._outputs[cls.name] = output_names(self.finder, cls.name)
        return self._outputs[cls.name]

    def above(self, fqn: str) -> list[str]:
        """The modules around a module, nearest first, the root left out."""
        parts = fqn.split(".")
        return [".".join(parts[:i]) for i in range(len(parts) - 1, 0, -1)]
