"""HPL606 unpaired-cut: layers that feed one another and whose styles do not fit together (P1, by names).

Only where names leave no doubt: q, k, v -> o; gate, up -> down; w1, w3 -> w2; fc1 -> fc2 of one parent; the base layer
of an adapter and the low-rank layers beside it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from hplint.rule import REPLICATE, Case, Finding, Proposal, Related, Remove, SetArgument, SetStyle, quote
from hplint.style_rule import (
    COLWISE,
    ROWWISE,
    Style,
    StyleEntry,
    groups_in,
    is_linear,
    is_local,
    on_styles,
    style_input,
    style_output,
)

RULE = on_styles("HPL606", "unpaired-cut", "error", "torch")

LAST = (-1, 2)
_CLASH = {
    "lora_A": "it reads the same slice of the input, and the sizes do not fit in its matmul",
    "lora_B": "the adapter adds its whole output to a slice, and the sizes do not fit",
}


class Pair(NamedTuple):
    """A layer and one that reads its output, with what the plan says of both."""

    first: str
    then: str
    one: StyleEntry | None
    other: StyleEntry | None


def check(case: Case) -> Iterator[Finding]:
    if case.styles is None or case.tree is None:
        return
    yield from _adapters(case)
    told: set[str] = set()
    pairs = list(_pairs(case))
    firsts: dict[str, list[Pair]] = {}
    for pair in pairs:
        firsts.setdefault(pair.then, []).append(pair)
    for pair in pairs:
        entry, words = _verdict(pair)
        if entry is None or pair.then in told:
            continue
        told.add(pair.then)
        message, advice = words
        also = pair.other if entry is pair.one else pair.one
        related = (Related(f"{quote(also.key.value)} is cut here", also.key.span),) if also and also.key else ()
        yield Finding(
            entry.key.span if entry.key else entry.span,
            message,
            advice,
            entry,
            pair.then if entry is pair.other else pair.first,
            fixes=tuple(_fixes(firsts[pair.then])),
            related=related,
            severity=None if _is_sure(pair) else "warning",
        )


def _adapters(case: Case) -> Iterator[Finding]:
    """Layers inside an adapter that are cut while its low-rank layers stay whole."""
    assert case.tree is not None and case.styles is not None
    for fqn, entry in case.styles.winners.items():
        wrapper, _, name = fqn.rpartition(".")
        if name != "base_layer" or entry.style is None or entry.key is None or not is_linear(case.tree.modules[fqn]):
            continue
        cut = _made(entry.style) == "cut" if entry.style.kind == COLWISE else _is_cut_input(entry.style)
        low = "lora_B" if entry.style.kind == COLWISE else "lora_A"
        beside = [m for m in case.tree.modules if m.startswith(f"{wrapper}.{low}.")] if cut else []
        if beside and not any(m in case.styles.by_module for m in beside):
            yield Finding(
                entry.key.span,
                f"{quote(name)} is cut, and {quote(low)} beside it is not: {_CLASH[low]}",
                f"give {quote(beside[0])} {quote(entry.style.kind)} too",
                entry,
                fqn,
                severity="warning" if entry.conditional or entry.style.base else None,
            )


def _fixes(pairs: list[Pair]) -> Iterator[Proposal]:
    """Make the layers before one and this one a pair again; none where that takes a style that no key gives, or styles
    that say more than which way they cut."""
    other = pairs[0].other
    ones = [p.one for p in pairs]
    styles = [e.style if e else None for e in (*ones, other)]
    if any(s is None or s.base or s.kind not in (COLWISE, ROWWISE) for s in styles):
        return
    if all(s and s.kind == (ROWWISE if e is other else COLWISE) for s, e in zip(styles, (*ones, other), strict=True)):
        yield from _keeping_kinds(ones, other)
        return
    wrong = [(e, COLWISE) for e in ones if e and e.style and e.style.kind == ROWWISE]
    if other and other.style and other.style.kind == COLWISE:
        wrong.append((other, ROWWISE))
    if not any(e.style.arguments or e.style.open for e, _ in wrong if e.style):
        names = " and ".join(dict.fromkeys(f"{quote(e.key.value)} {quote(kind)}" for e, kind in wrong if e.key))
        yield Proposal(f"make {names}", tuple(SetStyle(*w) for w in wrong))


def _keeping_kinds(ones: list[StyleEntry | None], other: StyleEntry | None) -> Iterator[Proposal]:
    """Columns that are gathered before rows: do not gather them."""
    gathered = [e for e in ones if e and e.style and _made(e.style) == "whole"]
    spans = [e.style.arguments["output_layouts"].key_span for e in gathered if e.style and e.key]
    if other and other.style and _wanted(other.style) == "cut" and spans:
        yield Proposal("remove `output_layouts`", tuple(Remove(s) for s in dict.fromkeys(spans)))
        if len(gathered) == len(ones):
            title = "give it `input_layouts=Replicate()`"
            yield Proposal(title, (SetArgument(other, "input_layouts", REPLICATE),))


def _is_sure(pair: Pair) -> bool:
    """Whether both sides are what runs: no branch, no class of the user's own, and no part of a plan that may be
    completed elsewhere."""
    sides = [e for e in (pair.one, pair.other) if e]
    plain = all(not e.conditional and e.style and not e.style.base for e in sides)
    return plain and (len(sides) == 2 or all(e.applied for e in sides))


def _pairs(case: Case) -> Iterator[Pair]:
    """The pairs of which at least one side has a style. Where a key is misspelt or cannot be read, a side without a
    style may be what it means: only pairs of which both have one are looked at."""
    assert case.tree is not None and case.styles is not None
    winners, covered = case.styles.winners, set(case.styles.by_module)
    unsure = bool(case.styles.unmatched) or any(e.key is None or e.style is None for e in case.plan.styles)
    elsewhere = {fqn for e in case.plan.other_styles for fqn in case.styles.hits.get(e.index, ())}
    for parent in dict.fromkeys(fqn.rpartition(".")[0] for fqn in winners):
        for _, firsts, then in groups_in(case.tree, parent):
            if not covered & {then, *firsts} or elsewhere & {then, *firsts} - covered:
                continue
            for first in firsts:
                if unsure and not {first, then} <= covered:
                    continue
                yield Pair(first, then, winners.get(first), winners.get(then))


def _verdict(pair: Pair) -> tuple[StyleEntry | None, tuple[str, str]]:
    """The entry at fault, and what is wrong with it."""
    one, other = (e.style if e else None for e in (pair.one, pair.other))
    name, then = (quote(fqn.rpartition(".")[2]) for fqn in pair[:2])
    if any(e is not None and (e.style is None or e.style.kind not in (COLWISE, ROWWISE)) for e in pair[2:]):
        return None, ("", "")
    made = _made(one)
    wanted = _wanted(other)
    if made is None or wanted is None:
        return None, ("", "")
    if one is not None and one.kind == ROWWISE and _is_cut_input(one):
        return pair.one, (
            f"{name} is rowwise and expects its input cut along the features, but what it reads is whole: the sizes do "
            "not fit in the matmul",
            f"make {name} {quote(COLWISE)} and {then} {quote(ROWWISE)}",
        )
    if made == wanted:
        return None, ("", "")
    if made == "cut":
        if other is not None:
            return pair.other, (
                f"{then} expects a whole input, but {name} hands on its slice of the features: the sizes do not fit in "
                "the matmul",
                f"make {then} {quote(ROWWISE)}, or gather {name} by `output_layouts=Replicate()`",
            )
        return pair.one, (
            f"{name} hands on its slice of the features, and {then}, which reads it, has no style: the sizes do not "
            "fit in the matmul",
            f"give {then} {quote(ROWWISE)}",
        )
    how = f"{name} hands its output on whole" if one is not None else f"{name} has no style and its output is whole"
    return pair.other, (
        f"{then} is rowwise and expects its input cut along the features, but {how}: the sizes do not fit in "
        "the matmul",
        f"make {name} {quote(COLWISE)} without gathering, or give {then} `input_layouts=Replicate()`",
    )


def _made(style: Style | None) -> str | None:
    """Whether a layer hands on a "cut" or a "whole" tensor; None where that cannot be told."""
    if style is None:
        return "whole"
    layout = style_output(style)
    if layout is None or is_local(style) is not True:
        return None
    if layout.is_shard:
        return "cut" if layout.dim in LAST else None
    return "whole"


def _wanted(style: Style | None) -> str | None:
    """Whether a layer expects a "cut" or a "whole" tensor; None where that cannot be told."""
    if style is None:
        return "whole"
    layout = style_input(style)
    if layout is None:
        return None
    if layout.is_shard:
        return "cut" if layout.dim in LAST else None
    return "whole"


def _is_cut_input(style: Style) -> bool:
    return _wanted(style) == "cut"
