"""What stands at an offset of a plan that could be read."""

from collections.abc import Iterator
from typing import NamedTuple

from hplint.lint.request import CheckedPlan
from hplint.plan.entry import Entry, Target, Text
from hplint.plan.layout import Layouts
from hplint.text.span import Span


class Place(NamedTuple):
    """One token. ``kind`` is match, field, tensor, axis, placement, when, wrapper, target or keyword; ``text`` is what
    it says. ``field`` is the entry's field that it stands in, ``tensor`` the parameter, input or output around it (of a
    keyword the path of its target), ``axis`` the axis of a placement."""

    kind: str
    text: str
    span: Span
    entry: Entry
    field: str = ""
    tensor: str = ""
    axis: str = ""


def place_at(checked: CheckedPlan, offset: int) -> Place | None:
    """The smallest token of a plan around an offset, one that ends there included."""
    found = [
        place
        for entry in checked.plan.entries
        if entry.span.start <= offset <= entry.span.end
        or any(t.span.start <= offset <= t.span.end for t in entry.matches)
        for place in _places(entry)
        if place.span.start <= offset <= place.span.end
    ]
    return min(found, key=lambda p: p.span.end - p.span.start, default=None)


def _places(entry: Entry) -> Iterator[Place]:
    for match in entry.matches:
        yield Place("match", match.value, match.span, entry, "match")
    for name, span in entry.keys.items():
        yield Place("field", name, span, entry, name)
    if entry.when:
        yield Place("when", entry.when.value, entry.when.span, entry, "when")
    for name, value in entry.contract.items():
        yield from _layouts(entry, name, value.layouts or {})
    if entry.inner_out_src and entry.inner_out_src.layouts:
        yield from _layouts(entry, "inner_out_src", entry.inner_out_src.layouts)
    for name in ("local_compute_fn", "inner_wrapper", "replace_module"):
        yield from _target(entry, name, getattr(entry, name))


def _layouts(entry: Entry, name: str, layouts: Layouts) -> Iterator[Place]:
    for tensor, layout in layouts.items():
        if layout.name_span:
            yield Place("tensor", tensor, layout.name_span, entry, name, tensor)
        for axis, span in layout.axis_spans.items():
            yield Place("axis", axis, span, entry, name, tensor, axis)
        for axis, span in layout.placement_spans.items():
            placement = layout.placements.get(axis)
            if placement is not None:
                yield Place("placement", str(placement), span, entry, name, tensor, axis)


def _target(entry: Entry, name: str, value: Text | Target | None) -> Iterator[Place]:
    if isinstance(value, Text):
        yield Place("wrapper", value.value, value.span, entry, name)
    elif isinstance(value, Target):
        yield Place("target", value.path.value, value.path.span, entry, name)
        for keyword, given in value.keywords.items():
            yield Place("keyword", keyword, given.key_span, entry, name, value.path.value)
