"""HPL304 missing-input-source: in_dst without in_src (R137), or an input that only one of them names (S4, S5)."""

from collections.abc import Iterator

from hplint.rule import (
    INPUT_FIELDS,
    REPLICATE,
    AddItem,
    Boundary,
    Case,
    Draft,
    Entry,
    Finding,
    Layout,
    Proposal,
    Span,
    listing,
    near,
    on_plan,
    quote,
    set_field,
    unknown_inputs,
)

RULE = on_plan("HPL304", "missing-input-source")


def check(case: Case) -> Iterator[Finding]:
    if not (coverage := case.coverage):
        return
    settled = [b for b in case.boundaries() if coverage.settled(b, *INPUT_FIELDS)]
    without: dict[int, list[str]] = {}
    for boundary in settled:
        if _lacks_source(boundary) and (entry := _place(case, boundary)[1]):
            without.setdefault(entry.index, []).append(boundary.fqn)
    for boundary in settled:
        if _lacks_source(boundary):
            yield _no_source(case, boundary, without)
        elif "in_src" in boundary.origin or "in_dst" in boundary.origin:
            yield from _one_sided(case, boundary)


def _lacks_source(boundary: Boundary) -> bool:
    return bool(boundary.in_dst) and not boundary.in_src


def _place(case: Case, boundary: Boundary) -> tuple[Span, Entry | None]:
    # An in_src that was cleared or left empty is the fault; where nobody wrote one, the in_dst that needs it is.
    return case.place(boundary, "in_src" if "in_src" in boundary.origin else "in_dst")


def _no_source(case: Case, boundary: Boundary, without: dict[int, list[str]]) -> Finding:
    span, entry = _place(case, boundary)
    fixes: tuple[Proposal, ...] = ()
    if entry:
        draft = Proposal("draft in_src", (Draft(entry, tuple(without[entry.index]), ("in_src",)),))
        fixes = (draft, set_field(entry, "in_dst", "none"))
    return Finding(
        span,
        f"in_dst names {listing(boundary.in_dst or ())}, but in_src is empty: planning stops here",
        "write in_src for the same inputs, with the layout in which they arrive",
        entry,
        boundary.fqn,
        "in_src" if "in_src" in boundary.origin else "in_dst",
        fixes=fixes,
    )


def _one_sided(case: Case, boundary: Boundary) -> Iterator[Finding]:
    unknown = unknown_inputs(case, boundary)
    for here, other in (INPUT_FIELDS, INPUT_FIELDS[::-1]):
        opposite = boundary.contract(other) or {}
        for name, layout in (boundary.contract(here) or {}).items():
            placements = case.laid_out(layout)
            if name in opposite or placements is None or all(p == REPLICATE for p in placements):
                continue  # The missing side counts as replicated: where both are, nothing is communicated.
            if name in unknown or near(name, (k for k in opposite if k in unknown)):
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
                fixes=_mirrored(case, boundary, other, name, layout),
                severity="warning",
            )


def _mirrored(case: Case, boundary: Boundary, field: str, name: str, layout: Layout) -> tuple[Proposal, ...]:
    """The same layout on the other side: nothing is communicated then."""
    entry, placements = boundary.origin.get(field), case.laid_out(layout)
    written = entry.contract.get(field) if entry else None
    if entry is None or written is None or written.layouts is None or not placements:
        return ()
    value = dict(zip(case.topology.active_axes, placements, strict=True))
    return (Proposal(f"add {quote(name)} to {field}, laid out alike", (AddItem(entry, field, name, value),)),)
