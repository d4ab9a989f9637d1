"""HPL605 heads-do-not-divide: projections that a parallelize_module plan cuts through attention heads (D2)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding
from hplint.style_rule import COLWISE, KEYS, QUERIES, head_size, is_linear, is_local, on_styles, style_output

RULE = on_styles("HPL605", "heads-do-not-divide", "error", "torch")


def check(case: Case) -> Iterator[Finding]:
    size = case.topology.tp
    if case.styles is None or case.tree is None or size is None or size < 2:
        return
    for entry in case.plan.styles:
        if entry.style is None or entry.style.kind != COLWISE:
            continue
        output = style_output(entry.style)
        if output is None or not output.is_shard:
            continue
        for fqn in case.styles.hits.get(entry.index, ()):
            parent, _, name = fqn.rpartition(".")
            module = case.tree.modules[fqn]
            if name not in (*QUERIES, *KEYS) or not is_linear(module):
                continue
            width, head = module.parameters["weight"].shape[0], head_size(case.tree, parent)
            if head is None or width % head or width % size or (width // head) % size == 0:
                continue
            heads = width // head
            what = "heads" if name in QUERIES else "key and value heads"
            fits = ", ".join(str(n) for n in range(1, heads + 1) if heads % n == 0)
            yield Finding(
                entry.key.span if entry.key else entry.span,
                f"{heads} {what} of {head} do not divide over tp={size}: each rank gets {width // size} features, no "
                "whole number of heads, and the view into heads fails",
                f"sizes of tp that work: {fits}",
                entry,
                fqn,
                severity="warning" if entry.conditional or is_local(entry.style) is not True else None,
            )
