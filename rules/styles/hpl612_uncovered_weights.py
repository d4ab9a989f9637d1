"""HPL612 uncovered-weights: what a parallelize_module plan leaves whole on every rank (K2)."""

from collections.abc import Iterator

from hplint.rule import (
    Case,
    Finding,
    StyleCoverage,
    StyleEntry,
    is_known,
    listing,
    on_styles,
    plural,
    quote,
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
    if found.odd:
        fqn, others = found.odd[0]
        also = f" and {plural(len(found.odd) - 1, 'other layer')}" if len(found.odd) > 1 else ""
        yield Finding(
            case.plan.anchor,
            f"{quote(fqn)}{also} is cut otherwise than the layers beside it: {listing(others, most=4)} stay whole "
            "there",
            "look for a key that names single layers, or for a loop that leaves some out",
        )
    if found.weights and found.cut < ENOUGH * found.weights:
        yield Finding(case.plan.anchor, _worded(found, size), f"the largest are {_largest(found)}")


def _is_unread(entry: StyleEntry) -> bool:
    return entry.key is None or entry.style is None or not is_known(entry.style)


def _worded(found: StyleCoverage, size: int) -> str:
    part = 100 * found.cut // found.weights
    return (
        f"the plan cuts {part} % of the bytes in linear and embedding weights: each of {size} ranks holds "
        f"{_bytes(found.per_rank)} instead of {_bytes(found.whole)}, and the rest stays whole"
    )


def _largest(found: StyleCoverage) -> str:
    return ", ".join(f"{quote(gap.name)} ({_bytes(gap.bytes)})" for gap in found.largest[:4])


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
