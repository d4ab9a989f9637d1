"""HPL603 overlapping-keys: one module under several keys of a parallelize_module plan (K3)."""

from collections.abc import Iterator
from itertools import pairwise

from hplint.rule import COLWISE, ROWWISE, SEQUENCE, Case, Finding, Related, StyleEntry, on_styles, quote

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
                related=(Related("cut here first", first.key.span),),
                severity="warning" if again.conditional or first.conditional else None,
            )


def _surely_both(first: StyleEntry, again: StyleEntry) -> bool:
    """Whether both are applied to one and the same module: layers of two loops may be different ones."""
    if first.key == again.key or first.glob or again.glob:
        return False
    if first.applied is again.applied:
        return True
    loops = [e.applied and "*" in e.applied.steps for e in (first, again)]
    return not any(loops)
