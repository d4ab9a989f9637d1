"""Suppressions: comments that ask for quiet, as they are written."""

from typing import NamedTuple

from hplint.plan.entry import Text
from hplint.text.span import Span

IGNORE, IGNORE_FILE, NOQA = "ignore", "ignore-file", "noqa"


class Suppression(NamedTuple):
    """``# hplint: ignore[…]``, ``# hplint: ignore-file[…]`` or ``# noqa: …``.

    ``words`` are what it names, codes of other tools included; None: it is about all rules. ``span`` reaches from its
    ``#`` (from its word, where ``key=value`` stands before that) to its last word or bracket, ``end`` to the end of its
    reason. ``comment`` is the whole comment that it stands in.
    """

    form: str
    words: tuple[Text, ...] | None
    span: Span
    end: int
    comment: Span

    @property
    def of_file(self) -> bool:
        """Whether it is about the whole file."""
        return self.form == IGNORE_FILE
