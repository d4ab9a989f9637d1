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
    near,
    on_plan,
    quote,
    rename_to_one,
)

RULE = on_plan("HPL105", "unknown-input")
DERIVED_NAMES = {"embed": "input", "moe_mlp": "x_BLD"}
"""Derived kind -> the input name that derivation uses for it, whatever the forward calls it."""
ALONE = "it is bound to the first positional input, and skipped wherever callers pass that by keyword"
SKIPPED = "its communication is skipped at every call"
ANY_KEYWORD = "it is communicated only where callers pass a keyword of that name"


def check(case: Case) -> Iterator[Finding]:
    if not case.tree or not (coverage := case.coverage):
        return
    known: dict[tuple[str, int], list[str]] = {}  # Equal layers share a node: one slip is looked up once for all.
    for boundary in case.boundaries():
        if "in_src" not in boundary.origin and "in_dst" not in boundary.origin:
            continue
        module = case.tree.modules.get(boundary.fqn)
        if module is None or not module.forward or not boundary.broken.isdisjoint(INPUT_FIELDS):
            continue
        if coverage.is_replaced(boundary.fqn):
            continue  # The forward that counts is the replacement's.
        names = {p.name for p in module.forward}
        keys = {*(boundary.in_src or ()), *(boundary.in_dst or ())}
        for key in sorted(keys - names):
            if len(keys) == 1 and boundary.kind and key == DERIVED_NAMES.get(boundary.kind, "hidden_states"):
                continue  # Derivation itself relies on callers that pass this one by position.
            meant = known.get((key, id(module.node)))
            if meant is None:
                meant = known[key, id(module.node)] = near(key, _named(module))
            yield from _unknown(case, boundary, module, key, len(keys) == 1, meant)


def _unknown(
    case: Case, boundary: Boundary, module: Module, key: str, alone: bool, meant: list[str]
) -> Iterator[Finding]:
    takes_any = any(p.kind == "var_keyword" for p in module.forward or ())
    if takes_any and not meant:
        return  # It may well be one of the keywords that callers pass.
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
