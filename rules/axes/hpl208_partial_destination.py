"""HPL208 partial-destination: a destination that is partial where its source is not (S42)."""

from collections.abc import Iterator

from hplint.rule import PARTIAL, REPLICATE, Boundary, Case, Entry, Finding, Layout, Layouts, on_plan, quote

RULE = on_plan("HPL208", "partial-destination")
PAIRS = (("in_src", "in_dst"), ("out_src", "out_dst"))


def check(case: Case) -> Iterator[Finding]:
    coverage = case.coverage
    if coverage is None:
        for entry in case.plan.entries:
            for source, destination in PAIRS:
                src, dst = entry.contract.get(source), entry.contract.get(destination)
                # Without a model only what one entry says itself can be compared.
                if src and dst and src.layouts is not None and dst.layouts and not src.partly_broken:
                    yield from _compare(case, src.layouts, dst.layouts, entry, None, destination)
        return
    for boundary in case.boundaries():
        for source, destination in PAIRS:
            if destination in boundary.origin and coverage.settled(boundary, source, destination):
                yield from _of_boundary(case, boundary, source, destination)


def _of_boundary(case: Case, boundary: Boundary, source: str, destination: str) -> Iterator[Finding]:
    src, dst, entry = boundary.contract(source), boundary.contract(destination), boundary.origin.get(destination)
    if dst and entry and (src is not None or source == "in_src"):
        yield from _compare(case, src or {}, dst, entry, boundary.fqn, destination)


def _compare(case: Case, src: Layouts, dst: Layouts, entry: Entry, module: str | None, field: str) -> Iterator[Finding]:
    for name, layout in dst.items():
        source = src.get(name) or Layout({})
        if case.laid_out(source) is None:
            continue
        for axis, placement in layout.placements.items():
            was = source.placements.get(axis, REPLICATE)
            if placement == PARTIAL and was not in (PARTIAL, None) and axis in ("tp", "cp", "ep"):
                inactive = case.topology.size(axis) == 1
                effect = f"as soon as {quote(axis)} is active" if inactive else "at the first call"
                yield Finding(
                    layout.placement_spans.get(axis) or entry.keys[field],
                    f"{quote(name)} goes from {quote(str(was))} to `partial` on {quote(axis)}, which no communication "
                    f"does: redistribution stops {effect}",
                    "only a source can be partial; write `replicate` or `shard(N)` here",
                    entry,
                    module,
                    field,
                    severity="warning" if inactive else None,
                )
