"""JUnit XML: a test suite a file, a failed test a finding."""

from collections.abc import Iterator

from hplint.lint.diagnostic import Diagnostic
from hplint.lint.request import Run
from hplint.report.style import Style
from hplint.report.visible import place, show
from hplint.report.words import advice, message

FAILING = ("error", "warning")
"""Severities that are failures; JUnit has no softer word, so infos are what a passed test prints."""
_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
_TABLE = str.maketrans(_ESCAPED)
_STYLE = Style()


def junit_report(run: Run) -> str:
    """The whole document with a line end. Everything outside ASCII is a character reference, so that any stream can
    carry it; what XML cannot hold is shown as on a terminal."""
    found: dict[str, list[Diagnostic]] = {p.path: [] for p in run.plans}
    for diagnostic in run.diagnostics:
        found.setdefault(diagnostic.source.path, []).append(diagnostic)
    failures = sum(d.severity in FAILING for d in run.diagnostics)
    tests = sum(max(1, len(of_file)) for of_file in found.values())
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="hplint"{_counts(tests, failures)}>']
    for path, of_file in found.items():
        lines += _suite(path, of_file)
    return "\n".join([*lines, "</testsuites>", ""])


def _suite(path: str, found: list[Diagnostic]) -> Iterator[str]:
    failures = sum(d.severity in FAILING for d in found)
    yield f'  <testsuite name="{_text(path)}"{_counts(max(1, len(found)), failures)}>'
    if not found:
        yield f'    <testcase name="no findings" classname="{_text(path)}" file="{_text(path)}"/>'
    for diagnostic in found:
        yield from _case(path, diagnostic)
    yield "  </testsuite>"


def _case(path: str, diagnostic: Diagnostic) -> Iterator[str]:
    line, column = diagnostic.source.position(diagnostic.span.start)
    name = _text(f"{diagnostic.code} {diagnostic.name} at {line}:{column}")
    yield f'    <testcase name="{name}" classname="{_text(path)}" file="{_text(path)}" line="{line}">'
    body = _text(f"{place(diagnostic.source, diagnostic.span, _STYLE)}: {diagnostic.severity}: {advice(diagnostic)}")
    if diagnostic.severity in FAILING:
        yield f'      <failure type="{diagnostic.severity}" message="{_text(message(diagnostic))}">{body}</failure>'
    else:
        yield f"      <system-out>{body}</system-out>"
    yield "    </testcase>"


def _counts(tests: int, failures: int) -> str:
    return f' tests="{tests}" failures="{failures}" errors="0" skipped="0"'


def _text(text: str) -> str:
    """A text as attributes and elements may hold it."""
    if text.isascii() and text.isprintable():
        return text.translate(_TABLE)
    return "".join(_ESCAPED.get(c) or _character(c) for c in text)


def _character(char: str) -> str:
    code = ord(char)
    if code in (0xFFFE, 0xFFFF):
        return f"&lt;U+{code:04X}&gt;"
    shown = show(char, _STYLE).translate(_TABLE)
    return shown if shown.isascii() else shown.encode("ascii", "xmlcharrefreplace").decode()
