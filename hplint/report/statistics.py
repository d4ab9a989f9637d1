"""How often each rule found something."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from hplint.lint.diagnostic import Diagnostic
from hplint.report.style import Style


def statistics(diagnostics: Iterable[Diagnostic], style: Style) -> Iterator[str]:
    """One line a rule and severity, the most frequent first: count, code, severity, name."""
    rows = _rows(diagnostics)
    size = len(str(rows[0]["count"])) if rows else 1
    for row in rows:
        code = style.paint(row["code"], row["severity"])
        yield f"{row['count']:>{size}}  {code}  {row['severity']:<7}  {row['name']}"


def statistics_json(diagnostics: Iterable[Diagnostic]) -> str:
    """The same as a JSON object, with a line end."""
    return json.dumps({"version": 1, "statistics": _rows(diagnostics)}, indent=2) + "\n"


def statistics_jsonl(diagnostics: Iterable[Diagnostic]) -> str:
    """The same as one JSON object a line."""
    return "".join(f"{json.dumps(row)}\n" for row in _rows(diagnostics))


def _rows(diagnostics: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    counts = Counter((d.code, d.severity, d.name) for d in diagnostics)
    return [
        {"code": code, "name": name, "severity": severity, "count": count}
        for (code, severity, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
