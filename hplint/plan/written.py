"""Every placement that a plan's contracts write, one by one: what rules over the plain text walk."""

from collections.abc import Iterator
from typing import NamedTuple

from hplint.plan.entry import Entry
from hplint.plan.layout import Layout
from hplint.plan.placement import Placement
from hplint.plan.plan import Plan
from hplint.text.span import Span


class Written(NamedTuple):
    """One ``axis: placement`` of one contract field. ``placement`` is None where it could not be read."""

    entry: Entry
    field: str
    name: str
    layout: Layout
    axis: str
    placement: Placement | None

    @property
    def axis_span(self) -> Span:
        """The axis key, or the nearest token around it."""
        return self.layout.axis_spans.get(self.axis) or self.layout.name_span or self.entry.keys[self.field]


def written(plan: Plan) -> Iterator[Written]:
    """All placements of all contract fields, in reading order."""
    for entry in plan.entries:
        for name, field in entry.contract.items():
            for tensor, layout in (field.layouts or {}).items():
                for axis, placement in layout.placements.items():
                    yield Written(entry, name, tensor, layout, axis, placement)
