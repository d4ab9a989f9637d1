"""HPL206 indivisible-shard: a parameter dim that the axes which cut it do not divide (R140)."""

from collections.abc import Iterator
from typing import NamedTuple

from hplint.rule import Case, Coverage, Declared, Entry, Finding, Span, listing, on_plan, quote

RULE = on_plan("HPL206", "indivisible-shard")


class Cut(NamedTuple):
    """What one finding is about: a size that some axes do not divide, at one place of one boundary."""

    span: Span
    size: int
    axes: tuple[tuple[str, int], ...]
    module: str


def check(case: Case) -> Iterator[Finding]:
    if not (coverage := case.coverage):
        return
    # HPL802 says once for all derived layouts that the experts do not divide.
    said = {"ep"} if any(f.data["problem"] == "experts" for f in case.faults("expert-region")) else set()
    found: dict[Cut, tuple[Entry | None, list[str]]] = {}
    # Equal layers share their layouts, so that each kind is worked out once.
    known: dict[tuple[object, ...], dict[int, list[tuple[str, int]]]] = {}
    for parameter in coverage.laid:
        if parameter.tensor is None or not coverage.settled(parameter.boundary, "params"):
            continue
        kind = (id(parameter.layout), parameter.tensor.shape, parameter.path, parameter.boundary.ep_size)
        if (cuts := known.get(kind)) is None:
            cuts = known[kind] = _cuts(parameter, coverage)
        for dim, axes in cuts.items():
            size, by = parameter.tensor.shape[dim], 1
            for _, axis_size in axes:
                by *= axis_size
            derived = "params" not in parameter.boundary.origin
            if size % by and not (derived and said.issuperset(axis for axis, _ in axes)):
                span, entry = case.place(parameter.boundary, "params")
                span = parameter.layout.placement_spans.get(axes[-1][0], span)
                cut = Cut(span, size, tuple(axes), parameter.boundary.fqn)
                text = f"{quote(parameter.path)} {list(parameter.tensor.shape)} on dim {dim}"
                found.setdefault(cut, (entry, []))[1].append(text)
    for cut, (entry, names) in found.items():
        yield Finding(cut.span, _message(cut, names), _help(cut), entry, cut.module, "params")


def _cuts(parameter: Declared, coverage: Coverage) -> dict[int, list[tuple[str, int]]]:
    """Dim -> the axes of size above 1 that cut it. Dims out of range are left out, and dims of unknown cuts."""
    dims = len(parameter.tensor.shape) if parameter.tensor else 0
    cuts: dict[int, list[tuple[str, int]]] = {}
    unknown = set()
    for axis, size in coverage.axes(parameter).items():
        placement = parameter.layout.placements.get(axis)
        if placement is None or placement.dim is None or not -dims <= placement.dim < dims:
            continue
        dim = placement.dim % dims
        if size is None:
            unknown.add(dim)
        elif size > 1:
            cuts.setdefault(dim, []).append((axis, size))
    return {dim: axes for dim, axes in cuts.items() if dim not in unknown}


def _message(cut: Cut, names: list[str]) -> str:
    axes = " and ".join(f"`{axis}` (size {size})" for axis, size in cut.axes)
    cuts = "cut" if len(cut.axes) > 1 else "cuts"
    by = 1
    for _, size in cut.axes:
        by *= size
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"{axes} {cuts} {shown}, but {cut.size} does not divide by {by}: planning stops here"


def _help(cut: Cut) -> str:
    sizes = [n for n in range(1, min(cut.size, 4096) + 1) if cut.size % n == 0]
    if len(sizes) > 8:
        sizes = [n for n in sizes if n <= 64][:8]
    more = ", …" if sizes[-1] != cut.size else ""
    return (
        f"{cut.size} divides by {', '.join(map(str, sizes))}{more}: choose such a size, or write "
        f"`replicate` for {listing([axis for axis, _ in cut.axes])}"
    )
