"""Plain words for what YAML parsers say about broken text."""

import re
from typing import NamedTuple

import yaml

from hplint.front.keys import ACCELERATOR, ACCELERATOR_KEYS, AXIS_WORDS, ENTRY_KEYS, PLAN_OVERRIDES, TARGET
from hplint.text.span import Span


class Problem(NamedTuple):
    """Something that a loader refuses: its place and what it is. ``final``: no other parser need be asked."""

    span: Span
    message: str
    help: str = ""
    related: tuple[tuple[str, Span], ...] = ()
    final: bool = False


DEPTH_LIMIT = 200
"""Levels of nesting. PyYAML itself gives up between 300 and 1,000, depending on the parser."""
TOO_DEEP = f"nested more than {DEPTH_LIMIT} levels deep"

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_TOKEN = re.compile(r"\*(?:(?!:(?:\s|$))[^\s,\[\]{}])*")
_GLUED = re.compile(r"^[ ]*(?:-[ ]+)*([A-Za-z_]+):([^\s:/][^\n\r]*)", re.M)
_KEYS = frozenset((*ENTRY_KEYS, *ACCELERATOR_KEYS, *AXIS_WORDS, PLAN_OVERRIDES, ACCELERATOR, TARGET))

_UNCLOSED = "a quoted text that is never closed"
_INDENT = "check the indentation, and quote values that hold `: ` or ` #`"
_WORDS: tuple[tuple[str, str, str], ...] = (
    ("mapping values are not allowed", "a `:` where no mapping can start", _INDENT),
    ("did not find expected key", "neither a key nor the end of the mapping", _INDENT),
    ("expected <block end>", "neither the next item nor the end of the block", _INDENT),
    ("did not find expected '-' indicator", "neither a `-` nor the end of the list", _INDENT),
    ("could not find expected ':'", "a key without its `:`", "write `key: value`, with a space after the colon"),
    ("expected ',' or ']'", "a `[` list that is not closed, or a missing `,`", "close it with `]`"),
    ("expected ',' or '}'", "a `{` mapping that is not closed, or a missing `,`", "close it with `}`"),
    ("unexpected end of stream", _UNCLOSED, "close the quote"),
    ("unexpected document separator", _UNCLOSED, "close the quote"),
    ("unknown escape character", "an unknown escape in a double-quoted text",
     "double the backslash, or use single quotes"),
    ("expected node content", "a value or key is missing here", ""),
    ("expected the node content", "a value or key is missing here", ""),
    ("block sequence entries are not allowed", "a `-` where no list can start", _INDENT),
    ("block collections are not allowed", "a block where none can start", _INDENT),
    ("mapping keys are not allowed", "a key where no mapping can start", _INDENT),
    ("block mapping", "a block where none can start", _INDENT),
    ("<document start>", "a second root value", "indent it, or make one list or mapping of both"),
    ("incompatible YAML document", "a YAML version that is not 1.x", ""),
    ("undefined tag handle", "a tag whose handle is not declared", ""),
)  # fmt: skip


def word_error(error: Exception, text: str, shift: int) -> Problem:
    """The problem behind an exception of a YAML parser; ``shift`` is added to every place."""
    bad = _UNPRINTABLE.search(text)
    if isinstance(error, yaml.reader.ReaderError) and bad:
        span = Span(bad.start() + shift, bad.end() + shift)
        return Problem(span, f"the character U+{ord(bad[0]):04X} is not allowed in YAML", "remove it")
    if not isinstance(error, yaml.MarkedYAMLError):
        return Problem(Span(shift, shift), "not YAML")
    mark = error.problem_mark or error.context_mark
    at = min(mark.index, len(text)) if mark else 0
    span = Span(at + shift, min(at + 1, len(text)) + shift)
    related: tuple[tuple[str, Span], ...] = ()
    if "nesting depth" in str(error.problem):
        return Problem(span, TOO_DEEP, final=True)
    if slip := _glob(error, text, at, shift) or _glued(str(error.problem), text, at, shift):
        return slip
    message, advice = _words(str(error.problem or error.context or ""), text[at : at + 1])
    if error.context and error.context_mark and error.context_mark.index != at:
        start = min(error.context_mark.index, len(text))
        opened = Span(start + shift, min(start + 1, len(text)) + shift)
        if message == _UNCLOSED:
            # Where the text ended tells nothing; where the quote stands does.
            return Problem(opened, message, advice)
        related = (("started here", opened),)
    return Problem(span, message, advice, related)


def quoted_glob(text: str, start: int) -> str:
    """How the value that starts with the ``*`` at ``start`` reads in quotes."""
    found = _TOKEN.match(text, start)
    return f'"{found[0]}"' if found else '"*"'


def _glob(error: yaml.MarkedYAMLError, text: str, at: int, shift: int) -> Problem | None:
    """A glob without quotes."""
    if error.context is None or "scanning an alias" not in error.context or error.context_mark is None:
        return None
    star = min(error.context_mark.index, at)
    if text[star : star + 1] != "*":
        return None
    found = _TOKEN.match(text, star)
    end = found.end() if found else star + 1
    message = "a value that starts with `*` is an alias, and this is no name of one"
    return Problem(Span(star + shift, end + shift), message, f"quote the glob: {quoted_glob(text, star)}")


def _glued(problem: str, text: str, at: int, shift: int) -> Problem | None:
    """A key without the space after its colon. The parser finds out only at the next colon."""
    if not any(part in problem for part in ("mapping values are not allowed", "could not find expected ':'")):
        return None
    lines = [m for m in _GLUED.finditer(text, max(0, at - 2000), at) if m[1] in _KEYS]
    if not lines or text[lines[-1].end() : at].count("\n") > 1:
        return None
    start, end = lines[-1].start(1), lines[-1].end(1)
    whole = f"{lines[-1][1]}: {lines[-1][2].strip()}"
    message = f"a space is missing after `{lines[-1][1]}:`, so it is no key"
    return Problem(Span(start + shift, end + 1 + shift), message, f"write `{whole[:80]}`")


def _words(problem: str, char: str) -> tuple[str, str]:
    if "cannot start any token" in problem:
        if char == "\t":
            return "a tab where YAML takes only spaces", "indent with spaces"
        return f"`{char}` cannot start a value", "quote the value"
    for part, message, advice in _WORDS:
        if part in problem:
            return message, advice
    return problem or "not YAML", ""
