"""GitLab's code quality report: what a merge request shows of a job's artifact."""

import json
from hashlib import sha256

from hplint.lint.diagnostic import Diagnostic
from hplint.lint.request import Run
from hplint.report.paths import from_top
from hplint.report.words import message

SEVERITIES = {"error": "critical", "warning": "minor", "info": "info"}
"""An error stops the run or makes it wrong, which is what GitLab calls critical."""


def gitlab_report(run: Run, top: str | None = None) -> str:
    """The whole array with a line end. ``top`` is the folder of the checkout, from which GitLab counts paths."""
    return json.dumps([_issue(d, from_top(d.source.path, top)) for d in run.diagnostics], indent=2) + "\n"


def _issue(diagnostic: Diagnostic, path: str) -> dict[str, object]:
    source, span = diagnostic.source, diagnostic.span
    start, end = source.position(span.start), source.position(max(span))
    return {
        "description": f"{diagnostic.code}: {message(diagnostic)}",
        "check_name": diagnostic.name,
        # GitLab matches findings of two branches by this alone, so the path is part of it.
        "fingerprint": sha256(f"{path}\0{diagnostic.fingerprint}".encode("utf-8", "surrogatepass")).hexdigest(),
        "severity": SEVERITIES[diagnostic.severity],
        "location": {
            "path": path,
            "positions": {
                "begin": {"line": start.line, "column": start.column},
                "end": {"line": end.line, "column": end.column},
            },
        },
    }
