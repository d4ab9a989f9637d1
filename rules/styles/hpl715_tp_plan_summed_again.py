"""HPL715 tp-plan-summed-again: outputs that are summed over the ranks, or inputs that are divided, where nothing is
left to add up.
"""

from collections.abc import Iterator

from hplint.rule import Case, Finding, quote
from hplint.style_rule import (
    BY_POSITION,
    SUMMING,
    Flows,
    drop_rule,
    flows_of,
    is_embedding,
    looks_linear,
    on_styles,
    word_place,
)

RULE = on_styles("HPL715", "tp-plan-summed-again", "error", "tp_plan")

_AGAIN = ("all_reduce", "moe_tp_experts")
_AFTER = "the results are wrong without an error"


def check(case: Case) -> Iterator[Finding]:
    flows = flows_of(case.plan, case.tree, case.styles)
    if flows is not None:
        yield from _sums(flows)


def _sums(flows: Flows) -> Iterator[Finding]:
    """Modules whose output is summed over the ranks though each has all of it, or a slice."""
    for entry in flows.plan.styles:
        kind = entry.style.kind if entry.style else ""
        if kind not in (*_AGAIN, "moe_identity_expert"):
            continue
        for fqn in flows.styles.hits.get(entry.index, ()):
            if fqn not in flows.tree.modules or flows.styles.winners.get(fqn) is not entry:
                continue
            if is_embedding(flows.tree.modules[fqn]) or (kind in BY_POSITION and flows.is_called_by_keyword(fqn)):
                continue  # Other rules speak of these.
            if kind == "moe_identity_expert":
                message, advice = _divided(flows, fqn)
            else:
                message, advice = _summed(flows, fqn)
            if message:
                severity = "warning" if entry.conditional else None
                fixes = drop_rule(flows.plan, entry)
                yield Finding(
                    word_place(flows.plan, entry), message, advice, entry, fqn, fixes=fixes, severity=severity
                )


def _divided(flows: Flows, fqn: str) -> tuple[str, str]:
    parts = fqn.split(".")
    above = (".".join(parts[:n]) for n in range(len(parts) - 1, 0, -1))
    winners = flows.styles.winners
    if any(w.style and w.style.kind == "moe_tp_experts" for w in (winners.get(a) for a in above) if w):
        return "", ""
    return (
        f"the input is divided by the size of tp, but no `moe_tp_experts` around it sums the ranks' outputs: {_AFTER}",
        "remove the rule",
    )


def _summed(flows: Flows, fqn: str) -> tuple[str, str]:
    """Nothing where some part of the sum may come from parameters that the module or one below it has cut."""
    tree, prefix = flows.tree, f"{fqn}."
    if tree.modules[fqn].cls is None:
        return "", ""
    below = [name for name in tree.parameters if name.startswith(prefix)]
    cut = [name for name in below if flows.cut(name) is not None]
    again = "its output is summed over the ranks, but "
    if not cut:
        if below and any(flows.may_be_meant(name) for name in below):
            return "", ""
        return f"{again}nothing in it is cut, so that no rank has a part of a sum: {_AFTER}", "remove the rule"
    sums = [m for m in tree.modules if m.startswith(prefix) and _word(flows, m) in (*SUMMING, *_AGAIN)]
    open_ones = [n for n in cut if not _has_its_way(flows, n) and not any(n.startswith(f"{m}.") for m in sums)]
    if open_ones or not sums:
        return "", ""
    last = sums[-1]
    return (
        f"{again}{quote(last.rpartition('.')[2])} ({quote(_word(flows, last) or '')}) has summed it already: it comes "
        "out multiplied by the size of tp, without an error",
        "remove the rule",
    )


def _has_its_way(flows: Flows, parameter: str) -> bool:
    """Whether a parameter is that of a layer whose word lays out its output."""
    owner = parameter.rpartition(".")[0]
    flow = flows.of(owner)
    return flow is not None and flow.entry is not None and looks_linear(flows.tree.modules[owner])


def _word(flows: Flows, fqn: str) -> str | None:
    entry = flows.styles.winners.get(fqn)
    return entry.style.kind if entry and entry.style else None
