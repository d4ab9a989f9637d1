"""Parts of a document whose text has moved: the same, with other places."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hplint.plan.entry import ContractField, Entry, Flag, InnerOutSrc, Keyword, Target, Text
from hplint.plan.fault import Fault
from hplint.plan.layout import Layout, Layouts
from hplint.plan.plan import Accelerator, Directive, Number
from hplint.plan.suppression import Suppression
from hplint.text.span import Span

_new_tuple = tuple.__new__
"""Makes a named tuple without the detour through its own constructor: all places behind a change move."""


def _mover(start: int, by: int) -> Callable[[Span], Span]:
    def move(span: Span) -> Span:
        begin, end = span
        return _new_tuple(Span, (begin + by, end + by)) if begin >= start else span

    return move


class Move:
    """All places from the offset ``start`` on lie ``by`` characters further on. Nothing is changed in place."""

    __slots__ = ("by", "span", "start")

    def __init__(self, start: int, by: int) -> None:
        self.start = start
        self.by = by
        self.span = _mover(start, by)
        """Moves one place."""

    def entry(self, entry: Entry, index: int) -> Entry:
        """An entry, which is now number ``index``."""
        span = self.span
        moved = Entry(index, span(entry.span))
        moved.matches = tuple([Text(m.value, span(m.span)) for m in entry.matches])
        moved.contract = {name: self._contract(value) for name, value in entry.contract.items()}
        moved.keys = {name: span(place) for name, place in entry.keys.items()}
        moved.values = {name: span(place) for name, place in entry.values.items()}
        moved.broken = set(entry.broken)
        for name in _VALUES:
            if (value := getattr(entry, name)) is not None:
                setattr(moved, name, self._value(value))
        return moved

    def fault(self, fault: Fault, index: int | None) -> Fault:
        """A fault, whose entry is now number ``index``."""
        related = tuple([(text, self.span(place)) for text, place in fault.related])
        return replace(fault, span=self.span(fault.span), entry=index, data=self.anything(fault.data), related=related)

    def accelerator(self, found: Accelerator) -> Accelerator:
        """What a file says of its run."""
        sizes = {axis: Number(size.value, self.span(size.span)) for axis, size in found.sizes.items()}
        sequence, loss = self.anything((found.sequence_parallel, found.loss_parallel))
        return replace(
            found, span=self.span(found.span), sizes=sizes, sequence_parallel=sequence, loss_parallel=loss
        )  # fmt: skip

    def directive(self, found: Directive) -> Directive:
        """One ``key=value`` of a comment."""
        return replace(found, span=self.span(found.span))

    def suppression(self, found: Suppression) -> Suppression:
        """A comment that asks for quiet."""
        moved: Suppression = self.anything(found)
        # The end of its reason is an offset, not a place.
        return moved._replace(end=found.end + self.by if found.span.start >= self.start else found.end)

    def anything(self, value: Any) -> Any:
        """Plain values and all places in them."""
        if isinstance(value, Span):
            return self.span(value)
        if isinstance(value, tuple):
            items = [self.anything(v) for v in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, list):
            return [self.anything(v) for v in value]
        if isinstance(value, dict):
            return {k: self.anything(v) for k, v in value.items()}
        return value

    def _value(self, value: Any) -> Any:
        match value:
            case Text():
                return Text(value.value, self.span(value.span))
            case Flag():
                return Flag(value.value, self.span(value.span))
            case Target():
                keywords = {
                    k: Keyword(v.value, self.span(v.key_span), self.span(v.span)) for k, v in value.keywords.items()
                }
                return Target(Text(value.path.value, self.span(value.path.span)), keywords, self.span(value.span))
            case InnerOutSrc():
                return replace(value, span=self.span(value.span), layouts=self._layouts(value.layouts))
        return self.anything(value)

    def _contract(self, value: ContractField) -> ContractField:
        return ContractField(
            self.span(value.key_span), self.span(value.span), value.sentinel, self._layouts(value.layouts),
            value.null, value.shorthand, value.partly_broken,
        )  # fmt: skip

    def _layouts(self, layouts: Layouts | None) -> Layouts | None:
        if layouts is None:
            return None
        span = self.span
        return {
            name: Layout(
                layout.placements,
                None if layout.name_span is None else span(layout.name_span),
                {axis: span(place) for axis, place in layout.axis_spans.items()},
                {axis: span(place) for axis, place in layout.placement_spans.items()},
            )
            for name, layout in layouts.items()
        }


_VALUES = (
    "when", "region_dispatch", "inner_target", "inner_wrapper", "inner_out_src", "local_compute_fn", "replace_module",
    "module_type", "exact_type", "tp_divide_attrs", "out_names",
)  # fmt: skip
"""The fields of an entry that hold a value of their own."""
