"""A place in a text."""

from typing import NamedTuple


class Span(NamedTuple):
    """Half-open range of character offsets, counted from the start of the file (a BOM counts as one character)."""

    start: int
    end: int


START = Span(0, 0)
"""Where findings without a better place stand: the first character of the file."""
