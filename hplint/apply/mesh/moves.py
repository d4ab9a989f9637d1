"""What a boundary's contract asks for, tensor by tensor: which input or output goes from which layout to which."""

from collections.abc import Iterable
from typing import NamedTuple

from hplint.apply.plan import ApplyBoundary, AxisLayout
from hplint.plan.layout import OUTPUT
from hplint.plan.placement import REPLICATE


class Move(NamedTuple):
    """One tensor: its name in the contract, its position among the outputs (0 for inputs), and its layouts."""

    name: str
    position: int
    source: AxisLayout
    target: AxisLayout


def input_moves(boundary: ApplyBoundary, axes: Iterable[str]) -> tuple[Move, ...]:
    """The declared inputs, by name; a side that is not declared is replicated (2.5)."""
    whole: AxisLayout = dict.fromkeys(axes, REPLICATE)
    names = sorted({*boundary.in_src, *boundary.in_dst})
    return tuple(Move(n, 0, boundary.in_src.get(n, whole), boundary.in_dst.get(n, whole)) for n in names)


def output_names(boundary: ApplyBoundary) -> tuple[str, ...]:
    """The outputs by position: ``out_names``, else the order of ``out_src`` (S20)."""
    return tuple(boundary.out_names or boundary.out_src or boundary.out_dst or ())


def output_moves(boundary: ApplyBoundary, axes: Iterable[str]) -> tuple[Move, ...]:
    """The declared outputs by position. Where out_src or out_dst is cleared, nothing moves: they stay as out_src says
    (2.6). A name that is not among the outputs means the first one."""
    whole: AxisLayout = dict.fromkeys(axes, REPLICATE)
    source, target = boundary.out_src, boundary.out_dst
    if source is None and target is None:
        return ()
    if source is None or target is None:
        source = target = source or target or {}
    names = output_names(boundary) or (OUTPUT,)
    first = names[0]
    stray = next((p for n, p in target.items() if n not in names), None)
    declared = {*source, *target} | ({first} if stray else set())
    return tuple(
        Move(n, i, source.get(n, whole), target.get(n, stray if n == first and stray else whole))
        for i, n in enumerate(names)
        if n in declared
    )
