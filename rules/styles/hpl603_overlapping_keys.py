"""HPL603 overlapping-keys: one module under several keys of a parallelize_module plan (K3)."""

from collections.abc import Iterator
from itertools import pairwise

from hplint.rule import Case, Finding, Proposal, Related, quote, remove_item
from hplint.style_rule import COLWISE, ROWWISE, SEQUENCE, StyleEntry, on_styles

RULE = on_styles("HPL603", "overlapping-keys", "error", "torch")


def check(case: Case) -> Iterator[Finding]:
    if case.styles is None:
        return
    for fqn, entries in case.styles.by_module.items():
        cutting = [e for e in entries if e.style and e.style.kind in (COLWISE, ROWWISE, SEQUENCE)]
        for first, again in pairwise(cutting):
            if first.key is None or again.key is None or not _surely_both(first, again):
                continue
            yield Finding(
                again.key.span,
                f"{quote(again.key.value)} names a module that {quote(first.key.value)} has cut already: its "
                "parameters are DTensors by then, and torch stops at the second style",
                "leave one key for each module",
                again,
                fqn,
                fixes=tuple(_fixes(case, first, again)),
                related=(Related("cut here first", first.key.span),),
                severity="warning" if again.conditional or first.conditional else None,
            )


def _fixes(case: Case, first: StyleEntry, again: StyleEntry) -> Iterator[Proposal]:
    """Take out the key of which the other one names all modules. Where the styles differ it is that of the same
    modules: which one is meant nobody knows, and a narrower key may be meant as an exception."""
    assert case.styles is not None and first.key is not None and again.key is not None
    earlier, later = (set(case.styles.hits.get(e.index, ())) for e in (first, again))
    alike = _does(first) == _does(again)
    for entry, own, others in ((again, later, earlier), (first, earlier, later)):
        if entry.key is not None and (own == others or (alike and own < others)):
            yield remove_item(entry.key.span, entry.key.value)


def _does(entry: StyleEntry) -> object:
    style = entry.style
    return style and (style.name, style.open, sorted((n, str(k.value)) for n, k in style.arguments.items()))


def _surely_both(first: StyleEntry, again: StyleEntry) -> bool:
    """Whether both are applied to one and the same module: layers of two loops may be different ones."""
    if first.key == again.key or first.glob or again.glob:
        return False
    if first.applied is again.applied:
        return True
    return not any(e.applied and e.applied.is_loop for e in (first, again))
