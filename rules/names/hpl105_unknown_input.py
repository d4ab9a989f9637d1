"""HPL105 unknown-input: an in_src or in_dst key that the forward does not take (S2, S3)."""

from collections.abc import Iterator

from hplint.rule import INPUT_FIELDS, Boundary, Case, Finding, listing, near, on_plan, quote

RULE = on_plan("HPL105", "unknown-input")
DERIVED_NAMES = {"embed": "input", "moe_mlp": "x_BLD"}
"""Derived kind -> the input name that derivation uses for it, whatever the forward calls it."""


def check(case: Case) -> Iterator[Finding]:
    if not case.tree:
        return
    for boundary in case.boundaries():
        if "in_src" not in boundary.origin and "in_dst" not in boundary.origin:
            continue
        module = case.tree.modules.get(boundary.fqn)
        if module is None or not module.forward or not boundary.broken.isdisjoint(INPUT_FIELDS):
            continue
        named = [p.name for p in module.forward if not p.kind.startswith("var_")]
        keys = dict.fromkeys((*(boundary.in_src or ()), *(boundary.in_dst or ())))
        takes_any = any(p.kind == "var_keyword" for p in module.forward)
        for key in keys:
            if key not in named and not (len(keys) == 1 and key == _derived_name(boundary)):
                yield from _unknown(case, boundary, key, len(keys), named, takes_any)


def _unknown(
    case: Case, boundary: Boundary, key: str, count: int, named: list[str], takes_any: bool
) -> Iterator[Finding]:
    meant = near(key, named)
    if takes_any and not meant:
        return  # Callers may pass it by keyword, and then it is found.
    for field in INPUT_FIELDS:
        layout = (boundary.contract(field) or {}).get(key)
        if layout is None or layout.name_span is None:
            continue
        message = f"{quote(key)} is no input of this module's forward: "
        if count > 1:
            message += "its communication is skipped at every call"
        else:
            message += "it is bound to the first positional input, and skipped wherever callers pass that by keyword"
        wanted = f"did you mean {listing(meant, 'or')}? " if meant else ""
        harmless = count == 1 or takes_any or _is_identity(case, boundary, key)
        yield Finding(
            layout.name_span,
            message,
            f"{wanted}the forward takes {listing(named)}" if named else "the forward takes no named inputs",
            boundary.origin.get(field),
            boundary.fqn,
            field,
            severity="warning" if harmless else None,
        )


def _derived_name(boundary: Boundary) -> str | None:
    return DERIVED_NAMES.get(boundary.kind, "hidden_states") if boundary.kind else None


def _is_identity(case: Case, boundary: Boundary, key: str) -> bool:
    """Whether nothing would be communicated anyway, so that skipping it changes nothing."""
    source, destination = (case.laid_out((boundary.contract(f) or {}).get(key)) for f in INPUT_FIELDS)
    return source is not None and source == destination
