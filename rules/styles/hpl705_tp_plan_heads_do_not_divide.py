"""HPL705 tp-plan-heads-do-not-divide: projections that a tp_plan cuts through attention heads (D2)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, plural
from hplint.style_rule import KEYS, QUERIES, Flows, config_of, flows_of, head_size, is_cut, looks_linear, on_styles

RULE = on_styles("HPL705", "tp-plan-heads-do-not-divide", "error", "tp_plan")

LATENT = ("q_b_proj", "kv_b_proj")
"""Projections of latent attention: as many heads as the attention has, of sizes of their own."""
FUSED = ("query_key_value",)
"""Queries, keys and values of one head after the other."""


def check(case: Case) -> Iterator[Finding]:
    flows, size = flows_of(case.plan, case.tree, case.styles), case.topology.tp
    if flows is None or size is None or size < 2:
        return
    for entry in case.plan.styles:
        for fqn in flows.styles.hits.get(entry.index, ()):
            flow = flows.of(fqn) if fqn in flows.tree.modules else None
            if flow is None or flow.entry is not entry or not is_cut(flow) or not looks_linear(flows.tree.modules[fqn]):
                continue
            counted = _heads(flows, fqn)
            if counted is None or counted[0] % size == 0:
                continue
            heads, what, width = counted
            fits = ", ".join(str(n) for n in range(1, heads + 1) if heads % n == 0)
            yield Finding(
                entry.key.span if entry.key else entry.span,
                f"{plural(heads, what, what.replace('head', 'heads'))} of {width} features do not divide over "
                f"tp={size}: the ranks get no whole number of heads, and the view into heads fails",
                f"sizes of tp that work: {fits}; the library gives no rank a copy of a head that others have",
                entry,
                fqn,
                severity="warning" if entry.conditional else None,
            )


def _heads(flows: Flows, fqn: str) -> tuple[int, str, int] | None:
    """How many heads a projection makes, of what, and the features of each; None where that cannot be told."""
    parent, _, name = fqn.rpartition(".")
    weight = flows.tree.modules[fqn].parameters.get("weight")
    if weight is None or len(weight.shape) != 2:
        return None
    width = weight.shape[0]
    if name in (*QUERIES, *KEYS):
        head = head_size(flows.tree, parent)
        what = "head" if name in QUERIES else "key and value head"
        return (width // head, what, head) if head and width % head == 0 else None
    if name in (*LATENT, *FUSED):
        heads = config_of(flows.tree, parent).get("num_attention_heads")
        return (heads, "head", width // heads) if isinstance(heads, int) and heads and width % heads == 0 else None
    return None
