"""HPL714 tp-plan-partial-gradient: whole parameters whose gradient is a part and not summed, or summed though it is
whole (N2, by names and shapes).

A norm of one head's features behind cut projections sees the rank's own heads alone, so that its gradient has to be
summed; so does the rotary part of latent attention, and a parameter of an activation between cut layers. Elsewhere each
rank has the whole gradient, and a sum multiplies it by the size of tp.
"""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Related, quote
from hplint.style_rule import (
    Flows,
    StyleEntry,
    config_of,
    drop_rule,
    flows_of,
    groups_in,
    head_size,
    is_cut,
    is_embedding,
    on_styles,
    word_place,
    write_words,
)

RULE = on_styles("HPL714", "tp-plan-partial-gradient", "error", "tp_plan")

SUMMED, SEQUENCE, LATENT = "replicated_with_grad_allreduce", "sequence_parallel", "mla_kv_a_proj"
NORMS = {
    "q_norm": ("q_proj", "wq", "q_b_proj"), "k_norm": ("k_proj", "wk"), "v_norm": ("v_proj", "wv"),
    "q_layernorm": ("q_proj",), "k_layernorm": ("k_proj",),
    "query_layernorm": ("q_proj",), "key_layernorm": ("k_proj",),
}  # fmt: skip
"""Names of norms inside attention, and of the projection whose output they get."""
ACTIVATIONS = ("act_fn", "act", "activation", "activation_fn")
OUTSIDE = ("q_a_layernorm", "kv_a_layernorm")
"""Norms of latent attention that come before the cut projections."""
PROJECTIONS = ("q_proj", "kv_b_proj", "query_key_value", "qkv_proj", "wq")
REMOVE = "remove the rule"
ROUTERS = ("gate", "router")


def check(case: Case) -> Iterator[Finding]:
    flows = flows_of(case.plan, case.tree, case.styles)
    if flows is None:
        return
    yield from (*_parts(flows), *_latent(flows), *_doubled(flows))


def _parts(flows: Flows) -> Iterator[Finding]:
    """Parameters that see the rank's own part alone, without a sum of their gradients."""
    for parent in flows.parents():
        for fqn, sources, what in (*_head_norms(flows, parent), *_activations(flows, parent)):
            if not all(is_cut(flows.of(s)) for s in sources):
                continue
            entry = flows.styles.winners.get(fqn)
            word = entry.style.kind if entry and entry.style else None
            if word not in (None, "replicate", "local_params") or (entry is None and flows.may_be_meant(fqn)):
                continue
            if entry is not None and word is None:
                continue
            makers = [flows.of(s) for s in sources]
            place = flows.own(entry, *(m.entry for m in makers if m))
            if place is not None:
                name = fqn.rpartition(".")[2]
                message = (
                    f"{quote(name)} {what}, and has {quote(word) if word else 'no rule'}: each rank's gradient covers "
                    "its own part alone, and the copies drift apart without an error"
                )
                advice = f"give {quote(name)} the rule {quote(SUMMED)}"
                yield _finding(flows, place, fqn, message, advice, SUMMED if place is entry else None)


def _head_norms(flows: Flows, parent: str) -> Iterator[tuple[str, list[str], str]]:
    """Norms over the features of one head, the projection before each, and what to say of them."""
    for fqn, source in _norms_behind(flows, parent):
        yield (
            fqn,
            [source],
            f"is a norm over one head's features behind {quote(source.rpartition('.')[2])}, cut by heads",
        )


def _norms_behind(flows: Flows, parent: str, whole: bool = False) -> Iterator[tuple[str, str]]:
    """Norms over the features of one head, with ``whole`` also those over all heads, and the projection before each."""
    tree, head = flows.tree, head_size(flows.tree, parent)
    for name, makers in NORMS.items():
        fqn = f"{parent}.{name}"
        source = next((f"{parent}.{m}" for m in makers if f"{parent}.{m}" in tree.modules), None)
        if fqn not in tree.modules or source is None or head is None:
            continue
        sizes = {t.shape for t in tree.modules[fqn].parameters.values()}
        weight = tree.modules[source].parameters.get("weight")
        if weight is None or weight.shape[0] <= head:
            continue
        if sizes == {(head,)} or (whole and sizes == {weight.shape[:1]}):
            yield fqn, source


def _activations(flows: Flows, parent: str) -> Iterator[tuple[str, list[str], str]]:
    """Activations with numbers of their own, between layers of which the first ones cut and the last one sums."""
    for group in groups_in(flows.tree, parent):
        for name in ACTIVATIONS:
            fqn = f"{parent}.{name}"
            module = flows.tree.modules.get(fqn)
            if module is None or not module.parameters or group.then.endswith(("o_proj", "out_proj")):
                continue
            if all(t.requires_grad and set(t.shape) <= {1} for t in module.parameters.values()):
                first = quote(group.firsts[0].rpartition(".")[2])
                yield fqn, list(group.firsts), f"has parameters and works on what {first} makes, cut by features"


def _latent(flows: Flows) -> Iterator[Finding]:
    """The projection of latent attention whose rotary part goes to the heads by itself."""
    for parent in flows.parents():
        first, then = f"{parent}.kv_a_proj_with_mqa", f"{parent}.kv_b_proj"
        if first not in flows.tree.modules or then not in flows.tree.modules:
            continue
        one, other = flows.of(first), flows.of(then)
        if one is None or other is None or "qk_rope_head_dim" not in config_of(flows.tree, parent):
            continue
        missing = [f for f, flow in ((first, one), (then, other)) if flow.entry is None]
        if any(flows.may_be_meant(f) for f in missing) or is_cut(one):
            continue
        if is_cut(other) and one.word != LATENT:
            place = flows.own(one.entry, other.entry)
            message = (
                f"the rotary part of {quote('kv_a_proj_with_mqa')} goes to the heads past {quote('kv_b_proj')}, which "
                f"is cut by heads, and has {quote(one.word) if one.word else 'no rule'}: its gradient covers the "
                "rank's own heads alone, without an error"
            )
            advice = f"give {quote('kv_a_proj_with_mqa')} the rule {quote(LATENT)}"
        elif one.word == LATENT and not is_cut(other):
            place = flows.own(one.entry, other.entry)
            message = (
                f"{quote(LATENT)} sums a part of the gradient over the ranks, but the heads behind "
                f"{quote('kv_b_proj')} are not cut: it comes out multiplied by the size of tp, without an error"
            )
            advice = REMOVE
        else:
            continue
        if place is not None:
            yield _finding(
                flows, place, first, message, advice, LATENT if place is one.entry and is_cut(other) else None
            )


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
                yield _finding(flows, entry, fqn, message, REMOVE, None)


def _whole(flows: Flows, fqn: str, word: str) -> str:
    """Why each rank has the whole gradient; "" where that cannot be told."""
    parent, _, name = fqn.rpartition(".")
    module = flows.tree.modules[fqn]
    sizes = {t.shape for t in module.parameters.values()}
    behind = dict(_norms_behind(flows, parent, whole=True))
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
    for activation, makers, _ in _activations(flows, parent):
        if activation == fqn and word == SUMMED and all(f and not is_cut(f) for f in map(flows.of, makers)):
            return "the layers before it hand all features on"
    if word == SUMMED and _is_plain_layer(flows, parent, fqn):
        return "its input is whole"
    hidden = _hidden(flows, fqn)
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


def _hidden(flows: Flows, fqn: str) -> int | None:
    """Size of the hidden states of the model that a module is part of."""
    size = config_of(flows.tree, fqn).get("hidden_size")
    return size if isinstance(size, int) else None


def _finding(
    flows: Flows, entry: StyleEntry, fqn: str, message: str, advice: str, word: str | None
) -> Finding:  # fmt: skip
    fixes = write_words(flows.plan, [(entry, word)]) if word else ()
    if advice == REMOVE:
        fixes = drop_rule(flows.plan, entry)
    other = flows.own(flows.styles.winners.get(fqn))
    related = (Related("its rule", other.span),) if other is not None and other is not entry else ()
    severity = "warning" if entry.conditional else None
    place = word_place(flows.plan, entry)
    return Finding(place, message, advice, entry, fqn, fixes=fixes, related=related, severity=severity)
