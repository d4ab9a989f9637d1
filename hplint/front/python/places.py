"""Parsing Python text, and the way from the parser's places (lines, UTF-8 bytes) to character offsets."""

import ast
import re
import warnings

from hplint.text.source import BOM, Source
from hplint.text.span import Span

Placed = ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias | ast.pattern | ast.excepthandler

_NAME = re.compile(r"\w+")


class NotPython(Exception):
    """The text does not parse; ``span`` is the token or character at fault."""

    def __init__(self, reason: str, span: Span, advice: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span
        self.advice = advice


def parse(source: Source) -> ast.Module:
    """The syntax tree of a file.

    Raises :class:`NotPython` for everything that the parser refuses: broken syntax, null bytes, lone surrogates,
    nesting beyond its own limits.
    """
    text = source.text.removeprefix(BOM)
    if (null := source.text.find("\0")) >= 0:
        raise NotPython("a null byte, which Python source cannot contain", Span(null, null + 1))
    try:
        with warnings.catch_warnings():
            # Invalid escapes and the like make the parser warn on stderr, in the middle of the report.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise NotPython(error.msg or "invalid syntax", _error_span(source, error)) from None
    except UnicodeError as error:
        start = getattr(error, "start", 0) + len(source.text) - len(text)
        raise NotPython("a lone surrogate, which UTF-8 cannot write", Span(start, start + 1)) from None
    except (RecursionError, MemoryError):
        raise NotPython("nested too deeply for the Python parser", _deepest(source)) from None
    except ValueError as error:
        raise NotPython(str(error), Span(0, 0)) from None


def _error_span(source: Source, error: SyntaxError) -> Span:
    """The place of a SyntaxError: its columns count characters from 1, and may lie outside the text."""
    size = len(source.text)
    line = min(max(error.lineno or 1, 1), len(source.starts))
    start = min(source.offset(line, max(error.offset or 1, 1)), size)
    end_line = min(max(error.end_lineno or line, line), len(source.starts))
    last = error.end_offset or 0
    end = min(source.offset(end_line, last), size) if last > 0 else start
    line_end = source.starts[line - 1] + len(source.text[source.starts[line - 1] :].split("\n", 1)[0].rstrip("\r"))
    if line == end_line:
        start, end = min(start, line_end), min(end, line_end)
    if end <= start:
        end = min(start + 1, line_end) if start < line_end else start
    return Span(start, end)


def _deepest(source: Source) -> Span:
    """The start of the longest line: text that is nested beyond the parser's limits nearly always stands on it."""
    lines = [*source.starts, len(source.text)]
    start = max(range(len(lines) - 1), key=lambda i: lines[i + 1] - lines[i])
    return Span(lines[start], min(lines[start] + 1, len(source.text)))


class Places:
    """Spans of syntax nodes. ``inside`` may pin all of them to one span (see :meth:`pinned`)."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._spans: dict[Placed, Span] = {}
        self._wide: dict[int, list[int] | None] = {}
        self._bom = len(BOM) if source.text.startswith(BOM) else 0
        self._pin: Span | None = None

    def span(self, node: Placed) -> Span:
        """The characters of a node."""
        if self._pin is not None:
            return self._pin
        found = self._spans.get(node)
        if found is None:
            start = self._offset(node.lineno, node.col_offset)
            end = self._offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
            found = self._spans[node] = Span(start, max(start, end))
        return found

    def word(self, node: ast.keyword | ast.arg | ast.alias) -> Span:
        """The name token at which a node begins: the keyword of ``f(keyword=…)``."""
        span = self.span(node)
        if self._pin is None and (match := _NAME.match(self.source.text, span.start, span.end)):
            return Span(match.start(), match.end())
        return span

    def defined(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Span:
        """The name token of a ``def`` or ``class``."""
        span = self.span(node)
        match = re.compile(r"(?:async\s+)?(?:def|class)[\s\\]+(\w+)").match(self.source.text, span.start, span.end)
        return Span(match.start(1), match.end(1)) if match else Span(span.start, span.start)

    def pin(self, span: Span | None) -> Span | None:
        """Give every node this span from now on (None: its own again), and return what was pinned before.

        Python before 3.12 gives the expressions inside an f-string places that may lie elsewhere.
        """
        before, self._pin = self._pin, span
        return before

    def _offset(self, line: int, column: int) -> int:
        starts = self.source.starts
        if line > len(starts):
            return len(self.source.text)
        start = starts[line - 1] + (self._bom if line == 1 else 0)
        wide = self._wide.get(line, ())
        if wide == ():
            wide = self._wide[line] = self._characters(start, line)
        if wide is None:
            return min(start + column, len(self.source.text))
        return start + wide[min(column, len(wide) - 1)]

    def _characters(self, start: int, line: int) -> list[int] | None:
        """Byte -> character of one line, None where every character is one byte."""
        starts = self.source.starts
        text = self.source.text[start : starts[line] if line < len(starts) else len(self.source.text)]
        if text.isascii():
            return None
        return [i for i, c in enumerate(text) for _ in range(len(c.encode("utf-8", "surrogatepass")))] + [len(text)]
