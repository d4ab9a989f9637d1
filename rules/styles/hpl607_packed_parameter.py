"""HPL607 packed-parameter: several projections in one weight, cut as if it were one (D5)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, quote
from hplint.style_rule import COLWISE, PACKED, is_linear, on_styles, style_output

RULE = on_styles("HPL607", "packed-parameter", "warning", "torch")


def check(case: Case) -> Iterator[Finding]:
    if case.styles is None or case.tree is None:
        return
    for entry in case.plan.styles:
        if entry.style is None or entry.style.kind != COLWISE or entry.style.name != COLWISE:
            continue
        output = style_output(entry.style)
        if output is None or not output.is_shard:
            continue  # Gathered by the layer itself, the parts are whole again.
        for fqn in case.styles.hits.get(entry.index, ()):
            name = fqn.rpartition(".")[2]
            if name in PACKED and is_linear(case.tree.modules[fqn]):
                yield Finding(
                    entry.key.span if entry.key else entry.span,
                    f"{quote(name)} holds {PACKED[name]} one after the other; cut as one weight, the first rank gets "
                    "other parts than the last, and the results are wrong without an error",
                    "split it into one layer for each part, order its rows by rank before the cut, or gather its "
                    "output",
                    entry,
                    fqn,
                )
