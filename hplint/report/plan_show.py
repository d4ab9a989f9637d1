"""The resolved plan for people: boundaries, layouts, what each communicates, and where each value came from."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from hplint.lint.request import CheckedPlan
from hplint.report.communication import communications
from hplint.report.folding import fold
from hplint.report.style import Style
from hplint.report.visible import printable, width
from hplint.text.wording import plural

Layouts = dict[str, dict[str, str]]
"""Tensor name -> axis -> placement, as the JSON form spells them."""
INJECTIONS = (
    "region_dispatch",
    "inner_target",
    "inner_wrapper",
    "inner_out_src",
    "local_compute_fn",
    "out_names",
    "tp_divide_attrs",
)
FLOWS = {"in": ("in_src", "in_dst"), "out": ("out_src", "out_dst")}


class Row(NamedTuple):
    """One line of a boundary."""

    field: str
    name: str
    layout: str = ""
    remark: str = ""


def plan_show(checked: CheckedPlan, plan: dict[str, Any], style: Style) -> Iterator[str]:
    """A plan on one topology, from its JSON form; boundaries that differ in their layer numbers alone are told once."""
    yield from _head(checked, plan, style)
    kinds = {b.fqn: b.kind for b in checked.resolved.boundaries.values()} if checked.resolved else {}
    arrow = style.glyph("→", "->")
    told = (
        (fqn, (_title(boundary, kinds.get(fqn)), tuple(_rows(boundary, arrow))))
        for fqn, boundary in plan["boundaries"].items()
    )
    for name, (title, rows), count in fold(told):
        times = f"  x{count}" if count > 1 else ""
        shown = style.paint(printable(name or "(the root module)", style), "strong")
        yield f"{shown}{times}  {style.paint(title, 'dim')}"
        yield from _table(rows, style)
        yield ""
    for parameter, handler in plan["special"].items():
        yield f"{parameter} is handled by {handler}"
    for pair in plan["tied"]:
        yield " and ".join(pair) + " are one tensor"


def topology_words(checked: CheckedPlan) -> str:
    """The topology in one line: sizes, then the flags that are on."""
    topology = checked.topology
    sizes = topology.mesh or {a: s for a in ("dp", "cp", "tp", "pp") if (s := topology.size(a)) is not None}
    words = [",".join(f"{axis}={size}" for axis, size in sizes.items()) or "sizes unknown"]
    if topology.ep not in (None, 1) and not topology.has_ep_axis:
        words.append(f"ep={topology.ep}")
    flags = {"sequence parallel": topology.sequence_parallel, "loss parallel": topology.loss_parallel}
    words += [word for word, on in flags.items() if on]
    if not topology.derive:
        words.append("nothing derived")
    return ", ".join(words)


def _head(checked: CheckedPlan, plan: dict[str, Any], style: Style) -> Iterator[str]:
    name = f" ({printable(checked.plan.name, style)})" if checked.plan.name else ""
    entries = plural(len(checked.plan.entries), "entry", "entries")
    yield f"{style.paint(printable(checked.path, style), 'path')}{name}: {entries}"
    model = checked.model or ""
    if checked.tree is not None and checked.tree.class_name:
        model = f"{checked.tree.class_name} ({model})"
    boundaries = plural(len(plan["boundaries"]), "boundary", "boundaries")
    yield f"{printable(model, style)} on {topology_words(checked)}: {boundaries}"
    yield ""


def _title(boundary: dict[str, Any], kind: str | None) -> str:
    words = [kind] if kind else []
    words.append(boundary["mode"])
    if boundary["ep_size"]:
        words.append(f"experts over ep={boundary['ep_size']}")
    return ", ".join(words)


def _rows(boundary: dict[str, Any], arrow: str) -> Iterator[Row]:
    for name, layout in (boundary["params"] or {}).items():
        stack = boundary["ep_stack"].get(name)
        remark = f"stacked from {len(stack)}" if stack else ""
        yield Row("params", name, _spell(layout), _joined(remark, _origin(boundary, "params")))
    for side in FLOWS:
        yield from _flow(side, boundary, arrow)
    for field in INJECTIONS:
        value = boundary[field]
        if value not in (None, []):
            yield Row(field, _words(value), remark=_origin(boundary, field))
    if boundary["auto_divided"]:
        yield Row("divided by tp", ", ".join(boundary["auto_divided"]))
    if boundary["deferred_biases"]:
        yield Row("added after communication", ", ".join(boundary["deferred_biases"]))


def _flow(side: str, boundary: dict[str, Any], arrow: str) -> Iterator[Row]:
    sources: Layouts = boundary[FLOWS[side][0]] or {}
    destinations: Layouts = boundary[FLOWS[side][1]] or {}
    origins = dict.fromkeys(_origin(boundary, field) for field in FLOWS[side])
    for name in dict.fromkeys((*sources, *destinations)):
        source, destination = sources.get(name), destinations.get(name)
        if source is None or destination is None:
            text = f"{_spell(source)} {arrow} {_spell(destination)}"
        else:
            text = _change(source, destination, arrow)
        moves = ", ".join(communications(source or {}, destination or {}))
        yield Row(side, name, text, _joined(moves, *origins))


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _origin(boundary: dict[str, Any], field: str) -> str:
    place = boundary["origin"].get(field)
    return f"line {place['line']}" if place else ""


def _joined(*remarks: str) -> str:
    return "; ".join(filter(None, remarks))


def _change(source: dict[str, str], destination: dict[str, str], arrow: str) -> str:
    """Axis by axis; both sides are laid out over the same axes."""
    ends = ((axis, before, destination.get(axis, before)) for axis, before in source.items())
    words = [f"{axis} {a}" if a == b else f"{axis} {a} {arrow} {b}" for axis, a, b in ends]
    return ", ".join(words) or "replicate"


def _spell(layout: dict[str, str] | None) -> str:
    if layout is None:
        return "not declared"
    return ", ".join(f"{axis} {placement}" for axis, placement in layout.items()) or "replicate"


def _table(rows: tuple[Row, ...], style: Style) -> Iterator[str]:
    """Rows in columns; a field is named in its first row alone. Rows without a layout let their name run on."""
    laid = [row for row in rows if row.layout]
    first = max((width(row.field) for row in rows), default=0)
    second = max((width(row.name) for row in laid), default=0)
    third = max((width(row.layout) for row in laid), default=0)
    before = ""
    for row in rows:
        field = row.field if row.field != before else ""
        before = row.field
        name = printable(row.name, style)
        middle = f"{_padded(name, second)}  {_padded(row.layout, third)}" if row.layout else name
        remark = f"  {style.paint(row.remark, 'dim')}" if row.remark else ""
        yield f"  {_padded(field, first)}  {middle}{remark}".rstrip()


def _padded(text: str, size: int) -> str:
    return text + " " * (size - width(text))
