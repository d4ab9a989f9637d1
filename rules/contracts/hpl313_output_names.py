"""HPL313 output-names: out_names and out_dst names that out_src lacks (R174, R193, S19, S20)."""

from collections.abc import Collection, Iterator

from hplint.rule import (
    OUTPUT_FIELDS,
    REPLICATE,
    Boundary,
    Case,
    Finding,
    Proposal,
    Span,
    listing,
    near,
    on_plan,
    plural,
    quote,
    rename_to_near,
)

RULE = on_plan("HPL313", "output-names")


def check(case: Case) -> Iterator[Finding]:
    if not (coverage := case.coverage):
        return
    for boundary in case.boundaries():
        if boundary.out_src is None or not coverage.settled(boundary, *OUTPUT_FIELDS, "out_names"):
            continue
        if boundary.out_names is not None:
            yield from _out_names(case, boundary, boundary.out_names)
        if boundary.out_dst is not None and "out_dst" in boundary.origin:
            yield from _destinations(case, boundary)


def _out_names(case: Case, boundary: Boundary, names: tuple[str, ...]) -> Iterator[Finding]:
    source = boundary.out_src or {}
    on_itself = boundary.inner_target is not None and boundary.inner_target.value == "self"
    if boundary.inner_wrapper is not None and on_itself:
        for name in names:
            if name not in source:
                span, entry = case.place(boundary, "out_names")
                span = next((t.span for t in (entry and entry.out_names) or () if t.value == name), span)
                message = f"out_names lists {quote(name)}, which out_src does not lay out: apply stops here"
                fixes = _fixes(span, name, source, names)
                yield Finding(span, message, _help(name, source), entry, boundary.fqn, "out_names", fixes=fixes)
    if boundary.local_compute_fn is not None and boundary.region_dispatch is False:
        for name, layout in source.items():
            if name not in names:
                span, entry = case.place(boundary, "out_src")
                message = f"{quote(name)} is not among out_names: the local region stops at the first call"
                yield Finding(layout.name_span or span, message, _help(name, names), entry, boundary.fqn, "out_src")


def _destinations(case: Case, boundary: Boundary) -> Iterator[Finding]:
    names = boundary.out_names or tuple(boundary.out_src or ())
    for name, layout in (boundary.out_dst or {}).items():
        placements = case.laid_out(layout)
        if name in names or placements is None:
            continue
        # The source of an unknown name counts as replicated: where that is the destination too, nothing happens.
        harmless = all(p == REPLICATE for p in placements)
        span, entry = case.place(boundary, "out_dst")
        outputs = f"{listing(names)}" if names else plural(0, "output")
        yield Finding(
            layout.name_span or span,
            f"{quote(name)} is no output of this boundary, which has {outputs}: its communication is done on the "
            "first output, taken for replicated",
            _help(name, names),
            entry,
            boundary.fqn,
            "out_dst",
            fixes=_fixes(layout.name_span, name, names, boundary.out_dst or ()),
            severity="warning" if harmless else None,
        )


def _fixes(
    span: Span | None, name: str, names: Collection[str], taken: Collection[str]
) -> tuple[Proposal, ...]:  # fmt: skip
    """The one near name. It moves communication to that output, so it is not safe."""
    return rename_to_near(span, name, names, taken, safe=False) if span and len(near(name, names)) == 1 else ()


def _help(name: str, names: Collection[str]) -> str:
    if meant := near(name, names):
        return f"did you mean {listing(meant, 'or')}?"
    return f"use the same names in out_src and out_dst: {listing(names)}" if names else "declare it in out_src"
