"""How an error is told: one line of what is wrong, one of what to do."""

from collections.abc import Iterator

from hplint.errors import HplintError
from hplint.report.style import Style
from hplint.report.visible import printable


def error_lines(error: HplintError, style: Style) -> Iterator[str]:
    """``error: …`` and, where there is one, ``help: …``."""
    yield f"{style.paint('error:', 'error')} {printable(error.message, style)}"
    if error.hint:
        yield f"{style.paint('help:', 'help')} {printable(error.hint, style)}"
