"""HPL211 model-does-not-divide: heads and experts of the model against the axis sizes (R111-R113, R115)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Span, is_dense, on_plan

RULE = on_plan("HPL211", "model-does-not-divide")

_HEADS = (("num_attention_heads", "attention heads"), ("num_key_value_heads", "key/value heads"))


def check(case: Case) -> Iterator[Finding]:
    tp, ep = case.topology.size("tp"), case.topology.size("ep")
    if not case.tree:
        return
    if ep and ep > 1 and is_dense(case.tree):
        message = f"the model has no experts, but ep = {ep} is asked for: the runtime refuses it"
        yield Finding(_place(case, "ep"), message, help="set ep to 1, or leave it out")
    if not tp or tp == 1:
        return
    counts = list(_HEADS)
    if ep and ep > 1:
        counts.append(("moe_intermediate_size", "inner rows of each expert"))
    for key, words in counts:
        count = case.tree.config.get(key)
        if isinstance(count, int) and not isinstance(count, bool) and count > 0 and count % tp:
            message = (
                f"the model has {count} {words} (`{key}`), which tp = {tp} does not divide: the runtime refuses it"
            )
            yield Finding(_place(case, "tp"), message, help=f"tp may be {_sizes(count)}")


def _place(case: Case, axis: str) -> Span:
    """The size as the file declares it, else the plan."""
    written = case.plan.accelerator
    return written.sizes[axis].span if written and axis in written.sizes else case.plan.anchor


def _sizes(count: int) -> str:
    sizes = [str(n) for n in range(1, min(count, 1024) + 1) if count % n == 0]
    return sizes[0] if len(sizes) == 1 else f"{', '.join(sizes[:-1])} or {sizes[-1]}"
