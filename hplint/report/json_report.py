"""The machine output of a check: one JSON object, whose form is final."""

import json
from typing import Any

from hplint.lint.diagnostic import Diagnostic, Fix
from hplint.lint.request import Run
from hplint.text.source import Source
from hplint.text.span import Span


def json_report(run: Run) -> str:
    """The whole object with a line end. Everything outside ASCII is escaped, so that any stream can carry it."""
    return json.dumps(
        {
            "version": 1,
            "files": run.files,
            "findings": [finding(d) for d in run.diagnostics],
            "plans": [p.to_json() for p in run.plans],
            **_hidden(run),
        },
        indent=2,
    ) + "\n"  # fmt: skip


def _hidden(run: Run) -> dict[str, int]:
    """How many findings are not among them; the keys are there only where some are not."""
    counts = {"suppressed": run.suppressed, "baselined": run.baselined}
    return {key: count for key, count in counts.items() if count}


def finding(diagnostic: Diagnostic) -> dict[str, Any]:
    """One finding. Lines and columns are 1-based characters, end_column is exclusive."""
    source = diagnostic.source
    return {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        **_place(source, diagnostic.span),
        "match": diagnostic.match,
        "module": diagnostic.module,
        "field": diagnostic.field,
        "topology": diagnostic.topology,
        "related": [{"message": r.message, **_place(source, r.span)} for r in diagnostic.related],
        "help": diagnostic.help,
        "fixes": [_fix(f) for f in diagnostic.fixes],
        "url": diagnostic.url,
        "fingerprint": diagnostic.fingerprint,
    }


def _place(source: Source, span: Span) -> dict[str, Any]:
    start, end = source.position(span.start), source.position(max(span))
    return {
        "path": source.path,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [{"start": e.span.start, "end": e.span.end, "text": e.text} for e in fix.edits]
    return {"title": fix.title, "safety": "safe" if fix.safe else "unsafe", "edits": edits}
