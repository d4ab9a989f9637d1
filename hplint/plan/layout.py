"""Layouts: the placements of one named tensor over the mesh axes, each with the place where it was written."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hplint.plan.placement import Placement
from hplint.text.span import Span


@dataclass(slots=True)
class Layout:
    """Axis -> placement of one tensor, as written or as derived.

    ``placements`` keeps the writing order. A placement that could not be read is None: a fault was recorded for it and
    nothing may be concluded from it. Spans are None (or absent) where nobody wrote the layout (derived boundaries).
    """

    placements: dict[str, Placement | None]
    name_span: Span | None = None
    axis_spans: Mapping[str, Span] = field(default_factory=dict)
    placement_spans: Mapping[str, Span] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.placements == other.placements


Layouts = dict[str, Layout]
"""Tensor name (parameter path, input or output name) -> layout: the value of one contract field."""

CONTRACT_FIELDS = ("params", "in_src", "in_dst", "out_src", "out_dst")
INPUT_FIELDS = ("in_src", "in_dst")
OUTPUT_FIELDS = ("out_src", "out_dst")
OUTPUT = "output"
"""The name under which a bare ``{axis: placement}`` on an output field is understood."""
