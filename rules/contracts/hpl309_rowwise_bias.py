"""HPL309 rowwise-bias: a row-wise bias that would be added several times or cannot be deferred (R132-R134)."""

from collections.abc import Iterator

from hplint.rule import (
    OUTPUT_FIELDS,
    PARTIAL,
    REPLICATE,
    BiasedWeight,
    Boundary,
    Case,
    Finding,
    Proposal,
    biased_weights,
    on_plan,
    plural,
    quote,
    rewrite,
)

RULE = on_plan("HPL309", "rowwise-bias")


def check(case: Case) -> Iterator[Finding]:
    if not (coverage := case.coverage):
        return
    for weight in biased_weights(coverage):
        boundary = weight.declared.boundary
        if not weight.is_rowwise or not _is_partial(boundary):
            continue
        if not coverage.settled(boundary, *OUTPUT_FIELDS):
            continue
        if weight.owner_is_linear is False:
            # Whether the runtime gets as far as the other two checks here is not known, so this only warns.
            message = (
                f"{quote(weight.bias_path)} cannot be deferred, since its module is no nn.Linear: each rank adds it "
                "before the partial results are summed, so it counts once for each rank of `tp`"
            )
            yield _finding(case, weight, message, "cut this weight on another dim, or drop the bias", "warning")
        elif len(boundary.out_src or ()) > 1:
            outputs = plural(len(boundary.out_src or ()), "output")
            message = (
                f"{quote(weight.bias_path)} is added after the output communication, but this boundary declares "
                f"{outputs} and only one can take it: planning stops here"
            )
            span, entry = case.place(boundary, "out_src")
            hint = "declare one output, or put the boundary around this layer alone"
            yield Finding(span, message, hint, entry, boundary.fqn, "out_src")
        elif weight.bias is not None and weight.bias_tp != REPLICATE:
            message = (
                f"{quote(weight.bias_path)} is {quote(str(weight.bias_tp))} on `tp`, but its weight is cut on the "
                "input dim, so every rank needs the whole bias: planning stops here"
            )
            tp = weight.bias.placement_spans.get("tp")
            fixes = (rewrite(tp, str(weight.bias_tp), REPLICATE),) if tp else ()
            yield _finding(case, weight, message, "write `replicate` for the bias", fixes=fixes)


def _is_partial(boundary: Boundary) -> bool:
    return any(layout.placements.get("tp") == PARTIAL for layout in (boundary.out_src or {}).values())


def _finding(
    case: Case,
    weight: BiasedWeight,
    message: str,
    hint: str,
    severity: str | None = None,
    fixes: tuple[Proposal, ...] = (),
) -> Finding:
    span, entry = case.place(weight.declared.boundary, "params")
    key = weight.declared.layout.name_span
    if weight.bias:
        key = weight.bias.placement_spans.get("tp") or weight.bias.name_span or key
    fqn = weight.declared.boundary.fqn
    return Finding(key or span, message, hint, entry, fqn, "params", fixes=fixes, severity=severity)
