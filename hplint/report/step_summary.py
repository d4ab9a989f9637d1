"""The summary of a step of GitHub Actions: a Markdown table on the page of a run."""

from collections.abc import Iterator

from hplint.lint.diagnostic import SEVERITIES, Diagnostic
from hplint.lint.request import Run
from hplint.report.style import Style
from hplint.report.summary import summary
from hplint.report.visible import printable
from hplint.report.words import message
from hplint.text.wording import plural

ROWS = 200
"""Findings that the table lists: GitHub takes 1 MiB a step, and nobody reads on."""
_STYLE = Style(width=10_000)
_MARKUP = {c: f"&#{ord(c)};" for c in "&<>|[]*_~\\#@"}


def step_summary(run: Run) -> str:
    """Markdown: the words of the summary, and a table with the most severe findings first."""
    found = sorted(run.diagnostics, key=lambda d: SEVERITIES.index(d.severity))
    lines = ["### hplint", "", *(f"{_text(line)}  " for line in summary(run, _STYLE)), ""]
    if found:
        lines += ["| severity | rule | place | finding |", "| --- | --- | --- | --- |", *map(_row, found[:ROWS])]
        lines += _rest(len(found) - ROWS)
    return "\n".join(lines) + "\n"


def _row(diagnostic: Diagnostic) -> str:
    line = diagnostic.source.position(diagnostic.span.start).line
    rule = f"{diagnostic.code} {diagnostic.name}"
    return f"| {diagnostic.severity} | {rule} | {_text(f'{diagnostic.source.path}:{line}')} | {_said(diagnostic)} |"


def _said(diagnostic: Diagnostic) -> str:
    return _text(message(diagnostic)) + (f"<br>{_text(diagnostic.help)}" if diagnostic.help else "")


def _rest(more: int) -> Iterator[str]:
    if more > 0:
        yield from ("", f"{plural(more, 'more finding', 'more findings')} in the log of the step.")


def _text(text: str) -> str:
    """One line of text that nothing in it turns into markup; values in backquotes become code."""
    parts = "".join(_MARKUP.get(c, c) for c in printable(text, _STYLE)).split("`")
    if len(parts) % 2 == 0:
        return "&#96;".join(parts)
    return "".join(f"<code>{part}</code>" if n % 2 else part for n, part in enumerate(parts))
