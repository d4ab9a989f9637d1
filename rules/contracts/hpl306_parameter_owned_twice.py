"""HPL306 parameter-owned-twice: one parameter that two boundaries declare (R138)."""

from collections.abc import Iterator

from hplint.rule import Case, Declared, Finding, Proposal, Related, on_plan, quote, remove_item

RULE = on_plan("HPL306", "parameter-owned-twice")


def check(case: Case) -> Iterator[Finding]:
    if not (coverage := case.coverage):
        return
    for pair in coverage.twice:
        if not all(coverage.settled(p.boundary, "params") for p in pair):
            continue
        # What was written last stands in the reader's hands; the other place is shown beside it.
        other, here = sorted(pair, key=_order)
        span, entry = case.place(here.boundary, "params")
        there = other.layout.name_span
        related = (Related(f"declared here as {quote(other.path)}", there),) if there else ()
        yield Finding(
            here.layout.name_span or span,
            f"{quote(here.path)} is declared by two boundaries, here and {_where(here, other)}: planning stops here",
            "a parameter belongs to one boundary: remove it from one of them",
            entry,
            here.boundary.fqn,
            "params",
            related,
            _fixes(here, other),
        )


def _fixes(here: Declared, other: Declared) -> tuple[Proposal, ...]:
    """Remove what was written last, else what was written before it."""
    places = ((p.path, p.layout.name_span) for p in (here, other))
    return tuple(remove_item(span, path) for path, span in places if span is not None)


def _order(declared: Declared) -> int:
    entry = declared.boundary.origin.get("params")
    return entry.index if entry and declared.layout.name_span else -1


def _where(here: Declared, other: Declared) -> str:
    inner, outer = here.boundary.fqn, other.boundary.fqn
    if len(inner) > len(outer):
        return f"as {quote(other.path)} at the {_relation(inner, outer)} above"
    return f"as {quote(other.path)} at the boundary below, {quote(outer[len(inner) :].lstrip('.'))}"


def _relation(inner: str, outer: str) -> str:
    # Named by its last segment alone, so that equal faults of many layers read the same and are folded.
    name = outer.rpartition(".")[2]
    return "root boundary" if not outer else f"boundary {quote(name)}" if not name.isdigit() else "layer's boundary"
