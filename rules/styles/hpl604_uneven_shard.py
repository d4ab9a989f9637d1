"""HPL604 indivisible-shard: a weight that a parallelize_module plan cuts into unequal parts (D1)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Module, quote
from hplint.style_rule import COLWISE, Style, cut_dims, is_embedding, is_local, on_styles, style_input, style_output

LAST = (-1, 2)
"""The dim of features, in activations of batch, sequence and features."""
RULE = on_styles("HPL604", "uneven-shard", "error", "torch")


def check(case: Case) -> Iterator[Finding]:
    size = case.topology.tp
    if case.styles is None or case.tree is None or size is None or size < 2:
        return
    for entry in case.plan.styles:
        if entry.style is None:
            continue
        for fqn in case.styles.hits.get(entry.index, ()):
            module = case.tree.modules[fqn]
            dim = cut_dims(entry.style, module).get("weight")
            if dim is None or not _stays_cut(entry.style, module):
                continue
            width = module.parameters["weight"].shape[dim]
            if width % size:
                fits = ", ".join(str(n) for n in range(1, max(64, size) + 1) if width % n == 0)
                yield Finding(
                    entry.key.span if entry.key else entry.span,
                    f"{quote(entry.style.name)} cuts dim {dim} of the weight, {width:,} elements, over tp={size}: the "
                    "ranks get unequal parts, and the local tensors do not fit together",
                    f"sizes of tp that divide {width:,}: {fits}",
                    entry,
                    fqn,
                    severity="warning" if entry.conditional else None,
                )


def _stays_cut(style: Style, module: Module) -> bool:
    """Whether the unequal parts leave the layer as plain tensors, or reach it as such. What the layer itself gathers
    is right."""
    if style.kind == COLWISE:
        output = style_output(style)
        return is_local(style) is True and output is not None and output.is_shard and output.dim in LAST
    taken = style_input(style)
    return not is_embedding(module) and taken is not None and taken.is_shard and taken.dim in LAST
