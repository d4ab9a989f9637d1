"""HPL709 tp-plan-input-arity: words whose hook takes arguments that the module does not get that way (P5)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Module, quote
from hplint.style_rule import BY_POSITION, Flows, flows_of, on_styles, word_place

RULE = on_styles("HPL709", "tp-plan-input-arity", "error", "tp_plan")

REFUSED = ("colwise", "colwise_gather_output", "colwise_rep", "rowwise", "rowwise_split_input", "rowwise_rep")
"""Words that the library refuses on anything but linear layers."""


def check(case: Case) -> Iterator[Finding]:
    flows = flows_of(case.plan, case.tree, case.styles)
    if flows is None:
        return
    for entry in case.plan.styles:
        word = entry.style.kind if entry.style else ""
        if word not in BY_POSITION:
            continue
        for fqn in flows.styles.hits.get(entry.index, ()):
            if flows.styles.winners.get(fqn) is not entry or fqn not in flows.tree.modules:
                continue
            message, advice = _wrong(flows, flows.tree.modules[fqn], word)
            if message:
                severity = "warning" if entry.conditional else None
                yield Finding(word_place(flows.plan, entry), message, advice, entry, fqn, severity=severity)


def _wrong(flows: Flows, module: Module, word: str) -> tuple[str, str]:
    if module.forward is None or word in REFUSED:
        return "", ""
    taken = [p for p in module.forward if p.kind in ("positional", "positional_only", "var_positional")]
    if not taken or flows.is_called_by_keyword(module.fqn):
        how = "takes no argument by position" if not taken else "is called by keyword alone"
        return (
            f"{quote(word)} works on the first argument given by position, but this module {how}: the first forward "
            "fails, as there is none",
            "give the rule to the layers in it",
        )
    if word == "moe_tp_experts" and len(taken) > 2 and "weight" in taken[1].name and "weight" not in taken[2].name:
        return (
            f"{quote(word)} takes the arguments as hidden states, indices and weights, but here "
            f"{quote(taken[1].name)} comes before {quote(taken[2].name)}: the gradient of the router is not summed, "
            "and differs from rank to rank without an error",
            "pass the indices before the weights",
        )
    return "", ""
