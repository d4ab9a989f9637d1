"""Which report goes where."""

import io
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hplint.errors import RequestError
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.request import CheckedPlan, Run
from hplint.report.errors import error_lines
from hplint.report.formats import Outputs
from hplint.report.summary import summary
from hplint.report.writer import Writer, write_file

if TYPE_CHECKING:
    from hplint.lint.registry import Registry


class Wishes(NamedTuple):
    """What the user wants to see, and where."""

    outputs: Outputs = Outputs()
    statistics: bool = False
    quiet: bool = False
    verbose: bool = False
    unsafe: bool = False
    """Unsafe fixes are shown and counted like safe ones."""
    use_cache: bool = True


def deliver(
    run: Run, wishes: Wishes, out: Writer, err: Writer, environment: Mapping[str, str] = os.environ
) -> None:  # fmt: skip
    """Write a run's report to its files and to ``out``, which gets the summary where no format is for it. Paths without
    a plan go to ``err``."""
    delivery = _Delivery(run, wishes, environment)
    outputs = wishes.outputs
    for form, path in outputs.files:
        delivery.write_file(form, path, out.choice)
    if outputs.annotate and not wishes.statistics:
        delivery.write_annotated(out)
    else:
        delivery.write(outputs.form, out)
    out.flush()
    if outputs.annotate or "github" in outputs.formats:
        delivery.summarise_step(err)
    for path in run.without_plan:
        err.lines(error_lines(RequestError(f"no plan in {path}", _NO_PLAN), err.style))
    err.flush()


_NO_PLAN = (
    "a plan is a plan_overrides section, a list of entries with match, a Python dict of ModuleShardingSpec or of "
    "parallel styles, or a tp_plan"
)


class _Delivery(NamedTuple):
    """One run on its way to several places. ``environment`` is that of the process."""

    run: Run
    wishes: Wishes
    environment: Mapping[str, str]

    def write(self, form: str | None, writer: Writer) -> None:
        """One format; None for the summary alone."""
        if form in (None, "full", "concise", "grouped"):
            self._tell(form, writer)
        elif self.wishes.statistics:
            from hplint.report.statistics import statistics_json, statistics_jsonl

            counted = statistics_json if form == "json" else statistics_jsonl
            writer.text(counted(self.run.diagnostics))
        elif form == "json":
            from hplint.report.json_report import json_report

            writer.text(json_report(self.run))
        else:
            from hplint.report.machine import write_format

            write_format(self.run, form, writer, self.registry, self.environment)

    def _tell(self, form: str | None, writer: Writer) -> None:
        """What people read: findings or counts, and the summary."""
        run, wishes = self.run, self.wishes
        if wishes.statistics and form:
            from hplint.report.statistics import statistics

            writer.lines(statistics(run.diagnostics, writer.style))
        elif form == "concise":
            from hplint.report.concise import concise

            writer.lines(concise(run.diagnostics, writer.style))
        elif form == "grouped":
            from hplint.report.grouped import grouped

            writer.lines(grouped(run.diagnostics, writer.style, wishes.unsafe))
        elif form == "full" and run.diagnostics:
            from hplint.report.full import full

            why = _run_time(self.registry()) if wishes.verbose else None
            writer.lines(full(run.diagnostics, writer.style, why, wishes.unsafe))
        if not wishes.quiet:
            writer.lines(summary(run, writer.style, wishes.unsafe))

    def write_file(self, form: str, path: str, color: str) -> None:
        """One format as a file, painted only where colours are asked for by word."""
        buffer = io.StringIO()
        self.write(form, Writer(buffer, "always" if color == "always" else "never", self.environment))
        write_file(path, buffer.getvalue())

    def write_annotated(self, writer: Writer) -> None:
        """The report for people, and below it what GitHub Actions makes annotations of."""
        from hplint.report.github import fenced, github
        from hplint.report.machine import GITHUB_TOP

        buffer = io.StringIO()
        painted = "always" if writer.style.color else "never"
        self.write(self.wishes.outputs.form, Writer(buffer, painted, self.environment))
        if text := buffer.getvalue():
            writer.lines(fenced(text.removesuffix("\n").split("\n"), os.urandom(16).hex()))
        if commands := list(github(self.run.diagnostics, self.environment.get(GITHUB_TOP))):
            writer.lines(["::group::annotations", *commands, "::endgroup::"])

    def summarise_step(self, err: Writer) -> None:
        """Append to the summary of a step of GitHub Actions, where there is one."""
        path = self.environment.get("GITHUB_STEP_SUMMARY")
        if not path:
            return
        from hplint.report.step_summary import step_summary

        try:
            with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:  # noqa: PTH123
                file.write(step_summary(self.run))
        except OSError as error:
            # What was found counts, whether or not the page of the run shows it.
            told = f"the step summary {path} cannot be written: {error.strerror}"
            err.lines([f"{err.style.paint('note:', 'info')} {told}"])

    def registry(self) -> "Registry":
        """The rules, for what quotes their pages."""
        from hplint.lint.registry import Registry
        from hplint.model.store import cache_folder

        return Registry(index_folder=cache_folder() if self.wishes.use_cache else None)


def _run_time(registry: "Registry") -> Callable[[Diagnostic], str]:
    """Finds what the page of a finding's rule says about the run time."""
    from hplint.report.page import first_paragraph, section

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
    resolved = [(p, _plan_json(p)) for p in run.plans if p.tree is not None]
    if form == "json":
        import json

        indent = 2 if len(resolved) == 1 else None
        out.lines(json.dumps(value, indent=indent) for _, value in resolved)
    else:
        from hplint.report.plan_show import plan_show
        from hplint.report.styles_show import styles_show

        for checked, value in resolved:
            show = plan_show if checked.resolved is not None else styles_show
            out.lines(show(checked, value, out.style))
    out.flush()
    err.flush()


def _plan_json(checked: CheckedPlan) -> dict[str, Any]:
    from hplint.resolve.show import to_json
    from hplint.resolve.styles.show import styles_json

    assert checked.tree is not None
    if checked.resolved is None:
        return styles_json(checked.plan, checked.tree, checked.topology)
    return to_json(checked.resolved, checked.tree, checked.topology, checked.plan)
