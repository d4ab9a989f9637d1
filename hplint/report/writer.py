"""The one door through which reports leave."""

import os
from collections.abc import Iterable, Mapping
from typing import IO

from hplint.report.style import Style, wants_color

PIPE_WIDTH = 100
"""Columns assumed where nobody's terminal decides, so that saved reports look alike everywhere."""
WIDEST = 120
"""Prose wider than this is hard to read, however wide the terminal."""


class Writer:
    """Writes text to a stream in whatever encoding it has; characters that it lacks are shown escaped.

    A closed pipe raises BrokenPipeError, which cli/main.py ends the run on in silence.
    """

    def __init__(self, stream: IO[str], color: str = "auto", environment: Mapping[str, str] = os.environ) -> None:
        self.stream = stream
        encoding = getattr(stream, "encoding", None) or "utf-8"
        self.is_terminal = _is_terminal(stream)
        self.style = Style(wants_color(color, self.is_terminal, environment), encoding, self._width(environment))

    def lines(self, lines: Iterable[str]) -> None:
        """Write lines, each with a line end."""
        self.text("".join(f"{line}\n" for line in lines))

    def text(self, text: str) -> None:
        """Write a text as it stands."""
        encoding = self.style.encoding
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            text = text.encode(encoding, "backslashreplace").decode(encoding)
        except LookupError:  # A stream that names an encoding of its own: let it decide.
            pass
        self.stream.write(text)

    def flush(self) -> None:
        self.stream.flush()

    def _width(self, environment: Mapping[str, str]) -> int:
        columns = environment.get("COLUMNS", "")
        if columns.isdecimal() and int(columns) > 0:
            return _bounded(int(columns))
        if not self.is_terminal:
            return PIPE_WIDTH
        try:
            return _bounded(os.get_terminal_size(self.stream.fileno()).columns or PIPE_WIDTH)
        except (OSError, ValueError, AttributeError):
            return PIPE_WIDTH


def _bounded(columns: int) -> int:
    return max(40, min(columns, WIDEST))


def _is_terminal(stream: IO[str]) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False
