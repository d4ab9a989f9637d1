"""The default report: every finding with its code frame, what happens at run time and what to do."""

from collections.abc import Callable, Iterable, Iterator

from hplint.lint.diagnostic import Diagnostic
from hplint.report.folding import fold
from hplint.report.frame import Mark, frame
from hplint.report.style import Style
from hplint.report.visible import place, wrap

INDENT = "  "
MODULES = 8
"""Names of modules that -v lists, equal layers folded; the rest is counted."""

FIXES = 3
"""Alternative fixes that are told."""


def full(
    diagnostics: Iterable[Diagnostic],
    style: Style,
    why: Callable[[Diagnostic], str] | None = None,
    unsafe: bool = False,
) -> Iterator[str]:
    """Lines of the report, a blank one after each finding. ``why`` gives the words about the run time that -v adds;
    ``unsafe`` tells what the fixes do, unsafe ones included. ``[*]`` marks what --fix fixes."""
    for diagnostic in diagnostics:
        yield _head(diagnostic, style, unsafe)
        yield from (INDENT + line for line in wrap(diagnostic.message, style.width - 2, style))
        marks = [Mark(diagnostic.span), *(Mark(r.span, r.message, main=False) for r in diagnostic.related)]
        if shown := frame(diagnostic.source, marks, style, diagnostic.severity):
            yield ""
            yield from (INDENT + line for line in shown)
        if tail := list(_tail(diagnostic, style, why, unsafe)):
            yield ""
            yield from (INDENT + line for line in tail)
        yield ""


def _head(diagnostic: Diagnostic, style: Style, unsafe: bool) -> str:
    what = style.paint(f"{diagnostic.code} {diagnostic.name}", diagnostic.severity)
    mark = f" [{style.paint('*', 'help')}]" if any(p.safe or unsafe for p in diagnostic.proposals) else ""
    where = style.paint(place(diagnostic.source, diagnostic.span, style), "path")
    return f"{where}: {what} ({diagnostic.severity}){mark}"


def _tail(
    diagnostic: Diagnostic, style: Style, why: Callable[[Diagnostic], str] | None, unsafe: bool
) -> Iterator[str]:  # fmt: skip
    if diagnostic.topology_note:
        yield from _labelled("holds", diagnostic.topology_note, "dim", style)
    if why and len(diagnostic.modules) > 1:
        names = [name for name, _, _ in fold((m or "the root module", 0) for m in diagnostic.modules)]
        named = ", ".join(names[:MODULES])
        rest = len(names) - MODULES
        yield from _labelled("modules", f"{named} and {rest:,} more" if rest > 0 else named, "dim", style)
    if why and (text := why(diagnostic)):
        yield from _labelled("run time", text, "dim", style)
    if diagnostic.help:
        yield from _labelled("help", diagnostic.help, "help", style)
    for proposal in diagnostic.proposals[:FIXES] if unsafe else ():
        yield from _labelled("fix" if proposal.safe else "unsafe fix", proposal.title, "help", style)


def _labelled(label: str, text: str, role: str, style: Style) -> Iterator[str]:
    """``label: text``, further lines under the first word of the text."""
    lead = f"{label}: "
    lines = wrap(text, max(20, style.width - 2 - len(lead)), style)
    yield f"{style.paint(f'{label}:', role)} {lines[0]}"
    yield from (f"{' ' * len(lead)}{line}" for line in lines[1:])
