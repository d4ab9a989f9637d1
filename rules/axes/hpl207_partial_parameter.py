"""HPL207 partial-parameter: a parameter that is declared partial (S41, R186)."""

from collections.abc import Iterator

from hplint.rule import PARTIAL, REPLICATE, Case, Finding, on_plan, quote, rewrite

RULE = on_plan("HPL207", "partial-parameter")


def check(case: Case) -> Iterator[Finding]:
    for w in case.written:
        if w.field == "params" and w.placement == PARTIAL and w.axis in ("tp", "cp", "ep"):
            inactive = case.topology.size(w.axis) == 1
            when = f"as soon as {quote(w.axis)} is active, " if inactive else ""
            span = w.layout.placement_spans.get(w.axis)
            yield Finding(
                span or w.axis_span,
                f"{quote(w.name)} is a parameter and cannot be partial: planning accepts it, but {when}"
                "the hand-over to FSDP stops",
                "write `replicate` where every rank holds the whole parameter, else `shard(N)`",
                w.entry,
                field="params",
                fixes=(rewrite(span, "partial", REPLICATE),) if span else (),
                severity="warning" if inactive else None,
            )
