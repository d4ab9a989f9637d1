"""HPL712 tp-plan-uncovered-weights: what a tp_plan leaves whole on every rank (K2)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding
from hplint.style_rule import (
    WORDS,
    StyleCoverage,
    StyleEntry,
    bytes_in_words,
    largest_gaps,
    odd_layers,
    on_styles,
    slips,
    style_coverage,
)

RULE = on_styles("HPL712", "tp-plan-uncovered-weights", "info", "tp_plan")

ENOUGH = 0.9
"""The part of the bytes of weights that a plan is expected to cut."""


def check(case: Case) -> Iterator[Finding]:
    size, carrier, styles = case.topology.tp, case.plan.carrier, case.styles
    if styles is None or case.tree is None or size is None or size < 2 or carrier is None or carrier.section != "tp":
        return
    if (case.topology.ep or 1) > 1 or not any(styles.hits.get(e.index) for e in case.plan.styles):
        return  # Experts that are spread have a plan of their own.
    if styles.guessed or any(map(_is_unread, case.plan.styles)) or slips(case.plan, case.tree, styles):
        return  # What is whole may be whole for that reason alone.
    found = style_coverage(case.plan, case.tree, styles, case.topology)
    if odd := odd_layers(found):
        yield Finding(
            case.plan.anchor, odd, "look for parts that are named otherwise in some layers, and give them a rule too"
        )
    if found.weights and found.cut < ENOUGH * found.weights:
        yield Finding(case.plan.anchor, _worded(case, found, size), f"the largest are {largest_gaps(found)}")


def _is_unread(entry: StyleEntry) -> bool:
    return entry.key is None or entry.style is None or entry.style.kind not in WORDS


def _worded(case: Case, found: StyleCoverage, size: int) -> str:
    whole = "the shipped plan" if case.plan.carrier and case.plan.carrier.kind == "builtin" else "the plan"
    if case.styles and case.styles.beside:
        whole += ", with what the model ships beside it,"
    if not found.cut:
        return f"{whole} cuts no weight at all: each of {size} ranks holds all {bytes_in_words(found.whole)}"
    part = 100 * found.cut // found.weights
    return (
        f"{whole} cuts {part} % of the bytes in weights of two dims and more: each of {size} ranks holds "
        f"{bytes_in_words(found.per_rank)} instead of {bytes_in_words(found.whole)}, and the rest stays whole"
    )
