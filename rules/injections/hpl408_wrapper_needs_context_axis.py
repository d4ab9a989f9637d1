"""HPL408 wrapper-needs-context-axis: a shipped CP wrapper on a run without a cp axis (R147, R161)."""

from collections.abc import Iterator

from hplint.rule import Case, Entry, Finding, Proposal, injections, on_condition, on_injection, quote, remove_injection

RULE = on_injection("HPL408", "wrapper-needs-context-axis")


def check(case: Case) -> Iterator[Finding]:
    size = case.topology.size("cp")
    if size is None or size > 1:
        return
    for injection in injections(case, "inner_wrapper"):
        shipped = injection.shipped
        if shipped is None or not shipped.context or (case.resolved and not injection.boundaries):
            continue
        # An entry that this run skips is judged on the run that it is written for (topology.assumed).
        if injection.entry.index in case.inactive and not case.topology.assumed:
            continue
        yield Finding(
            injection.path.span,
            f"{quote(injection.path.value)} splits attention over the `cp` axis, but cp is 1 in this run: the runtime "
            "refuses the wrapper",
            "add `when: cp`, so that runs without the axis skip the entry",
            injection.entry,
            None,
            "inner_wrapper",
            fixes=_fixes(case, injection.entry),
        )


def _fixes(case: Case, entry: Entry) -> tuple[Proposal, ...]:
    if case.plan.dialect == "python":  # Only plan files know conditions.
        return remove_injection(entry, "inner_wrapper")
    changes = on_condition(entry, "inner_wrapper", "cp") if "when" not in entry.keys else ()
    return (Proposal("add `when: cp`", changes),) if changes else ()
