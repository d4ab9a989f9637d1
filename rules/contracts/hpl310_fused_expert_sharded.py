"""HPL310 fused-expert-sharded: a fused gate/up expert weight cut on tp without expert parallelism (R136)."""

import re
from collections.abc import Iterator

from hplint.rule import Case, Finding, on_plan, quote

RULE = on_plan("HPL310", "fused-expert-sharded")
FUSED = re.compile(r"(.+\.)?experts\.(\d+\.)?(gate_up_proj|gate_and_up_projs|fused_gate_up|w13)(\.weight)?")


def check(case: Case) -> Iterator[Finding]:
    # Without the ep size it is not known which boundaries are marked, and with an ep axis the runtime does not say.
    if not (coverage := case.coverage) or case.topology.size("ep") is None or case.topology.has_ep_axis:
        return
    for parameter in coverage.laid:
        placement = parameter.layout.placements.get("tp")
        if placement is None or not placement.is_shard or parameter.boundary.ep_size is not None:
            continue
        if "tp" not in coverage.axes(parameter) or not FUSED.fullmatch(parameter.path):
            continue
        if not coverage.settled(parameter.boundary, "params"):
            continue
        span, entry = case.place(parameter.boundary, "params")
        yield Finding(
            parameter.layout.placement_spans.get("tp", span),
            f"{quote(parameter.path)} holds gate and up in one weight, and {quote(str(placement))} on `tp` does not "
            "cut them one by one: every rank would compute with the wrong halves, so planning stops here",
            "set an ep size above 1, which takes the experts off `tp`, or write `tp: replicate` for this weight",
            entry,
            parameter.boundary.fqn,
            "params",
        )
