"""HPL213 fsdp-owned-axis: a parameter that is cut on an axis which FSDP owns (R181)."""

from collections.abc import Iterator

from hplint.rule import FSDP_AXES, Case, Finding, listing, on_plan, quote

RULE = on_plan("HPL213", "fsdp-owned-axis")


def check(case: Case) -> Iterator[Finding]:
    owned = [a for a in FSDP_AXES if a != "dp"]  # HPL202 says already that dp may not be used at all.
    for w in case.written:
        if w.field != "params" or w.axis not in owned or w.placement is None or not w.placement.is_shard:
            continue
        inactive = w.axis == "cp" and case.topology.cp == 1
        when = "as soon as `cp` is active, " if inactive else ""
        yield Finding(
            w.axis_span,
            f"{quote(w.name)} is cut on {quote(w.axis)}, which FSDP owns: planning accepts it, but {when}"
            "apply stops after it has changed the model",
            f"cut parameters on `tp` or `ep` only; FSDP shards over {listing(owned)} by itself",
            w.entry,
            field="params",
            severity="warning" if inactive else None,
        )
