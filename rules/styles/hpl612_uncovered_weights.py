"""HPL612 uncovered-weights: what a parallelize_module plan leaves whole on every rank (K2)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding
from hplint.style_rule import (
    StyleCoverage,
    StyleEntry,
    bytes_in_words,
    is_known,
    largest_gaps,
    odd_layers,
    on_styles,
    style_coverage,
)

RULE = on_styles("HPL612", "uncovered-weights", "info", "torch")

ENOUGH = 0.9
"""The part of the bytes of weights that a plan is expected to cut."""


def check(case: Case) -> Iterator[Finding]:
    size = case.topology.tp
    if case.styles is None or case.tree is None or size is None or size < 2 or not any(case.styles.hits.values()):
        return
    if case.styles.unmatched or any(map(_is_unread, case.plan.styles)):
        return  # What is whole may be whole for that reason alone.
    found = style_coverage(case.plan, case.tree, case.styles, case.topology)
    if odd := odd_layers(found):
        yield Finding(
            case.plan.anchor, odd, "look for a key that names single layers, or for a loop that leaves some out"
        )
    if found.weights and found.cut < ENOUGH * found.weights:
        yield Finding(case.plan.anchor, _worded(found, size), f"the largest are {largest_gaps(found)}")


def _is_unread(entry: StyleEntry) -> bool:
    return entry.key is None or entry.style is None or not is_known(entry.style)


def _worded(found: StyleCoverage, size: int) -> str:
    part = 100 * found.cut // found.weights
    return (
        f"the plan cuts {part} % of the bytes in linear and embedding weights: each of {size} ranks holds "
        f"{bytes_in_words(found.per_rank)} instead of {bytes_in_words(found.whole)}, and the rest stays whole"
    )
