"""Annotations of GitHub Actions: workflow commands that a runner reads from the log."""

from collections import Counter
from collections.abc import Iterable, Iterator

from hplint.lint.diagnostic import SEVERITIES, Diagnostic
from hplint.report.paths import from_top
from hplint.report.style import Style
from hplint.report.visible import show
from hplint.report.words import advice
from hplint.text.wording import plural

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
SHOWN = 10
"""Annotations of one kind that GitHub keeps of a step."""
_STYLE = Style()


def github(diagnostics: Iterable[Diagnostic], top: str | None = None) -> Iterator[str]:
    """Commands, the most severe first; before the notices one that says how many GitHub leaves out.

    ``top`` is the folder of the checkout, from which GitHub counts paths.
    """
    ordered = sorted(diagnostics, key=lambda d: SEVERITIES.index(d.severity))
    soft = [d for d in ordered if d.severity == "info"]
    for diagnostic in ordered[: len(ordered) - len(soft)]:
        yield _command(diagnostic, top)
    if text := left_out(ordered):
        yield f"::notice title=hplint::{_data(text)}"
    for diagnostic in soft:
        yield _command(diagnostic, top)


def left_out(diagnostics: Iterable[Diagnostic]) -> str:
    """What GitHub shows no annotation for; "" where it shows all."""
    counts = Counter(d.severity for d in diagnostics)
    room = dict.fromkeys(SEVERITIES, SHOWN)
    if any(counts[s] > room[s] for s in SEVERITIES):
        room["info"] -= 1  # for the notice that says so
    more = [f"{counts[s] - room[s]:,} of {plural(counts[s], s)}" for s in SEVERITIES if counts[s] > room[s]]
    if not more:
        return ""
    return f"GitHub keeps {SHOWN} annotations of a kind: {' and '.join(more)} have none; the log of the step has all"


def fenced(lines: Iterable[str], token: str) -> Iterator[str]:
    """Lines in which the runner looks for no commands: a plan is quoted in them, and it must not speak to the runner.

    ``token`` ends the fence; nobody may guess it.
    """
    yield f"::stop-commands::{token}"
    yield from lines
    yield f"::{token}::"


def _command(diagnostic: Diagnostic, top: str | None) -> str:
    source = diagnostic.source
    start, end = source.position(diagnostic.span.start), source.position(max(diagnostic.span))
    values: dict[str, object] = {}
    if source.path != "-":
        values = {"file": from_top(source.path, top), "line": start.line, "endLine": end.line}
        # Columns count for annotations of one line alone.
        if start.line == end.line:
            values |= {"col": start.column, "endColumn": end.column}
    values["title"] = f"{diagnostic.code} {diagnostic.name}"
    told = ",".join(f"{name}={_property(str(value))}" for name, value in values.items())
    return f"::{COMMANDS[diagnostic.severity]} {told}::{_data(advice(diagnostic))}"


def _data(text: str) -> str:
    visible = text if text.isprintable() else "".join(c if c in "\r\n\t" else show(c, _STYLE) for c in text)
    return visible.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
