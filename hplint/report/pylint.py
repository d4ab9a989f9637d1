"""The lines that pylint prints, for whatever reads those: ``path:line: [CODE(name), object] message``."""

from collections.abc import Iterable, Iterator

from hplint.lint.diagnostic import Diagnostic
from hplint.report.style import Style
from hplint.report.visible import printable
from hplint.report.words import message


def pylint(diagnostics: Iterable[Diagnostic], style: Style) -> Iterator[str]:
    """Lines of the report, never painted. The object is the module that a finding is in; nothing where it is in none,
    as pylint has it for a whole file."""
    for diagnostic in diagnostics:
        path = printable(diagnostic.source.path, style)
        line = diagnostic.source.position(diagnostic.span.start).line
        # A `]` would end the bracket for those who read it.
        module = printable(diagnostic.module or "", style).replace("[", "(").replace("]", ")")
        text = printable(message(diagnostic), style)
        yield f"{path}:{line}: [{diagnostic.code}({diagnostic.name}), {module}] {text}"
