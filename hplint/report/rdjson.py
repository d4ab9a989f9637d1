"""reviewdog's diagnostic format (rdjson): findings and suggestions for the comments of a review."""

import json
from typing import Any

from hplint.lint.diagnostic import Diagnostic, Fix
from hplint.lint.request import Run
from hplint.report.words import advice
from hplint.text.source import BOM, Source
from hplint.text.span import Span

SEVERITIES = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}


def rdjson_report(run: Run) -> str:
    """The whole object with a line end. Lines are 1-based, columns 1-based bytes of UTF-8, ends exclusive."""
    findings = [_finding(d) for d in run.diagnostics]
    return json.dumps({"source": {"name": "hplint"}, "diagnostics": findings}, indent=2) + "\n"


def _finding(diagnostic: Diagnostic) -> dict[str, Any]:
    source = diagnostic.source
    code = {"value": diagnostic.code}
    value: dict[str, Any] = {
        "message": advice(diagnostic),
        "location": _location(source, diagnostic.span),
        "severity": SEVERITIES[diagnostic.severity],
        "code": code | {"url": diagnostic.url} if diagnostic.url else code,
    }
    if diagnostic.related:
        value["relatedLocations"] = [
            {"message": r.message, "location": _location(source, r.span)} for r in diagnostic.related
        ]
    if diagnostic.fixes:
        value["suggestions"] = [_suggestion(source, diagnostic.fixes[0])]
    return value


def _suggestion(source: Source, fix: Fix) -> dict[str, Any]:
    """A fix as one replacement, for reviewdog offers every suggestion by itself: what lies between its edits comes
    along."""
    edits = sorted(fix.edits, key=lambda edit: edit.span)
    parts, at = [], edits[0].span.start
    for edit in edits:
        parts += [source.text[at : edit.span.start], edit.text]
        at = max(at, edit.span.end)
    return {"range": _range(source, Span(edits[0].span.start, at)), "text": "".join(parts)}


def _location(source: Source, span: Span) -> dict[str, Any]:
    return {"path": source.path, "range": _range(source, span)}


def _range(source: Source, span: Span) -> dict[str, Any]:
    return {"start": _position(source, span.start), "end": _position(source, max(span))}


def _position(source: Source, offset: int) -> dict[str, int]:
    line = source.position(offset).line
    before = source.text[source.starts[line - 1] : offset].removeprefix(BOM if line == 1 else "")
    return {"line": line, "column": len(before.encode("utf-8", "surrogatepass")) + 1}
