"""How often each rule found something."""

from collections import Counter
from collections.abc import Iterable, Iterator

from hplint.lint.diagnostic import Diagnostic
from hplint.report.style import Style


def statistics(diagnostics: Iterable[Diagnostic], style: Style) -> Iterator[str]:
    """One line a rule and severity, the most frequent first: count, code, severity, name."""
    counts = Counter((d.code, d.severity, d.name) for d in diagnostics)
    size = len(str(max(counts.values(), default=0)))
    for (code, severity, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield f"{count:>{size}}  {style.paint(code, severity)}  {severity:<7}  {name}"


def statistics_json(diagnostics: Iterable[Diagnostic]) -> str:
    """The same as a JSON object, with a line end."""
    import json

    counts = Counter((d.code, d.severity, d.name) for d in diagnostics)
    rows = [
        {"code": code, "name": name, "severity": severity, "count": count}
        for (code, severity, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return json.dumps({"version": 1, "statistics": rows}, indent=2) + "\n"
