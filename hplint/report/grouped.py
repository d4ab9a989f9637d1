"""Findings below their files: the path once, then ``line:column CODE message`` a finding."""

from collections.abc import Iterable, Iterator

from hplint.lint.diagnostic import Diagnostic
from hplint.report.style import Style
from hplint.report.visible import printable
from hplint.report.words import message


def grouped(diagnostics: Iterable[Diagnostic], style: Style, unsafe: bool = False) -> Iterator[str]:
    """Lines of the report, places and codes aligned within a file, a blank line after each file. ``[*]`` marks what
    --fix fixes, or with ``unsafe`` what --unsafe-fixes adds to that."""
    by_path: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        by_path.setdefault(diagnostic.source.path, []).append(diagnostic)
    for path, found in by_path.items():
        rows = [(d, *d.source.position(d.span.start)) for d in found]
        lines = max(len(str(line)) for _, line, _ in rows)
        columns = max(len(str(column)) for _, _, column in rows)
        yield f"{style.paint(printable(path, style), 'path')}:"
        for diagnostic, line, column in rows:
            code = style.paint(diagnostic.code, diagnostic.severity)
            fixable = any(p.safe or unsafe for p in diagnostic.proposals)
            mark = f"[{style.paint('*', 'help')}] " if fixable else ""
            text = printable(message(diagnostic), style)
            yield f"  {line:>{lines}}:{column:<{columns}} {code} {mark}{text}"
        yield ""
