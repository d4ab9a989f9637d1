"""HPL211 model-does-not-divide: heads or expert widths of the model against the axis sizes (R111-R113)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Span, on_plan

RULE = on_plan("HPL211", "model-does-not-divide")

_HEADS = (("num_attention_heads", "attention heads"), ("num_key_value_heads", "key/value heads"))


def check(case: Case) -> Iterator[Finding]:
    tp, ep = case.topology.size("tp"), case.topology.size("ep")
    if not case.tree or not tp or tp == 1:
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
            yield Finding(_place(case), message, help=f"tp may be {_sizes(count)}")


def _place(case: Case) -> Span:
    """The size as the file declares it, else the plan."""
    written = case.plan.accelerator
    return written.sizes["tp"].span if written and "tp" in written.sizes else case.plan.anchor


def _sizes(count: int) -> str:
    sizes = [str(n) for n in range(1, min(count, 1024) + 1) if count % n == 0]
    return sizes[0] if len(sizes) == 1 else f"{', '.join(sizes[:-1])} or {sizes[-1]}"
