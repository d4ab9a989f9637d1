"""HPL704 tp-plan-uneven-cut: cuts into unequal parts that the library does not get right (D1)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, quote
from hplint.style_rule import WORDS, StyleEntry, cut_dim, is_embedding, on_styles

RULE = on_styles("HPL704", "tp-plan-uneven-cut", "error", "tp_plan")


def check(case: Case) -> Iterator[Finding]:
    carrier = case.plan.carrier
    if case.styles is None or case.tree is None or carrier is None or carrier.section == "pp":
        return
    size = case.topology.size(carrier.section)
    if size is None or size < 2:
        return
    for entry in case.plan.styles:
        if entry.style is None or entry.style.kind not in WORDS:
            continue
        for name in case.styles.hits.get(entry.index, ()):
            if case.styles.winners.get(name) is entry:
                yield from _of(case, entry, name, size)


def _of(case: Case, entry: StyleEntry, name: str, size: int) -> Iterator[Finding]:
    assert case.tree is not None and case.styles is not None and entry.style is not None
    word, module = entry.style.kind, case.tree.modules.get(name)
    if module is None:
        above, _, own = name.rpartition(".")
        owner, names = case.tree.modules.get(above), {own: case.tree.parameters.get(name)}
    else:
        owner, names = module, {n: t for n, t in module.parameters.items() if f"{name}.{n}" not in case.styles.winners}
    for own, tensor in names.items():
        dim = cut_dim(word, own, len(tensor.shape)) if tensor else None
        if dim is None or tensor is None or owner is None or dim >= len(tensor.shape):
            continue
        length = tensor.shape[dim]
        if word == "grouped_gemm" and length % size and len(tensor.shape) > 1:
            yield _finding(
                entry, name, length, size,
                f"{length:,} experts do not divide over ep={size}: the library stops with ValueError (Cannot evenly "
                "shard) before any weight is loaded",
            )  # fmt: skip
        elif word == "embedding_rowwise" and is_embedding(owner) and _leaves_some_empty(length, size):
            yield _finding(
                entry, name, length, size,
                f"{quote(word)} cuts {length:,} rows over tp={size} and leaves ranks without any: these stop with an "
                "error (index_select) at the first forward, and the others wait for them",
            )  # fmt: skip


def _leaves_some_empty(length: int, size: int) -> bool:
    """Whether the last ranks get nothing: parts are as long as they must be, and what is left is the last one."""
    return -(-length // size) * (size - 1) >= length


def _finding(entry: StyleEntry, name: str, length: int, size: int, message: str) -> Finding:
    assert entry.style is not None
    axis = "ep" if entry.style.kind == "grouped_gemm" else "tp"
    fits = ", ".join(str(n) for n in range(1, max(64, size) + 1) if length % n == 0)
    advice = f"sizes of {axis} that divide {length:,}: {fits}"
    if axis == "tp":
        advice += "; or leave so small an embedding whole, by `replicate`"
    severity = "warning" if entry.conditional else None
    return Finding(entry.style.span, message, advice, entry, name, severity=severity)
