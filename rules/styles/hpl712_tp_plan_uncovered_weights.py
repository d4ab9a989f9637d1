"""HPL712 tp-plan-uncovered-weights: what a tp_plan leaves whole on every rank (K2)."""

from collections.abc import Iterator

from hplint.rule import (
    WORDS,
    Case,
    Finding,
    StyleCoverage,
    StyleEntry,
    listing,
    on_styles,
    plural,
    quote,
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
    if found.odd:
        fqn, others = found.odd[0]
        also = f" and {plural(len(found.odd) - 1, 'other layer')}" if len(found.odd) > 1 else ""
        yield Finding(
            case.plan.anchor,
            f"{quote(fqn)}{also} is cut otherwise than the layers beside it: {listing(others, most=4)} stay whole "
            "there",
            "look for parts that are named otherwise in some layers, and give them a rule too",
        )
    if found.weights and found.cut < ENOUGH * found.weights:
        yield Finding(case.plan.anchor, _worded(case, found, size), f"the largest are {_largest(found)}")


def _is_unread(entry: StyleEntry) -> bool:
    return entry.key is None or entry.style is None or entry.style.kind not in WORDS


def _worded(case: Case, found: StyleCoverage, size: int) -> str:
    whole = "the shipped plan" if case.plan.carrier and case.plan.carrier.kind == "builtin" else "the plan"
    if case.styles and case.styles.beside:
        whole += ", with what the model ships beside it,"
    if not found.cut:
        return f"{whole} cuts no weight at all: each of {size} ranks holds all {_bytes(found.whole)}"
    part = 100 * found.cut // found.weights
    return (
        f"{whole} cuts {part} % of the bytes in weights of two dims and more: each of {size} ranks holds "
        f"{_bytes(found.per_rank)} instead of {_bytes(found.whole)}, and the rest stays whole"
    )


def _largest(found: StyleCoverage) -> str:
    return ", ".join(f"{quote(gap.name)} ({_bytes(gap.bytes)})" for gap in found.largest[:4])


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
