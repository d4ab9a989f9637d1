"""HPL204 inactive-axis: a known axis that this topology ignores (S33)."""

from collections.abc import Iterator

from hplint.rule import (
    CANONICAL_AXES,
    FSDP_AXES,
    PARTIAL,
    Case,
    Finding,
    Span,
    Topology,
    Written,
    on_plan,
    plural,
    quote,
)

RULE = on_plan("HPL204", "inactive-axis", "info")


def check(case: Case) -> Iterator[Finding]:
    # A plan for several topologies names inactive axes everywhere: one line for each axis says enough.
    ignored: dict[str, dict[Span, Written]] = {}
    for w in case.written:
        if w.entry.index not in case.inactive and _is_ignored(w, case.topology):
            ignored.setdefault(w.axis, {}).setdefault(w.axis_span, w)
    for axis, tokens in ignored.items():
        places = list(tokens.values())
        reason = f"has size 1 here, so {_these(places)} ignored"
        if axis not in ("tp", "cp", "ep"):
            reason = f"takes no part in placements, so {_these(places)} ignored in every topology"
        yield Finding(
            places[0].axis_span,
            f"{quote(axis)} {reason}",
            "" if axis in ("tp", "cp", "ep") else "only `tp`, `cp` and `ep` place tensors; remove this axis",
            places[0].entry,
            field=places[0].field,
        )


def _is_ignored(w: Written, topology: Topology) -> bool:
    # HPL207 and HPL213 say of a partial parameter, and of one cut on an axis of FSDP, that it is wrong everywhere.
    told = w.placement == PARTIAL or (w.placement and w.placement.is_shard and w.axis in FSDP_AXES)
    if w.field == "params" and told:
        return False
    if w.axis in ("tp", "cp", "ep"):
        return topology.size(w.axis) == 1
    return w.axis in CANONICAL_AXES and w.axis != "dp"


def _these(places: list[Written]) -> str:
    return "this placement is" if len(places) == 1 else f"{plural(len(places), 'placement')} on it are"
