"""HPL308 colwise-bias: a bias that does not follow its output-sharded weight (R135)."""

from collections.abc import Iterator

from hplint.rule import (
    AddItem,
    BiasedWeight,
    Case,
    Change,
    Finding,
    Layout,
    Placement,
    Proposal,
    Related,
    Rewrite,
    add_params,
    biased_weights,
    on_plan,
    plain_layout,
    quote,
    shard,
)

RULE = on_plan("HPL308", "colwise-bias")


def check(case: Case) -> Iterator[Finding]:
    if not (coverage := case.coverage):
        return
    for weight in biased_weights(coverage):
        wanted = shard(weight.dim)
        if weight.is_rowwise or weight.bias_tp in (wanted, shard(-1)):
            continue
        key, bias = weight.declared.layout.name_span, weight.bias
        span, entry = case.place(weight.declared.boundary, "params")
        if bias is None:
            text, place = "is not declared", key
        else:
            text = f"is {quote(str(weight.bias_tp))} on `tp`"
            place = bias.placement_spans.get("tp") or bias.name_span
        beside = f"{quote(weight.declared.path)} is {quote(str(wanted))} on `tp`"
        yield Finding(
            place or key or span,
            f"{quote(weight.bias_path)} {text}, but its weight is cut on the output dim: planning stops here",
            f"write {quote(f'{weight.bias_path}: {{tp: {wanted}}}')}, so that the bias follows its weight",
            entry,
            weight.declared.boundary.fqn,
            "params",
            (Related(beside, key),) if key and bias else (),
            _fixes(case, weight, wanted),
        )


def _fixes(case: Case, weight: BiasedWeight, wanted: Placement) -> tuple[Proposal, ...]:
    """Cut the bias as its weight is: safe, for nothing else is accepted. An entry of its own only where nobody wrote
    the parameters."""
    boundary, bias, path = weight.declared.boundary, weight.bias, weight.bias_path
    entry = boundary.origin.get("params")
    layout = Layout({**(bias.placements if bias else {}), "tp": wanted})
    changes: tuple[Change, ...]
    if bias and (span := bias.placement_spans.get("tp")):
        changes = (Rewrite(span, wanted),)
    elif entry:
        changes = (AddItem(entry, "params", path, plain_layout(case, boundary, path, layout)),)
    else:
        changes = add_params(case, (boundary.fqn,), {path: layout})
    return (Proposal(f"cut {quote(path)} as its weight", changes, safe=entry is not None),) if changes else ()
