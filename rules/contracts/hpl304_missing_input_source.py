"""HPL304 missing-input-source: in_dst without in_src (R137), or an input that only one of them names (S4, S5)."""

from collections.abc import Iterator

from hplint.rule import INPUT_FIELDS, REPLICATE, Boundary, Case, Finding, listing, near, on_plan, quote

RULE = on_plan("HPL304", "missing-input-source")


def check(case: Case) -> Iterator[Finding]:
    if not (coverage := case.coverage):
        return
    for boundary in case.boundaries():
        if not coverage.settled(boundary, *INPUT_FIELDS):
            continue
        if boundary.in_dst and not boundary.in_src:
            yield _no_source(case, boundary)
        elif "in_src" in boundary.origin or "in_dst" in boundary.origin:
            yield from _one_sided(case, boundary)


def _no_source(case: Case, boundary: Boundary) -> Finding:
    # An in_src that was cleared or left empty is the fault; where nobody wrote one, the in_dst that needs it is.
    span, entry = case.place(boundary, "in_src" if "in_src" in boundary.origin else "in_dst")
    return Finding(
        span,
        f"in_dst names {listing(boundary.in_dst or ())}, but in_src is empty: planning stops here",
        "write in_src for the same inputs, with the layout in which they arrive",
        entry,
        boundary.fqn,
        "in_src" if "in_src" in boundary.origin else "in_dst",
    )


def _one_sided(case: Case, boundary: Boundary) -> Iterator[Finding]:
    taken, only = _forward_names(case, boundary)
    for here, other in (INPUT_FIELDS, INPUT_FIELDS[::-1]):
        opposite = boundary.contract(other) or {}
        for name, layout in (boundary.contract(here) or {}).items():
            placements = case.laid_out(layout)
            if name in opposite or placements is None or all(p == REPLICATE for p in placements):
                continue  # The missing side counts as replicated: where both are, nothing is communicated.
            if (only and name not in taken) or near(name, (k for k in opposite if taken and k not in taken)):
                continue  # HPL105 tells of names that the forward does not take, here or on the other side.
            effect = "gathered onto every rank" if here == "in_src" else "taken for replicated, then cut"
            span, entry = case.place(boundary, other if layout.name_span is None else here)
            yield Finding(
                layout.name_span or span,
                f"{other} does not name {quote(name)}, which {here} does: the input is {effect}",
                f"write {quote(name)} in {other} too",
                entry,
                boundary.fqn,
                other if layout.name_span is None else here,
                severity="warning",
            )


def _forward_names(case: Case, boundary: Boundary) -> tuple[frozenset[str], bool]:
    """The names that the forward takes (none where that is unknown), and whether communication of any other name is
    skipped: not where it is the only one, or may be one of the keywords that callers pass."""
    module = case.tree.modules.get(boundary.fqn) if case.tree else None
    stale = case.coverage is not None and case.coverage.is_replaced(boundary.fqn)
    forward = module.forward or () if module and not stale else ()
    alone = len({*(boundary.in_src or ()), *(boundary.in_dst or ())}) == 1
    only = bool(forward) and not alone and not any(p.kind == "var_keyword" for p in forward)
    return frozenset(p.name for p in forward), only
