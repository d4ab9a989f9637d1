"""HPL105 unknown-input: an in_src or in_dst key that the forward does not take (S2, S3)."""

from collections.abc import Iterator

from hplint.rule import (
    INPUT_FIELDS,
    Boundary,
    Case,
    Finding,
    Module,
    Related,
    listing,
    on_plan,
    quote,
    rename_to_one,
    unknown_inputs,
)

RULE = on_plan("HPL105", "unknown-input")
ALONE = "it is bound to the first positional input, and skipped wherever callers pass that by keyword"
SKIPPED = "its communication is skipped at every call"
ANY_KEYWORD = "it is communicated only where callers pass a keyword of that name"


def check(case: Case) -> Iterator[Finding]:
    for boundary in case.boundaries():
        if unknown := unknown_inputs(case, boundary):
            module = case.tree.modules[boundary.fqn] if case.tree else None
            alone = len({*(boundary.in_src or ()), *(boundary.in_dst or ())}) == 1
            for key, meant in unknown.items():
                if module:
                    yield from _unknown(case, boundary, module, key, alone, meant)


def _unknown(
    case: Case, boundary: Boundary, module: Module, key: str, alone: bool, meant: list[str]
) -> Iterator[Finding]:
    takes_any = any(p.kind == "var_keyword" for p in module.forward or ())
    written = [(f, o[key].name_span) for f in INPUT_FIELDS if (o := boundary.contract(f)) and key in o]
    places = [(f, span) for f, span in written if span is not None]
    if not places:
        return
    field, span = places[0]
    named = _named(module)
    wanted = f"did you mean {listing(meant, 'or')}? " if meant else ""
    choices = [n for n in meant if n not in (boundary.in_src or ()) and n not in (boundary.in_dst or ())]
    # The only key is bound to the first input whatever it says: another one would be laid out instead.
    safe = not takes_any and (not alone or choices == named[:1])
    harmless = alone or takes_any or _is_identity(case, boundary, key)
    yield Finding(
        span,
        f"{quote(key)} is no input of this forward: {ALONE if alone else ANY_KEYWORD if takes_any else SKIPPED}",
        f"{wanted}the forward takes {listing(named)}" if named else "the forward takes no named inputs",
        boundary.origin.get(field),
        boundary.fqn,
        field,
        tuple(Related("named here too", other) for _, other in places[1:]),
        rename_to_one((span for _, span in places), key, choices, safe),
        severity="warning" if harmless else None,
    )


def _named(module: Module) -> list[str]:
    return [p.name for p in module.forward or () if not p.kind.startswith("var_")]


def _is_identity(case: Case, boundary: Boundary, key: str) -> bool:
    """Whether nothing would be communicated anyway, so that skipping it changes nothing."""
    source, destination = (case.laid_out((boundary.contract(f) or {}).get(key)) for f in INPUT_FIELDS)
    return source is not None and source == destination
