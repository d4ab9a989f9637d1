"""HPL310 fused-expert-sharded: a fused gate/up expert weight cut on tp without expert parallelism (R136)."""

import re
from collections.abc import Iterator
from dataclasses import replace

from hplint.rule import (
    REPLICATE,
    WHOLE,
    Boundary,
    Case,
    Change,
    Entry,
    Finding,
    Proposal,
    Rewrite,
    SetField,
    add_params,
    fitting_outputs,
    on_plan,
    plain_params,
    quote,
)

RULE = on_plan("HPL310", "fused-expert-sharded")
FUSED = re.compile(r"(.+\.)?experts\.(\d+\.)?(gate_up_proj|gate_and_up_projs|fused_gate_up|w13)(\.weight)?")


def check(case: Case) -> Iterator[Finding]:
    # Without the ep size it is not known which boundaries are marked, and with an ep axis the runtime does not say.
    if not (coverage := case.coverage) or case.topology.size("ep") is None or case.topology.has_ep_axis:
        return
    found: list[Finding] = []
    boundaries: dict[int | None, dict[str, Boundary]] = {}
    for parameter in coverage.laid:
        placement = parameter.layout.placements.get("tp")
        if placement is None or not placement.is_shard or parameter.boundary.ep_size is not None:
            continue
        if "tp" not in coverage.axes(parameter) or not FUSED.fullmatch(parameter.path):
            continue
        if not coverage.settled(parameter.boundary, "params"):
            continue
        span, entry = case.place(parameter.boundary, "params")
        owner = parameter.boundary.origin.get("params")
        boundaries.setdefault(owner.index if owner else None, {})[parameter.boundary.fqn] = parameter.boundary
        finding = Finding(
            parameter.layout.placement_spans.get("tp", span),
            f"{quote(parameter.path)} holds gate and up in one weight, and {quote(str(placement))} on `tp` does not "
            "cut them one by one: every rank would compute with the wrong halves, so planning stops here",
            "set an ep size above 1, which takes the experts off `tp`, or write `tp: replicate` for this weight",
            entry,
            parameter.boundary.fqn,
            "params",
        )
        found.append(finding)
    fixes = {key: _fixes(case, tuple(group.values())) for key, group in boundaries.items()}
    for finding in found:
        owner = case.resolved.boundaries[finding.module or ""].origin.get("params") if case.resolved else None
        yield replace(finding, fixes=fixes[owner.index if owner else None])


def _fixes(case: Case, boundaries: tuple[Boundary, ...]) -> tuple[Proposal, ...]:
    """Replicate all parameters of these boundaries, for the cuts inside a region belong together."""
    first = boundaries[0]
    changes: tuple[Change, ...]
    if entry := first.origin.get("params"):
        changes = _rewritten(case, entry, first)
    else:
        changes = add_params(case, (b.fqn for b in boundaries), dict.fromkeys(first.params or (), WHOLE))
    return (Proposal("replicate the experts and what lies beside them", changes),) if changes else ()


def _rewritten(case: Case, entry: Entry, boundary: Boundary) -> tuple[Change, ...]:
    spans = {
        path: layout.placement_spans.get("tp")
        for path, layout in (boundary.params or {}).items()
        if (tp := layout.placements.get("tp")) and tp.is_shard
    }
    params = plain_params(case, boundary, dict.fromkeys(spans, WHOLE))
    outputs = fitting_outputs(case, boundary, params)
    rewrites = [Rewrite(span, REPLICATE) for span in spans.values() if span]
    return (*rewrites, *(SetField(entry, field, value) for field, value in outputs.items()))
