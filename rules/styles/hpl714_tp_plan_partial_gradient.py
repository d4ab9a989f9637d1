"""HPL714 tp-plan-partial-gradient: whole parameters whose gradient is a part and is not summed (N2, by names, shapes).

A norm of one head's features behind cut projections sees the rank's own heads alone, so that its gradient has to be
summed; so does the rotary part of latent attention, and a parameter of an activation between cut layers.
"""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Related, quote
from hplint.style_rule import (
    Flows,
    StyleEntry,
    activations_between,
    flows_of,
    is_cut,
    latent_pairs,
    norms_behind,
    on_styles,
    word_place,
    write_words,
)

RULE = on_styles("HPL714", "tp-plan-partial-gradient", "error", "tp_plan")

SUMMED, LATENT = "replicated_with_grad_allreduce", "mla_kv_a_proj"


def check(case: Case) -> Iterator[Finding]:
    flows = flows_of(case.plan, case.tree, case.styles)
    if flows is not None:
        yield from (*_parts(flows), *_latent(flows))


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
    for fqn, source in norms_behind(flows.tree, parent):
        yield (
            fqn,
            [source],
            f"is a norm over one head's features behind {quote(source.rpartition('.')[2])}, cut by heads",
        )


def _activations(flows: Flows, parent: str) -> Iterator[tuple[str, list[str], str]]:
    """The same for activations with numbers of their own."""
    for fqn, firsts in activations_between(flows.tree, parent):
        first = quote(firsts[0].rpartition(".")[2])
        yield fqn, list(firsts), f"has parameters and works on what {first} makes, cut by features"


def _latent(flows: Flows) -> Iterator[Finding]:
    """The projection of latent attention whose rotary part goes to the heads by itself."""
    for first, one, other in latent_pairs(flows):
        place = flows.own(one.entry, other.entry)
        if place is None or one.word == LATENT or not is_cut(other):
            continue
        message = (
            f"the rotary part of {quote('kv_a_proj_with_mqa')} goes to the heads past {quote('kv_b_proj')}, which "
            f"is cut by heads, and has {quote(one.word) if one.word else 'no rule'}: its gradient covers the "
            "rank's own heads alone, without an error"
        )
        advice = f"give {quote('kv_a_proj_with_mqa')} the rule {quote(LATENT)}"
        yield _finding(flows, place, first, message, advice, LATENT if place is one.entry else None)


def _finding(flows: Flows, entry: StyleEntry, fqn: str, message: str, advice: str, word: str | None) -> Finding:
    fixes = write_words(flows.plan, [(entry, word)]) if word else ()
    other = flows.own(flows.styles.winners.get(fqn))
    related = (Related("its rule", other.span),) if other is not None and other is not entry else ()
    severity = "warning" if entry.conditional else None
    place = word_place(flows.plan, entry)
    return Finding(place, message, advice, entry, fqn, fixes=fixes, related=related, severity=severity)
