"""HPL706 tp-plan-unpaired-cut: words that leave a tensor cut or whole where the next layer wants the other (P1, by
names and shapes), and sums over what is no part of a sum.

Layers that feed one another by the usual names; the head of the model; norms of the whole width between cut layers;
``all_reduce``, ``moe_tp_experts`` and ``moe_identity_expert`` where nothing is left to add up.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hplint.rule import Case, Finding, Proposal, Related, listing, quote
from hplint.style_rule import (
    BY_POSITION,
    CUT_THEN_SUMMED,
    SUMMING,
    WHOLE_ALL_ALONG,
    WORDS,
    Experts,
    Flow,
    Flows,
    Group,
    StyleEntry,
    drop_rule,
    experts_in,
    flows_of,
    groups_in,
    head_size,
    is_cut,
    is_embedding,
    looks_linear,
    on_styles,
    word_place,
    write_words,
)

RULE = on_styles("HPL706", "tp-plan-unpaired-cut", "error", "tp_plan")

_AGAIN = ("all_reduce", "moe_tp_experts")
_AFTER = "the results are wrong without an error"
LATENT = {"q_a_proj": "q_b_proj", "kv_a_proj_with_mqa": "kv_b_proj"}
NORMS = {"q_norm": "q_proj", "k_norm": "k_proj", "q_layernorm": "q_proj", "k_layernorm": "k_proj"}
"""Names of norms, and of the layer whose output they get."""
AFTER = {"colwise": "colwise_gather_output", "rowwise": "rowwise_split_input"}
"""What a head needs instead."""


class Wrong(NamedTuple):
    """A module whose flow does not fit, and the word that it needs."""

    fqn: str
    flow: Flow
    word: str


def check(case: Case) -> Iterator[Finding]:
    flows = flows_of(case.plan, case.tree, case.styles)
    if flows is None:
        return
    yield from (*_groups(flows), *_heads(flows), *_norms(flows), *_latent(flows), *_companions(flows))
    yield from (*_sums(flows), *_experts(flows))


def _groups(flows: Flows) -> Iterator[Finding]:
    for parent in flows.parents():
        for group in groups_in(flows.tree, parent):
            if finding := _group(flows, group):
                yield finding


def _group(flows: Flows, group: Group) -> Finding | None:
    """What is wrong with layers that feed one another: of the two ways in which they fit, the one is meant that is
    nearer to the plan."""
    found = {fqn: flows.of(fqn) for fqn in (*group.firsts, group.then)}
    if any(flow is None for flow in found.values()):
        return None
    known = {fqn: flow for fqn, flow in found.items() if flow is not None}
    if any(flow.entry is None and flows.may_be_meant(fqn) for fqn, flow in known.items()):
        return None
    wrong = min(_wrong(group, known, True), _wrong(group, known, False), key=len)
    place = flows.own(*(w.flow.entry for w in wrong), known[group.then].entry, *(f.entry for f in known.values()))
    if not wrong or place is None:
        return None
    related = (f.entry for f in known.values() if f.entry is not place and f.entry is not None)
    return Finding(
        word_place(flows.plan, place),
        _what(group, known),
        _advice(wrong),
        place,
        next((w.fqn for w in wrong if w.flow.entry is place), group.then),
        fixes=_fix(flows, wrong),
        related=tuple(_related(flows, related)),
        severity="warning" if any(f.entry and f.entry.conditional for f in known.values()) else None,
    )


def _wrong(group: Group, known: dict[str, Flow], cut: bool) -> list[Wrong]:
    """The layers that do not fit where a slice, or a whole tensor, is to go from the first ones to the last."""
    first, then = CUT_THEN_SUMMED if cut else WHOLE_ALL_ALONG
    between = "slice" if cut else "whole"
    found = [Wrong(f, known[f], first) for f in group.firsts if known[f][:2] != ("whole", between)]
    last = known[group.then]
    return [*found, *([Wrong(group.then, last, then)] if last[:2] != (between, "whole") else [])]


def _what(group: Group, known: dict[str, Flow]) -> str:
    """The first thing that fails."""
    then = known[group.then]
    for fqn in group.firsts:
        if known[fqn].takes == "slice":
            return (
                f"{_said(fqn, known[fqn])} expects its input cut along the features, but what it reads is whole: the "
                "first forward fails"
            )
    cut = [f for f in group.firsts if is_cut(known[f])]
    whole = [f for f in group.firsts if f not in cut]
    if cut and whole:
        return (
            f"{_all(cut, known)} {'hands' if len(cut) == 1 else 'hand'} on the rank's slice, "
            f"but {_all(whole, known)} {'is' if len(whole) == 1 else 'are'} whole: what meets "
            "in the block differs in size, and the first forward fails"
        )
    if then.gives == "slice" and (then.takes == "whole") != bool(cut):
        return (
            f"{_said(group.then, then)} hands on the rank's slice, but what follows the block reads a whole tensor: "
            "the first forward fails"
        )
    names = _all(group.firsts, known)
    makes = "makes" if len(group.firsts) == 1 else "make"
    if cut:
        return (
            f"{names} {makes} the rank's slice of the features, but {_said(group.then, then)} reads a whole tensor: "
            "the first forward fails"
        )
    return (
        f"{_said(group.then, then)} expects its input cut along the features, but {names} {makes} a whole one: the "
        "first forward fails"
    )


def _said(fqn: str, flow: Flow) -> str:
    """A layer and its word."""
    name = quote(fqn.rpartition(".")[2])
    return f"{name} ({quote(flow.word)})" if flow.word else f"{name} (no rule)"


def _all(fqns: Iterable[str], known: dict[str, Flow]) -> str:
    """Several layers and their words: ``a` (`colwise`), `b` (no rule) and `c` (`rowwise`)``."""
    said = [_said(fqn, known[fqn]) for fqn in fqns]
    return " and ".join((", ".join(said[:-1]), said[-1])) if len(said) > 1 else said[0]


def _advice(wrong: Iterable[Wrong]) -> str:
    by_word: dict[str, list[str]] = {}
    for w in wrong:
        by_word.setdefault(w.word, []).append(w.fqn.rpartition(".")[2])
    return "write " + " and ".join(f"{quote(word)} for {listing(names)}" for word, names in by_word.items())


def _fix(flows: Flows, wrong: list[Wrong], safe: bool = False) -> tuple[Proposal, ...]:
    """Other words, where every layer at fault has a rule of the plan's own."""
    return write_words(flows.plan, ((flows.own(w.flow.entry), w.word) for w in wrong), safe)


def _related(flows: Flows, entries: Iterable[StyleEntry]) -> Iterator[Related]:
    for entry in {id(e): e for e in entries}.values():
        if flows.own(entry) and entry.key:
            yield Related(f"{quote(entry.key.value)} is one of them", entry.key.span)


def _heads(flows: Flows) -> Iterator[Finding]:
    """Linear layers that a model ends in: what they make is the result."""
    for fqn in flows.heads():
        flow = flows.of(fqn)
        entry = flows.own(flow.entry) if flow else None
        if flow is None or entry is None or (flow.word not in AFTER):
            continue
        name, word = quote(fqn.rpartition(".")[2]), AFTER[flow.word]
        if flow.gives == "slice":
            message = (
                f"{name} ({quote(flow.word)}) ends the model with each rank's slice of the logits: the loss fails on "
                "their size, and generation sees a part of the vocabulary"
            )
        else:
            message = (
                f"{name} ({quote(flow.word)}) expects its input cut along the features, but the hidden states are "
                "whole: the first forward fails"
            )
        fixes = _fix(flows, [Wrong(fqn, flow, word)], flow.gives == "slice")
        severity = "warning" if entry.conditional else None
        yield Finding(
            word_place(flows.plan, entry), message, f"write {quote(word)}", entry, fqn, fixes=fixes, severity=severity
        )


def _norms(flows: Flows) -> Iterator[Finding]:
    """Norms over all heads at once, of which each rank has its own alone."""
    for parent in flows.parents():
        for name, source in NORMS.items():
            norm, layer = f"{parent}.{name}", f"{parent}.{source}"
            if norm not in flows.tree.modules or layer not in flows.tree.modules:
                continue
            size = _width(flows, norm)
            flow = flows.of(layer)
            if size is None or size != _width(flows, layer) or not is_cut(flow) or flow is None:
                continue
            place = flows.own(flow.entry, flows.styles.winners.get(norm))
            if place is not None:
                yield Finding(
                    word_place(flows.plan, place),
                    f"{quote(name)} is a norm over all {size} features of {quote(source)}, but {_said(layer, flow)} "
                    "leaves each rank its slice: the first forward fails on the size of the norm's weight",
                    f"gather the layers before the norms ({quote(WHOLE_ALL_ALONG[0])}) and split again in the last one "
                    f"({quote(WHOLE_ALL_ALONG[1])})",
                    place,
                    layer,
                    severity="warning" if place.conditional else None,
                )


def _latent(flows: Flows) -> Iterator[Finding]:
    """The compressed projections of latent attention, of which a norm and the next projection read all."""
    for parent in flows.parents():
        for name, then in LATENT.items():
            fqn = f"{parent}.{name}"
            if fqn not in flows.tree.modules or f"{parent}.{then}" not in flows.tree.modules:
                continue
            flow = flows.of(fqn)
            place = flows.own(flow.entry) if flow else None
            if flow is not None and is_cut(flow) and place is not None:
                yield Finding(
                    word_place(flows.plan, place),
                    f"{_said(fqn, flow)} hands on the rank's slice of the compressed features, but what reads them, "
                    f"{quote(then)} at the end, takes all of them: the first forward fails",
                    f"leave {quote(name)} whole, or write `colwise_gather_output`"
                    if name == "q_a_proj"
                    else f"write `mla_kv_a_proj` for {quote(name)}",
                    place,
                    fqn,
                    fixes=_fix(flows, [Wrong(fqn, flow, "colwise_gather_output")]) if name == "q_a_proj" else (),
                    severity="warning" if place.conditional else None,
                )


def _companions(flows: Flows) -> Iterator[Finding]:
    """Parameters of an attention with one number for each head, whole beside projections that are cut by heads."""
    for parent in flows.parents():
        layer = f"{parent}.q_proj"
        flow = flows.of(layer) if layer in flows.tree.modules else None
        head, width = head_size(flows.tree, parent), _width(flows, layer) if flow else None
        place = flows.own(flow.entry) if flow else None
        if flow is None or place is None or not is_cut(flow) or not head or width is None:
            continue
        for name, tensor in flows.tree.modules[parent].parameters.items():
            full = f"{parent}.{name}"
            if tensor.shape != (width // head,) or flows.cut(full) is not None or flows.may_be_meant(full):
                continue
            yield Finding(
                word_place(flows.plan, place),
                f"{quote(name)} has one number for each of the {width // head} heads, but {_said(layer, flow)} leaves "
                "each rank its own heads: the sizes differ, and the first forward fails",
                f"give {quote(name)} the rule `colwise`, and the attention itself `local_params`",
                place,
                parent,
                severity="warning" if place.conditional else None,
            )


def _width(flows: Flows, fqn: str) -> int | None:
    """Size of the first dim of a module's weight."""
    weight = flows.tree.modules[fqn].parameters.get("weight")
    return weight.shape[0] if weight is not None and weight.shape else None


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


def _experts(flows: Flows) -> Iterator[Finding]:
    """Experts whose weights are parameters of one module: cut along what lies between the two, and summed after."""
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
        changed = [Wrong(w.name, Flow(entry=entries[w.name]), w.word) for w in wrong]
        said = " and ".join(_said(name, Flow(entry=e)) for name, e in entries.items())
        message = f"the two weights of the experts are not cut along what lies between them, {said}: the matmul fails"
    else:
        changed = [Wrong(experts.fqn, Flow(entry=own), "moe_tp_experts")]
        local = own is not None and own.style is not None and own.style.kind == "local_params"
        message = "the weights of the experts are cut, but their module has no `moe_tp_experts`: " + (
            "no rank sums the parts of its output, and the results are wrong without an error"
            if local
            else "it meets parts of weights with plain tensors, and the first forward fails"
        )
    severity = "warning" if place.conditional else None
    fixes = _fix(flows, changed)
    return Finding(
        word_place(flows.plan, place), message, _advice(changed), place, experts.fqn, fixes=fixes, severity=severity
    )
