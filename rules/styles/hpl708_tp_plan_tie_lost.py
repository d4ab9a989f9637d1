"""HPL708 tp-plan-tie-lost: words that cut a tied weight one way in one module and another way in the next (T1).

The library ties again after it has cut the model: the second module gets the first one's parameter, cut as that is,
and keeps the hooks of its own word.
"""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Proposal, Related, quote
from hplint.style_rule import WORDS, Flows, StyleEntry, flows_of, on_styles, word_place, write_words

RULE = on_styles("HPL708", "tp-plan-tie-lost", "error", "tp_plan")

FITTING = {0: ("embedding_rowwise", "colwise_gather_output"), 1: ("embedding_colwise", "rowwise_split_input")}
"""The words of an embedding and of a head that cut their weight along one dim."""


def check(case: Case) -> Iterator[Finding]:
    flows = flows_of(case.plan, case.tree, case.styles)
    if flows is None:
        return
    for first, *others in flows.tree.ties:
        for other in others:
            if finding := _tie(flows, first, other):
                yield finding


def _tie(flows: Flows, first: str, other: str) -> Finding | None:
    """What is wrong with two names of one tensor; the first one's rule decides how it is cut."""
    owners = [name.rpartition(".")[0] for name in (first, other)]
    pairs = zip((first, other), owners, strict=True)
    entries = [flows.styles.winners.get(n) or flows.styles.winners.get(o) for n, o in pairs]
    if any(e is not None and (e.style is None or e.style.kind not in WORDS) for e in entries):
        return None
    if any(e is None and flows.may_be_meant(o) for e, o in zip(entries, owners, strict=True)):
        return None
    dims = [flows.cut(first), flows.cut(other)]
    place = flows.own(entries[1], entries[0])
    if dims[0] == dims[1] or place is None:
        return None
    one, two = (f"{quote(starred(o))} ({_word(e)})" for o, e in zip(owners, entries, strict=True))
    return Finding(
        word_place(flows.plan, place),
        f"{one} and {two} have one weight, which is tied again once the model is cut and then is {_cut(dims[0])}: "
        + (
            "the one without a cut meets a part of it with plain tensors, and the first forward fails"
            if None in dims
            else "the other one's hooks take it as cut along another dim, and inference fails in the matmul"
        ),
        _advice(dims),
        place,
        owners[1] if place is entries[1] else owners[0],
        fixes=_fix(flows, entries, dims),
        related=tuple(
            Related("the other half of the tie", e.key.span)
            for e in entries
            if e is not None and e is not place and e.key and flows.own(e)
        ),
        severity="warning" if any(e and e.conditional for e in entries) else None,
    )


def starred(fqn: str) -> str:
    """A name as keys spell it."""
    return ".".join("*" if part.isdecimal() else part for part in fqn.split("."))


def _word(entry: StyleEntry | None) -> str:
    return quote(entry.style.kind) if entry and entry.style else "no rule"


def _cut(dim: int | None) -> str:
    return "whole on every rank" if dim is None else f"cut along dim {dim}"


def _advice(dims: list[int | None]) -> str:
    embedding, head = FITTING[dims[0] if dims[0] in FITTING else 0]
    return f"cut both alike: {quote(embedding)} for the embedding and {quote(head)} for the head; or leave both whole"


def _fix(flows: Flows, entries: list[StyleEntry | None], dims: list[int | None]) -> tuple[Proposal, ...]:
    """Another word for the second one, where the first one cuts."""
    if dims[0] not in FITTING:
        return ()
    return write_words(flows.plan, [(flows.own(entries[1]), FITTING[dims[0]][1])])
