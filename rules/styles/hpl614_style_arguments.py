"""HPL614 style-arguments: arguments that a style of torch does not take, and those that it cannot do without."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, listing, near, quote, rename_to_near
from hplint.style_rule import COLWISE, KNOWN, PREPARING, ROWWISE, SEQUENCE, StyleEntry, on_styles

RULE = on_styles("HPL614", "style-arguments", "error", "torch")

_IN = ("input_layouts", "desired_input_layouts", "input_kwarg_layouts", "desired_input_kwarg_layouts")
_OUT = ("output_layouts", "desired_output_layouts")
TAKEN = {
    COLWISE: ("input_layouts", "output_layouts", "use_local_output"),
    ROWWISE: ("input_layouts", "output_layouts", "use_local_output"),
    SEQUENCE: ("sequence_dim", "use_local_output"),
    PREPARING[0]: (*_IN, "use_local_output"),
    PREPARING[1]: (*_OUT, "use_local_output"),
    PREPARING[2]: (*_IN, "use_local_input", *_OUT, "use_local_output"),
}
"""Style -> the arguments that torch 2.13 lets it have."""
NEEDED = {PREPARING[1]: _OUT, PREPARING[2]: _OUT}


def check(case: Case) -> Iterator[Finding]:
    for entry in case.plan.styles:
        if entry.style and entry.style.base is None and entry.style.name in KNOWN:
            yield from _strange(entry)
            yield from _missing(entry)


def _strange(entry: StyleEntry) -> Iterator[Finding]:
    style = entry.style
    assert style is not None
    taken = TAKEN[style.name]
    for name, given in style.arguments.items():
        if name in taken:
            continue
        if name.isdecimal():
            yield Finding(
                given.span,
                f"{quote(style.name)} takes no argument by position: torch stops with TypeError when the style is made",
                f"name it: {listing(taken, 'or')}",
                entry,
            )
            continue
        meant = [n for n in near(name, taken) if n not in style.arguments]
        yield Finding(
            given.key_span,
            f"{quote(style.name)} takes no {quote(name)}: torch stops with TypeError when the style is made",
            f"did you mean {listing(meant, 'or')}?" if meant else f"it takes {listing(taken)}",
            entry,
            field=name,
            fixes=rename_to_near(given.key_span, name, taken, style.arguments),
        )


def _missing(entry: StyleEntry) -> Iterator[Finding]:
    style = entry.style
    assert style is not None
    missing = [n for n in NEEDED.get(style.name, ()) if n not in style.arguments]
    if missing and not style.open and all(n in TAKEN[style.name] for n in style.arguments):
        yield Finding(
            style.span,
            f"{quote(style.name)} without {listing(missing)}: torch stops with TypeError when the style is made",
            f"give it {listing(missing)}",
            entry,
        )
