"""A plan of styles for people: modules, styles, layouts of parameters, and what the plan saves."""

from collections.abc import Iterator
from typing import Any

from hplint.lint.request import CheckedPlan
from hplint.report.folding import fold
from hplint.report.plan_show import topology_words
from hplint.report.style import Style
from hplint.report.visible import printable
from hplint.text.wording import plural

MOST = 8
"""Tensors without a rule that are named."""


def styles_show(checked: CheckedPlan, plan: dict[str, Any], style: Style) -> Iterator[str]:
    """A plan on one topology, from its JSON form; modules that differ in their numbers alone are told once."""
    name = f" ({printable(checked.plan.name, style)})" if checked.plan.name else ""
    count = plural(checked.plan.size, "entry", "entries")
    yield f"{style.paint(printable(checked.path, style), 'path')}{name}: {count}"
    model = checked.model or ""
    if checked.tree is not None and checked.tree.class_name:
        model = f"{checked.tree.class_name} ({model})"
    modules = plural(len(plan["styles"]), "module with a style", "modules with a style")
    yield f"{printable(model, style)} on {topology_words(checked)}: {modules}"
    if plan["guessed_root"]:
        more = len(plan["guessed_root"]) - 1
        others = f" and {more} more" if more else ""
        root = printable(plan["guessed_root"][0] or "the root module", style)
        yield f"keys count from {root}{others}, where most of them fit"
    yield ""
    told = ((fqn, (_words(module), tuple(_layouts(module)))) for fqn, module in plan["styles"].items())
    for fqn, (title, rows), times in fold(told):
        many = f"  x{times}" if times > 1 else ""
        shown = style.paint(printable(fqn or "(the root module)", style), "strong")
        yield f"{shown}{many}  {style.paint(printable(title, style), 'dim')}"
        yield from rows
    yield ""
    for item in plan["unmatched"]:
        what = "matches nothing" if item["key"] else "is for modules that only a run tells"
        yield f"{printable(item['key'] or 'a style', style)} {what} (line {item['line']})"
    yield from _coverage(plan["coverage"], style)


def _words(module: dict[str, Any]) -> str:
    given = ", ".join(f"{name}={_spelled(value)}" for name, value in module["arguments"].items())
    name = module["style"] or "a style that cannot be read"
    base = f", a {module['base']}" if module["base"] else ""
    places = ", ".join(f"line {k['line']}" if k["line"] else "shipped with the model" for k in module["keys"])
    return f"{name}({given}){base}; {places}" if given else f"{name}{base}; {places}"


def _spelled(value: Any) -> str:
    if isinstance(value, list):
        return f"({', '.join(map(_spelled, value))})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_spelled(v)}" for k, v in value.items()) + "}"
    return str(value)


def _layouts(module: dict[str, Any]) -> Iterator[str]:
    for name, layout in module["params"].items():
        yield f"  {name}  " + ", ".join(f"{axis} {placement}" for axis, placement in layout.items())


def _coverage(found: dict[str, Any], style: Style) -> Iterator[str]:
    if found["bytes_per_rank"] is not None:
        yield f"{found['bytes']:,} bytes of parameters: {found['bytes_per_rank']:,} on the rank that holds most"
    part = 100 * found["cut_bytes"] // found["weight_bytes"] if found["weight_bytes"] else 0
    yield f"{part} % of the bytes in weights are cut"
    for item in found["uncovered"][:MOST]:
        many = f", {item['count']} of them" if item["count"] > 1 else ""
        yield f"  whole on every rank: {printable(item['name'], style)} ({item['bytes']:,} bytes{many})"
    if len(found["uncovered"]) > MOST:
        yield f"  and {len(found['uncovered']) - MOST} more"
    for item in found["odd_layers"]:
        layer, whole = printable(item["layer"], style), ", ".join(item["whole"])
        yield f"  {layer} is cut otherwise than the layers beside it: {whole} stays whole"
    yield ""
