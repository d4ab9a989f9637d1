"""The one door through which reports leave."""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from hplint.errors import RequestError
from hplint.report.style import Style, wants_color

PIPE_WIDTH = 100
"""Columns assumed where nobody's terminal decides, so that saved reports look alike everywhere."""
WIDEST = 120
"""Prose wider than this is hard to read, however wide the terminal."""


class Writer:
    """Writes text to a stream in whatever encoding it has; characters that it lacks are shown escaped.

    A reader that closed the pipe ends the writing in silence: what was found still decides the exit code. ``stream``
    is None where the process has no such stream.
    """

    def __init__(
        self, stream: IO[str] | None, color: str = "auto", environment: Mapping[str, str] = os.environ
    ) -> None:
        self.stream = stream
        self.choice = color
        self.is_terminal = _is_terminal(stream)
        encoding = getattr(stream, "encoding", None) or "utf-8"
        self.style = Style(wants_color(color, self.is_terminal, environment), encoding, self._width(environment))

    def lines(self, lines: Iterable[str]) -> None:
        """Write lines, each with a line end."""
        self.text("".join(f"{line}\n" for line in lines))

    def text(self, text: str) -> None:
        """Write a text as it stands."""
        if self.stream is None or not text:
            return
        encoding = self.style.encoding
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            text = text.encode(encoding, "backslashreplace").decode(encoding)
        except LookupError:  # A stream that names an encoding of its own: let it decide.
            pass
        try:
            self.stream.write(text)
        except OSError as error:
            self._give_up(error)

    def raw(self, data: bytes) -> None:
        """Write bytes that must arrive as they are: plans, and what patches them."""
        if self.stream is None or not data:
            return
        buffer = getattr(self.stream, "buffer", None)
        try:
            if buffer is None:
                self.stream.write(data.decode("utf-8", "replace"))
                return
            self.stream.flush()
            buffer.write(data)
        except OSError as error:
            self._give_up(error)

    def flush(self) -> None:
        """Hand over what is written so far, and learn here whether it arrives."""
        if self.stream is not None:
            try:
                self.stream.flush()
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        stream, self.stream = self.stream, None
        if stream is not None and stream in (sys.stdout, sys.stderr):
            # The interpreter flushes both once more when it ends, and would complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            raise RequestError(f"the report cannot be written: {error.strerror}") from None

    def _width(self, environment: Mapping[str, str]) -> int:
        columns = environment.get("COLUMNS", "")
        if columns.isdecimal() and int(columns) > 0:
            return _bounded(int(columns))
        if not self.is_terminal or self.stream is None:
            return PIPE_WIDTH
        try:
            return _bounded(os.get_terminal_size(self.stream.fileno()).columns or PIPE_WIDTH)
        except (OSError, ValueError, AttributeError):
            return PIPE_WIDTH


def write_file(path: str, text: str) -> None:
    """Write a file whole or not at all; a symbolic link stays one, its target is written. Raises RequestError."""
    refuse_unwritable(path)
    data = text.encode("utf-8", "backslashreplace")
    try:
        if _is_stream(Path(path)):
            Path(path).write_bytes(data)
            return
        target = Path(path).resolve()
        scratch = target.with_name(f".{target.name[:200]}.{os.getpid()}.tmp")
        try:
            scratch.write_bytes(data)
            scratch.replace(target)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}") from None


def _is_stream(path: Path) -> bool:
    """Whether there is nothing to replace: a named pipe, a device, or a name of a stream, which may well be a file
    that the shell opened."""
    return path.parts[:2] in (("/", "dev"), ("/", "proc")) or (path.exists() and not path.is_file())


def refuse_unwritable(path: str) -> None:
    """Raise RequestError for a path that no file can be written to: told before the work, not after it."""
    target = Path(path)
    if not path:
        raise RequestError("an empty path cannot be written: it names no file")
    if target.is_dir():
        raise RequestError(f"{path} cannot be written: it is a folder")
    if not target.parent.is_dir():
        raise RequestError(f"{path} cannot be written: there is no folder {target.parent}")


def _bounded(columns: int) -> int:
    return max(40, min(columns, WIDEST))


def _is_terminal(stream: IO[str] | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False
