"""HPL717 tp-plan-experts-apart: experts whose weights are parameters of one module, not cut along what lies between the
two, or not summed after (P1, by names and shapes).
"""

from collections.abc import Iterator

from hplint.rule import Case, Finding
from hplint.style_rule import (
    WORDS,
    Experts,
    Flow,
    Flows,
    Misfit,
    advise,
    experts_in,
    flows_of,
    on_styles,
    said,
    word_place,
    write_misfits,
)

RULE = on_styles("HPL717", "tp-plan-experts-apart", "error", "tp_plan")


def check(case: Case) -> Iterator[Finding]:
    flows = flows_of(case.plan, case.tree, case.styles)
    if flows is None:
        return
    for experts in experts_in(flows.tree):
        if finding := _expert(flows, experts):
            yield finding


def _expert(flows: Flows, experts: Experts) -> Finding | None:
    weights, winners = (experts.up, experts.down), flows.styles.winners
    own = winners.get(experts.fqn)
    entries = {w.name: winners.get(w.name) for w in weights}
    if any(e and (e.style is None or e.style.kind not in WORDS) for e in (*entries.values(), own)):
        return None
    if all(flows.cut(name) is None for name in entries):
        return None
    missing = [name for name, e in (*entries.items(), (experts.fqn, own)) if e is None]
    wrong = [w for w in weights if flows.cut(w.name) != w.dim]
    summed = own is not None and own.style is not None and own.style.kind == "moe_tp_experts"
    if any(map(flows.may_be_meant, missing)) or (summed and not wrong):
        return None
    named = {name: e for name, e in entries.items() if e is not None}
    place = flows.own(*(named.get(w.name) for w in wrong), *entries.values(), own)
    if place is None:
        return None
    if wrong:
        changed = [Misfit(w.name, Flow(entry=entries[w.name]), w.word) for w in wrong]
        both = " and ".join(said(name, Flow(entry=e)) for name, e in entries.items())
        message = f"the two weights of the experts are not cut along what lies between them, {both}: the matmul fails"
    else:
        changed = [Misfit(experts.fqn, Flow(entry=own), "moe_tp_experts")]
        local = own is not None and own.style is not None and own.style.kind == "local_params"
        message = "the weights of the experts are cut, but their module has no `moe_tp_experts`: " + (
            "no rank sums the parts of its output, and the results are wrong without an error"
            if local
            else "it meets parts of weights with plain tensors, and the first forward fails"
        )
    severity = "warning" if place.conditional else None
    fixes = write_misfits(flows, changed)
    return Finding(
        word_place(flows.plan, place), message, advise(changed), place, experts.fqn, fixes=fixes, severity=severity
    )
