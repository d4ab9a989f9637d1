"""One JSON object a finding and line: what a stream of findings is read by."""

import json
from collections.abc import Iterable, Iterator

from hplint.lint.diagnostic import Diagnostic
from hplint.report.json_report import finding


def jsonl(diagnostics: Iterable[Diagnostic]) -> Iterator[str]:
    """Lines, each a finding of the JSON report. Everything outside ASCII is escaped."""
    return (json.dumps(finding(d)) for d in diagnostics)
