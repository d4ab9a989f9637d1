"""HPL307 uncovered-parameter: a trainable parameter that no boundary declares (R141)."""

from collections.abc import Iterator

from hplint.rule import Case, Entry, Finding, Span, biased_weights, listing, on_plan, quote

RULE = on_plan("HPL307", "uncovered-parameter")


def check(case: Case) -> Iterator[Finding]:
    coverage, resolved = case.coverage, case.resolved
    if not coverage or not resolved or not (case.plan.derive and case.topology.derive):
        return
    groups: dict[str, list[str]] = {}
    boundaries: set[str] = set()
    # HPL308 tells of the biases that must follow a weight: the runtime stops there first.
    told = {w.bias_name for w in biased_weights(coverage) if w.bias is None and not w.is_rowwise}
    for name, nearest in coverage.uncovered(resolved):
        if name in told:
            continue
        if nearest is not None:
            boundaries.add(nearest)
        group = name.rpartition(".")[0] if nearest is None else nearest
        groups.setdefault(group, []).append(name[len(group) + 1 :] if group else name)
    tolerated = case.plan.allow_uncovered_params
    for module, names in groups.items():
        span, entry, dropped = _place(case, module if module in boundaries else None)
        effect = "a warning at planning" if tolerated else "planning stops here"
        verb = "is" if len(names) == 1 else "are"
        yield Finding(
            span,
            f"{listing(names, most=6)} {verb} trainable, but no boundary declares "
            f"{'it' if len(names) == 1 else 'them'}: {effect}",
            _help(names, dropped),
            entry,
            module,
            "params" if dropped else None,
            severity="warning" if tolerated else None,
        )


def _place(case: Case, boundary: str | None) -> tuple[Span, Entry | None, bool]:
    """The params that left them out, where an entry wrote these; else the plan as a whole."""
    found = case.resolved.boundaries.get(boundary) if case.resolved and boundary is not None else None
    if found and "params" in found.origin:
        span, entry = case.place(found, "params")
        return span, entry, True
    return case.plan.anchor, None, False


def _help(names: list[str], dropped: bool) -> str:
    if dropped:
        return (
            "params replaces everything that was derived for this boundary: declare "
            f"{quote(names[0]) if len(names) == 1 else 'these'} too, with `replicate` where nothing should be cut"
        )
    return "add an entry for the module whose params declare every parameter, with `replicate` where nothing is cut"
