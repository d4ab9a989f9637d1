"""The last line of a report: what was found, or what was checked when nothing was."""

from collections import Counter
from collections.abc import Iterator

from hplint.lint.diagnostic import SEVERITIES
from hplint.lint.request import Run
from hplint.report.style import Style
from hplint.report.visible import wrap
from hplint.text.wording import plural


def summary(run: Run, style: Style) -> Iterator[str]:
    """The notes of the run, then ``Found …`` or ``All checks passed: …``."""
    for note in run.notes:
        lines = wrap(note, style.width - 6, style)
        yield f"{style.paint('note:', 'info')} {lines[0]}"
        yield from (f"      {line}" for line in lines[1:])
    if run.diagnostics:
        yield _found(run)
    elif run.plans:
        yield f"{style.paint('All checks passed:', 'good')} {_checked(run)}."


def _found(run: Run) -> str:
    counts = Counter(d.severity for d in run.diagnostics)
    words = [plural(counts[s], s, "infos" if s == "info" else None) for s in SEVERITIES if counts[s]]
    files = len({d.source.path for d in run.diagnostics})
    return f"Found {_joined(words)} in {plural(files, 'file')} ({_checked(run, False)} checked)."


def _checked(run: Run, entries: bool = True) -> str:
    plans = {id(p.plan): p.plan for p in run.plans}
    text = plural(len(plans), "plan")
    if entries:
        text += f", {plural(sum(len(p.entries) for p in plans.values()), 'entry', 'entries')}"
    most = max(Counter(id(p.plan) for p in run.plans).values(), default=1)
    return f"{text} on {plural(most, 'topology', 'topologies')}" if most > 1 else text


def _joined(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
