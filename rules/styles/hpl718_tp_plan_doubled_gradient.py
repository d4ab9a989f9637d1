"""HPL718 tp-plan-doubled-gradient: rules that sum a gradient over the ranks of which every rank has all (N2, by names
and shapes): it comes out multiplied by the size of tp.
"""

from collections.abc import Iterator

from hplint.rule import Case, Finding, quote
from hplint.style_rule import (
    Flows,
    StyleEntry,
    activations_between,
    drop_rule,
    flows_of,
    groups_in,
    hidden_size,
    is_cut,
    is_embedding,
    latent_pairs,
    norms_behind,
    on_styles,
    word_place,
)

RULE = on_styles("HPL718", "tp-plan-doubled-gradient", "error", "tp_plan")

SUMMED, SEQUENCE, LATENT = "replicated_with_grad_allreduce", "sequence_parallel", "mla_kv_a_proj"
OUTSIDE = ("q_a_layernorm", "kv_a_layernorm")
"""Norms of latent attention that come before the cut projections."""
PROJECTIONS = ("q_proj", "kv_b_proj", "query_key_value", "qkv_proj", "wq")
ROUTERS = ("gate", "router")


def check(case: Case) -> Iterator[Finding]:
    flows = flows_of(case.plan, case.tree, case.styles)
    if flows is not None:
        yield from (*_doubled(flows), *_latent(flows))


def _doubled(flows: Flows) -> Iterator[Finding]:
    """Rules that sum a gradient of which every rank has all."""
    for entry in flows.plan.styles:
        word = entry.style.kind if entry.style else ""
        if word not in (SUMMED, SEQUENCE):
            continue
        for fqn in flows.styles.hits.get(entry.index, ()):
            if flows.styles.winners.get(fqn) is not entry or fqn not in flows.tree.modules:
                continue
            why = _whole(flows, fqn, word)
            if why:
                message = (
                    f"{quote(word)} sums the gradient of {quote(fqn.rpartition('.')[2])} over the ranks, but {why}: it "
                    "comes out multiplied by the size of tp, without an error"
                )
                yield _finding(flows, entry, fqn, message)


def _latent(flows: Flows) -> Iterator[Finding]:
    """The word for latent attention whose heads are not cut."""
    for first, one, other in latent_pairs(flows):
        place = flows.own(one.entry, other.entry)
        if place is not None and one.word == LATENT and not is_cut(other):
            message = (
                f"{quote(LATENT)} sums a part of the gradient over the ranks, but the heads behind "
                f"{quote('kv_b_proj')} are not cut: it comes out multiplied by the size of tp, without an error"
            )
            yield _finding(flows, place, first, message)


def _whole(flows: Flows, fqn: str, word: str) -> str:
    """Why each rank has the whole gradient; "" where that cannot be told."""
    parent, _, name = fqn.rpartition(".")
    module = flows.tree.modules[fqn]
    sizes = {t.shape for t in module.parameters.values()}
    behind = dict(norms_behind(flows.tree, parent, whole=True))
    if fqn in behind:
        flow = flows.of(behind[fqn])
        if flow is None or is_cut(flow):
            return ""
        source = quote(behind[fqn].rpartition(".")[2])
        return f"{source} ({quote(flow.word) if flow.word else 'no rule'}) hands all heads on"
    if name in OUTSIDE:
        return "it comes before the projections that are cut by heads"
    if word == SUMMED and (is_embedding(module) or fqn in flows.heads()):
        return "every rank has it and its input whole"
    for activation, makers in activations_between(flows.tree, parent):
        if activation == fqn and word == SUMMED and all(f and not is_cut(f) for f in map(flows.of, makers)):
            return "the layers before it hand all features on"
    if word == SUMMED and _is_plain_layer(flows, parent, fqn):
        return "its input is whole"
    hidden = hidden_size(flows.tree, fqn)
    if hidden is None:
        return ""
    if sizes == {(hidden,)} and "norm" in name.lower() and not _is_attention(flows, parent):
        return "it sees the hidden states, which every rank has whole"
    siblings = {n for n, _ in flows.tree.modules[parent].node.children} if parent in flows.tree.modules else set()
    weight = module.parameters.get("weight")
    if name in ROUTERS and "experts" in siblings and weight is not None and weight.shape[-1:] == (hidden,):
        return "every rank routes all tokens"
    return ""


def _is_plain_layer(flows: Flows, parent: str, fqn: str) -> bool:
    """Whether it is one of several layers that feed one another and that nothing cuts."""
    for group in groups_in(flows.tree, parent):
        layers = (*group.firsts, group.then)
        if fqn in layers:
            found = [flows.of(f) for f in layers if f != fqn]
            return all(f is not None and f.gives == f.takes == "whole" for f in found)
    return False


def _is_attention(flows: Flows, fqn: str) -> bool:
    """Whether norms in a module may see parts of heads."""
    return "attn" in fqn.rpartition(".")[2] or any(f"{fqn}.{p}" in flows.tree.modules for p in PROJECTIONS)


def _finding(flows: Flows, entry: StyleEntry, fqn: str, message: str) -> Finding:
    return Finding(
        word_place(flows.plan, entry),
        message,
        "remove the rule",
        entry,
        fqn,
        fixes=drop_rule(flows.plan, entry),
        severity="warning" if entry.conditional else None,
    )
