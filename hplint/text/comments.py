"""Comments of YAML and Python texts, with their places."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hplint.text.span import Span

_YAML = re.compile("(?:(?<=[ \t\n\r\x85\u2028\u2029\ufeff])|^)#[^\n\r\x85\u2028\u2029]*")
_PYTHON = re.compile(
    r"""(?P<comment>\#[^\n\r]*)
    | \"{3}(?:[^\\"]|\\.|"(?!""))*(?:\"{3}|\Z|\\\Z)
    | '{3}(?:[^\\']|\\.|'(?!''))*(?:'{3}|\Z|\\\Z)
    | "(?:[^\\"\n\r]|\\(?:\r\n|.))*"?
    | '(?:[^\\'\n\r]|\\(?:\r\n|.))*'?""",
    re.X | re.S,
)


class Comment(NamedTuple):
    """A comment from its ``#`` to the end of its line, the line end left out."""

    text: str
    span: Span


def yaml_comments(text: str, opaque: Sequence[Span] = ()) -> Iterator[Comment]:
    """The comments of a YAML text. ``opaque`` are the places of quoted and block scalars, in order: a ``#`` in there
    starts no comment. A ``#`` inside a plain scalar starts one only after white space, as in YAML itself."""
    starts = [span.start for span in opaque]
    at = 0
    while match := _YAML.search(text, at):
        before = bisect_right(starts, match.start()) - 1
        if before >= 0 and match.start() < opaque[before].end:
            at = opaque[before].end
        else:
            yield Comment(match[0], Span(*match.span()))
            at = match.end()


def python_comments(text: str) -> Iterator[Comment]:
    """The comments of a Python text, broken code included."""
    for match in _PYTHON.finditer(text):
        if match["comment"] is not None:
            yield Comment(match[0], Span(*match.span()))
