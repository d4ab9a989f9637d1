"""One line a finding: ``path:line:column: CODE message``, the form that gates and problem matchers read."""

from collections.abc import Iterable, Iterator

from hplint.lint.diagnostic import Diagnostic
from hplint.report.style import Style
from hplint.report.visible import place, printable

NEAR = "did you mean "


def concise(diagnostics: Iterable[Diagnostic], style: Style) -> Iterator[str]:
    """Lines of the report. Line ends within a message are escaped."""
    for diagnostic in diagnostics:
        code = style.paint(diagnostic.code, diagnostic.severity)
        note = f" ({diagnostic.topology_note})" if diagnostic.topology_note else ""
        # Gates and problem matchers show this line alone: it carries the names that were probably meant.
        meant = f"; {diagnostic.help}" if diagnostic.help.startswith(NEAR) else ""
        message = printable(diagnostic.message + note + meant, style)
        yield f"{style.paint(place(diagnostic.source, diagnostic.span, style), 'path')}: {code} {message}"
