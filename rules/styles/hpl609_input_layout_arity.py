"""HPL609 input-layout-arity: layouts of PrepareModuleInput that do not fit each other or the forward (P5)."""

from collections.abc import Iterator
from typing import Any

from hplint.rule import UNKNOWN, Case, Finding, Module, Placement, Span, listing, near, plural, quote
from hplint.style_rule import Style, StyleEntry, on_styles

RULE = on_styles("HPL609", "input-layout-arity", "error", "torch")

INPUTS = ("PrepareModuleInput", "PrepareModuleInputOutput")
OUTPUTS = ("PrepareModuleOutput", "PrepareModuleInputOutput")
BY_KEYWORD = ("transformers.models.",)
"""Where decoder layers call their attention by keyword alone."""


def check(case: Case) -> Iterator[Finding]:
    for entry in case.plan.styles:
        if entry.style is None or entry.style.kind not in (*INPUTS, *OUTPUTS):
            continue
        yield from _against_each_other(entry, entry.style)
        if case.styles is None or case.tree is None or entry.style.kind not in INPUTS:
            continue
        for fqn in case.styles.hits.get(entry.index, ()):
            yield from _against_forward(entry, entry.style, case.tree.modules[fqn])


def _against_each_other(entry: StyleEntry, style: Style) -> Iterator[Finding]:
    for given, desired in (
        ("input_layouts", "desired_input_layouts"),
        ("output_layouts", "desired_output_layouts"),
        ("input_kwarg_layouts", "desired_input_kwarg_layouts"),
    ):
        first, then = _length(style, given), _length(style, desired)
        if first is None or then is None or first == then:
            continue
        if first and not then and desired not in style.arguments:
            yield Finding(
                style.arguments[given].key_span,
                f"{quote(given)} without {quote(desired)}: torch refuses the style",
                f"add {quote(desired)}",
                entry,
                field=given,
            )
        elif desired in style.arguments and first:
            yield Finding(
                style.arguments[desired].span,
                f"{quote(desired)} has {plural(then, 'layout')} and {quote(given)} has {first}: torch refuses the "
                "style",
                "give each input one of both",
                entry,
                field=desired,
            )


def _against_forward(entry: StyleEntry, style: Style, module: Module) -> Iterator[Finding]:
    if module.forward is None or any(p.kind.startswith("var_") for p in module.forward if p.kind == "var_positional"):
        return
    names = [p.name for p in module.forward]
    taken = [p for p in module.forward if p.kind in ("positional", "positional_only")]
    count = _length(style, "input_layouts")
    if count is not None and "input_layouts" in style.arguments:
        place = style.arguments["input_layouts"].span
        if count > len(taken):
            yield _finding(
                entry,
                module,
                place,
                f"{plural(count, 'input layout')} for a forward that takes {len(taken)} by position: the "
                "first call fails, as there must be as many as arguments given by position",
            )
        elif count and module.fqn.endswith("self_attn") and module.cls and module.cls.name.startswith(BY_KEYWORD):
            yield _finding(
                entry,
                module,
                place,
                "the layer calls its attention by keyword alone, and these layouts are for arguments by position: the "
                "first call fails, as there are none",
                "use `input_kwarg_layouts` and `desired_input_kwarg_layouts`",
            )
    for field in ("input_kwarg_layouts", "desired_input_kwarg_layouts"):
        value: Any = style.arguments[field].value if field in style.arguments else None
        if not isinstance(value, dict) or any(p.kind == "var_keyword" for p in module.forward):
            continue
        for name in value:
            if name not in names:
                meant = near(str(name), names)
                advice = f"did you mean {listing(meant, 'or')}?" if meant else f"it takes {listing(names)}"
                message = f"the forward takes no {quote(name)}: its layout is never used"
                yield _finding(entry, module, style.arguments[field].span, message, advice)


def _finding(entry: StyleEntry, module: Module, place: Span, message: str, advice: str = "") -> Finding:
    advice = advice or f"it takes {listing(p.name for p in module.forward or ())}"
    severity = "warning" if entry.conditional else None
    return Finding(place, message, advice, entry, module.fqn, "input_layouts", severity=severity)


def _length(style: Style, name: str) -> int | None:
    """How many layouts an argument has; 0 where it is not given, None where that cannot be read."""
    if name not in style.arguments:
        return None if style.open else 0
    value: Any = style.arguments[name].value
    if value is UNKNOWN:
        return None
    if value is None:
        return 0
    return 1 if isinstance(value, Placement) else len(value) if isinstance(value, (tuple, dict)) else None
