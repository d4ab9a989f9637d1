"""Which report goes where."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hplint.errors import RequestError
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.request import CheckedPlan, Run
from hplint.report.errors import error_lines
from hplint.report.summary import summary
from hplint.report.writer import Writer, write_file


class Wishes(NamedTuple):
    """What the user wants to see. ``form`` is full, concise or json."""

    form: str = "full"
    statistics: bool = False
    quiet: bool = False
    verbose: bool = False
    unsafe: bool = False
    """Unsafe fixes are shown and counted like safe ones."""


def deliver(run: Run, wishes: Wishes, out: Writer, err: Writer, file: str | None = None) -> None:
    """Write a run's report to ``out``, or to a file (the summary still goes to ``out``). Paths without a plan go to
    ``err``."""
    if file is None:
        _report(run, wishes, out)
    else:
        import io

        buffer = io.StringIO()
        _report(run, wishes, Writer(buffer, "always" if out.choice == "always" else "never"))
        write_file(file, buffer.getvalue())
        if not wishes.quiet:
            out.lines(summary(run, out.style, wishes.unsafe))
    out.flush()
    for path in run.without_plan:
        err.lines(error_lines(RequestError(f"no plan in {path}", _NO_PLAN), err.style))
    err.flush()


_NO_PLAN = "a plan is a plan_overrides section, a list of entries with match, or a Python dict of ModuleShardingSpec"


def _report(run: Run, wishes: Wishes, writer: Writer) -> None:
    if wishes.statistics:
        from hplint.report.statistics import statistics, statistics_json

        if wishes.form == "json":
            writer.text(statistics_json(run.diagnostics))
            return
        writer.lines(statistics(run.diagnostics, writer.style))
    elif wishes.form == "json":
        from hplint.report.json_report import json_report

        writer.text(json_report(run))
        return
    elif wishes.form == "concise":
        from hplint.report.concise import concise

        writer.lines(concise(run.diagnostics, writer.style))
    elif run.diagnostics:
        from hplint.report.full import full

        writer.lines(full(run.diagnostics, writer.style, _run_time() if wishes.verbose else None, wishes.unsafe))
    if not wishes.quiet:
        writer.lines(summary(run, writer.style, wishes.unsafe))


def _run_time() -> Callable[[Diagnostic], str]:
    """Finds what the page of a finding's rule says about the run time."""
    from hplint.lint.registry import Registry
    from hplint.report.page import first_paragraph, section

    registry = Registry()
    known: dict[str, str] = {}

    def why(diagnostic: Diagnostic) -> str:
        if diagnostic.code not in known:
            rule = registry.get(diagnostic.code)
            known[diagnostic.code] = first_paragraph(section(registry.page(rule), "Why is this bad")) if rule else ""
        return known[diagnostic.code]

    return why


def deliver_plan(run: Run, form: str, out: Writer, err: Writer) -> None:
    """Write the resolved plans to ``out`` as far as they resolve, their errors to ``err``.

    JSON is one object, or one a line where there are several (meshes, plans of one file). Raises RequestError when
    there is no model to resolve against.
    """
    from hplint.report.concise import concise

    err.lines(concise((d for d in run.diagnostics if d.severity == "error"), err.style))
    for path in run.without_plan:
        err.lines(error_lines(RequestError(f"no plan in {path}", _NO_PLAN), err.style))
    if run.plans and all(p.model is None for p in run.plans):
        raise RequestError("no model is named, and a plan resolves against a model", "name one with --model")
    resolved = [(p, _plan_json(p)) for p in run.plans if p.resolved is not None]
    if form == "json":
        import json

        indent = 2 if len(resolved) == 1 else None
        out.lines(json.dumps(value, indent=indent) for _, value in resolved)
    else:
        from hplint.report.plan_show import plan_show

        for checked, value in resolved:
            out.lines(plan_show(checked, value, out.style))
    out.flush()
    err.flush()


def _plan_json(checked: CheckedPlan) -> dict[str, Any]:
    from hplint.resolve.show import to_json

    assert checked.resolved is not None and checked.tree is not None
    return to_json(checked.resolved, checked.tree, checked.topology, checked.plan)
