"""HPL104 unknown-parameter: a params key that is no parameter below the boundary (R153)."""

from collections.abc import Iterator

from hplint.rule import Case, Coverage, Declared, Finding, Proposal, listing, on_plan, quote, remove_item, rename_to_one

RULE = on_plan("HPL104", "unknown-parameter")


def check(case: Case) -> Iterator[Finding]:
    if not (coverage := case.coverage):
        return
    for parameter in coverage.unknown:
        span = parameter.layout.name_span
        if span is None or coverage.is_replaced(parameter.name):
            continue
        # YAML may have read the key as something else than the text that stands there.
        other = case.plan.dialect == "yaml" and parameter.path in ("None", "True", "False")
        shown = quote(case.plan.source.cut(span) if other else parameter.path)
        stacked = any(parameter.path in sources for sources in parameter.boundary.ep_stack.values())
        message = (
            f"{shown} is no parameter below this boundary: planning accepts it, but apply stops "
            "with an AttributeError after other boundaries have been changed"
        )
        if stacked:
            message = (
                f"{shown} does not exist any more when the plan is applied: the experts of this "
                "boundary are stacked into one parameter before that, and apply stops"
            )
        idle = all(size == 1 for size in coverage.axes(parameter).values())
        if idle:  # Without an active axis the runtime lays nothing out, and never looks the parameter up.
            message = (
                f"{shown} is no parameter below this boundary: this run lays nothing out, but with any "
                "axis above 1 apply stops with an AttributeError"
            )
        yield Finding(
            span,
            message,
            _help(parameter, coverage, stacked),
            parameter.boundary.origin.get("params"),
            parameter.boundary.fqn,
            "params",
            fixes=() if stacked else _fixes(parameter, coverage),
            severity="warning" if idle else None,
        )


def _help(parameter: Declared, coverage: Coverage, stacked: bool) -> str:
    if stacked:
        return f"stacked parameters here: {listing(parameter.boundary.ep_stack)}"
    if meant := coverage.meant(parameter):
        return f"did you mean {listing(meant, 'or')}?"
    names = coverage.below(parameter.boundary.fqn)
    if not names:
        return "the module has no parameters at all"
    return f"parameters here: {listing(names)} (paths are relative to the boundary)"


def _fixes(parameter: Declared, coverage: Coverage) -> tuple[Proposal, ...]:
    span, declared = parameter.layout.name_span, parameter.boundary.params or {}
    if span is None:
        return ()
    meant = [name for name in coverage.meant(parameter) if name not in declared]
    # A name without its last part, or with the boundary's own in front, has one reading.
    sure = any(n.startswith(f"{parameter.path}.") or parameter.path.endswith(f".{n}") for n in meant)
    return rename_to_one([span], parameter.path, meant, sure=sure) or (remove_item(span, parameter.path),)
