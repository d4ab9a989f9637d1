"""HPL319 sequence-indivisible: a sequence length that the axes which cut it do not divide (R114, S55)."""

from collections.abc import Iterator

from hplint.rule import INPUT_FIELDS, OUTPUT_FIELDS, Boundary, Case, Finding, on_plan

RULE = on_plan("HPL319", "sequence-indivisible")
_SEQUENCE_DIM = 1


def check(case: Case) -> Iterator[Finding]:
    length = case.topology.seq_len
    if not length:
        return
    cp = case.topology.size("cp")
    if cp and cp > 1 and length % (2 * cp):
        message = f"the sequence length {length} does not divide by 2 x cp = {2 * cp}: the runtime refuses it"
        yield Finding(case.plan.anchor, message, help=f"{_nearest(length, 2 * cp)} would do")
        return
    sizes = {a: n for a in case.topology.active_axes if (n := case.topology.size(a)) and n > 1}
    worst = max((_cut(sizes, b) for b in case.boundaries()), key=_product, default=())
    ranks = _product(worst)
    if ranks > 1 and length % ranks:
        axes = " x ".join(f"{axis} {size}" for axis, size in worst)
        message = (
            f"the sequence length {length} does not divide by the {ranks} ranks ({axes}) that cut it: each rank "
            "assumes equal slices, so lengths and numbers are wrong without an error"
        )
        yield Finding(case.plan.anchor, message, help=f"{_nearest(length, ranks)} would do")


def _cut(sizes: dict[str, int], boundary: Boundary) -> tuple[tuple[str, int], ...]:
    """The axes (with their sizes) that cut the sequence somewhere at this boundary, the most of them."""
    best: tuple[tuple[str, int], ...] = ()
    for name in (*INPUT_FIELDS, *OUTPUT_FIELDS):
        for layout in (boundary.contract(name) or {}).values():
            cut = [(a, sizes[a]) for a, p in layout.placements.items() if p and p.dim == _SEQUENCE_DIM and a in sizes]
            if len(cut) > len(best):
                best = tuple(cut)
    return best


def _product(axes: tuple[tuple[str, int], ...]) -> int:
    product = 1
    for _, size in axes:
        product *= size
    return product


def _nearest(length: int, by: int) -> str:
    below, above = length // by * by, (length // by + 1) * by
    return f"{below} or {above}" if below else str(above)
