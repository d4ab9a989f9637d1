"""The formats beyond full, concise and json: each one's module is imported when it is asked for."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hplint.lint.request import Run
from hplint.report.writer import Writer

if TYPE_CHECKING:
    from hplint.lint.registry import Registry

GITHUB_TOP = "GITHUB_WORKSPACE"
GITLAB_TOP = "CI_PROJECT_DIR"


def write_format(
    run: Run,
    form: str,
    writer: Writer,
    registry: "Callable[[], Registry]",
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Write a run's report in one format. ``registry`` finds the rules, for formats that quote their pages."""
    match form:
        case "jsonl":
            from hplint.report.jsonl import jsonl

            writer.lines(jsonl(run.diagnostics))
        case "sarif":
            from hplint.report.sarif import sarif_report

            writer.text(sarif_report(run, registry(), os.getcwd()))  # noqa: PTH109 - as it is spelled
        case "github":
            from hplint.report.github import github

            writer.lines(github(run.diagnostics, environment.get(GITHUB_TOP)))
        case "gitlab":
            from hplint.report.gitlab import gitlab_report

            writer.text(gitlab_report(run, environment.get(GITLAB_TOP)))
        case "junit":
            from hplint.report.junit import junit_report

            writer.text(junit_report(run))
        case "rdjson":
            from hplint.report.rdjson import rdjson_report

            writer.text(rdjson_report(run))
        case "pylint":
            from hplint.report.pylint import pylint

            writer.lines(pylint(run.diagnostics, writer.style))
        case _:
            raise ValueError(form)
