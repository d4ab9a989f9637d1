"""The last line of a report: what was found, or what was checked when nothing was."""

from collections import Counter
from collections.abc import Iterator

from hplint.lint.diagnostic import SEVERITIES
from hplint.lint.request import Run
from hplint.report.style import Style
from hplint.report.visible import wrap
from hplint.text.wording import plural


def summary(run: Run, style: Style, unsafe: bool = False) -> Iterator[str]:
    """The notes of the run, what was fixed, then ``Found …`` or ``All checks passed: …``, and what can be fixed.

    ``unsafe``: unsafe fixes were asked for, so they count like the others."""
    for note in run.notes:
        lines = wrap(note, style.width - 6, style)
        yield f"{style.paint('note:', 'info')} {lines[0]}"
        yield from (f"      {line}" for line in lines[1:])
    if run.fixed:
        yield f"Fixed {plural(run.fixed, 'finding')} in {plural(run.fixed_files, 'file')}."
    if run.diagnostics:
        yield _found(run)
        if line := fixable(run, unsafe):
            yield line
    elif run.plans:
        yield f"{style.paint('All checks passed:', 'good')} {_checked(run)}."
    if line := hidden(run):
        yield line


def hidden(run: Run) -> str:
    """What is found and not told: ``Not shown: 2 findings ignored by comments, 3 in the baseline.``; "" for nothing."""
    parts = []
    if run.suppressed:
        parts.append(f"{plural(run.suppressed, 'finding')} ignored by comments")
    if run.baselined:
        parts.append(
            f"{run.baselined:,} in the baseline" if parts else f"{plural(run.baselined, 'finding')} in the baseline"
        )
    return f"Not shown: {', '.join(parts)}." if parts else ""


def fixable(run: Run, unsafe: bool = False) -> str:
    """What fixing would do: ``3 fixable with --fix, 1 more with --unsafe-fixes.``; "" where nothing can be fixed."""
    proposed = [any(p.safe for p in d.proposals) for d in run.diagnostics if d.proposals]
    safe = sum(proposed)
    rest = len(proposed) - safe
    if not proposed:
        return ""
    if unsafe:
        return f"{len(proposed)} fixable with --fix --unsafe-fixes."
    if not safe:
        return f"{rest} fixable with --fix --unsafe-fixes."
    return f"{safe} fixable with --fix{f', {rest} more with --unsafe-fixes' if rest else ''}."


def _found(run: Run) -> str:
    counts = Counter(d.severity for d in run.diagnostics)
    words = [plural(counts[s], s, "infos" if s == "info" else None) for s in SEVERITIES if counts[s]]
    files = len({d.source.path for d in run.diagnostics})
    return f"Found {_joined(words)} in {plural(files, 'file')} ({_checked(run, False)} checked)."


def _checked(run: Run, entries: bool = True) -> str:
    plans = {id(p.plan): p.plan for p in run.plans}
    text = plural(len(plans), "plan")
    if entries:
        text += f", {plural(sum(p.size for p in plans.values()), 'entry', 'entries')}"
    most = max(Counter(id(p.plan) for p in run.plans).values(), default=1)
    return f"{text} on {plural(most, 'topology', 'topologies')}" if most > 1 else text


def _joined(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
