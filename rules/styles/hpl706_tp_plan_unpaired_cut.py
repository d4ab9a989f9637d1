"""HPL706 tp-plan-unpaired-cut: words that leave a tensor cut or whole where the next layer wants the other (P1, by
names): layers that feed one another, the compressed projections of latent attention, the head of the model.
"""

from collections.abc import Iterable, Iterator

from hplint.rule import Case, Finding, Related, quote
from hplint.style_rule import (
    CUT_THEN_SUMMED,
    WHOLE_ALL_ALONG,
    Flow,
    Flows,
    Group,
    Misfit,
    StyleEntry,
    advise,
    flows_of,
    groups_in,
    is_cut,
    on_styles,
    said,
    word_place,
    write_misfits,
)

RULE = on_styles("HPL706", "tp-plan-unpaired-cut", "error", "tp_plan")

LATENT = {"q_a_proj": "q_b_proj", "kv_a_proj_with_mqa": "kv_b_proj"}
AFTER = {"colwise": "colwise_gather_output", "rowwise": "rowwise_split_input"}
"""What a head needs instead."""


def check(case: Case) -> Iterator[Finding]:
    flows = flows_of(case.plan, case.tree, case.styles)
    if flows is not None:
        yield from (*_groups(flows), *_heads(flows), *_latent(flows))


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
        advise(wrong),
        place,
        next((w.fqn for w in wrong if w.flow.entry is place), group.then),
        fixes=write_misfits(flows, wrong),
        related=tuple(_related(flows, related)),
        severity="warning" if any(f.entry and f.entry.conditional for f in known.values()) else None,
    )


def _wrong(group: Group, known: dict[str, Flow], cut: bool) -> list[Misfit]:
    """The layers that do not fit where a slice, or a whole tensor, is to go from the first ones to the last."""
    first, then = CUT_THEN_SUMMED if cut else WHOLE_ALL_ALONG
    between = "slice" if cut else "whole"
    found = [Misfit(f, known[f], first) for f in group.firsts if known[f][:2] != ("whole", between)]
    last = known[group.then]
    return [*found, *([Misfit(group.then, last, then)] if last[:2] != (between, "whole") else [])]


def _what(group: Group, known: dict[str, Flow]) -> str:
    """The first thing that fails."""
    then = known[group.then]
    for fqn in group.firsts:
        if known[fqn].takes == "slice":
            return (
                f"{said(fqn, known[fqn])} expects its input cut along the features, but what it reads is whole: the "
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
            f"{said(group.then, then)} hands on the rank's slice, but what follows the block reads a whole tensor: "
            "the first forward fails"
        )
    names = _all(group.firsts, known)
    makes = "makes" if len(group.firsts) == 1 else "make"
    if cut:
        return (
            f"{names} {makes} the rank's slice of the features, but {said(group.then, then)} reads a whole tensor: "
            "the first forward fails"
        )
    return (
        f"{said(group.then, then)} expects its input cut along the features, but {names} {makes} a whole one: the "
        "first forward fails"
    )


def _all(fqns: Iterable[str], known: dict[str, Flow]) -> str:
    """Several layers and their words: ``a` (`colwise`), `b` (no rule) and `c` (`rowwise`)``."""
    told = [said(fqn, known[fqn]) for fqn in fqns]
    return " and ".join((", ".join(told[:-1]), told[-1])) if len(told) > 1 else told[0]


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
        fixes = write_misfits(flows, [Misfit(fqn, flow, word)], flow.gives == "slice")
        severity = "warning" if entry.conditional else None
        yield Finding(
            word_place(flows.plan, entry), message, f"write {quote(word)}", entry, fqn, fixes=fixes, severity=severity
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
                    f"{said(fqn, flow)} hands on the rank's slice of the compressed features, but what reads them, "
                    f"{quote(then)} at the end, takes all of them: the first forward fails",
                    f"leave {quote(name)} whole, or write `colwise_gather_output`"
                    if name == "q_a_proj"
                    else f"write `mla_kv_a_proj` for {quote(name)}",
                    place,
                    fqn,
                    fixes=write_misfits(flows, [Misfit(fqn, flow, "colwise_gather_output")])
                    if name == "q_a_proj"
                    else (),
                    severity="warning" if place.conditional else None,
                )
