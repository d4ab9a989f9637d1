"""Findings as editors show them."""

from lsprotocol import types

from hplint.ide.lsp.desk import Sheet
from hplint.lint.diagnostic import Diagnostic
from hplint.text.span import Span

SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}
_NEEDLESS = frozenset(("HPL010", "HPL107", "HPL204", "HPL402", "HPL413", "HPL901"))
"""What can go without a loss: editors show it faded."""


def diagnostics(sheet: Sheet, encoding: str) -> list[types.Diagnostic]:
    """All that is told of a text, in the order of its places."""
    return [diagnostic(d, sheet, encoding) for d in sheet.told]


def diagnostic(found: Diagnostic, sheet: Sheet, encoding: str) -> types.Diagnostic:
    """One finding. Its help stands in the message, which is all that most editors show."""
    positions = sheet.positions(encoding)
    text = f"{found.message}\n{found.help}" if found.help else found.message
    return types.Diagnostic(
        range=positions.range(Span(found.span.start, max(found.span))),
        message=f"{text} ({found.topology_note})" if found.topology_note else text,
        severity=SEVERITIES[found.severity],
        code=found.code,
        code_description=types.CodeDescription(found.url) if found.url else None,
        source="hplint",
        tags=[types.DiagnosticTag.Unnecessary] if found.code in _NEEDLESS else None,
        related_information=[
            types.DiagnosticRelatedInformation(types.Location(sheet.uri, positions.range(r.span)), r.message)
            for r in found.related
        ]
        or None,
        data={"fingerprint": found.fingerprint},
    )
