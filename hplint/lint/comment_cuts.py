"""What goes with a suppression: the words of a list, the comment, or the line that it stands on."""

import re
from collections.abc import Collection
from typing import NamedTuple

from hplint.plan.entry import Text
from hplint.plan.suppression import Suppression
from hplint.text.source import BOM, Source
from hplint.text.span import Span

_SEPARATOR = re.compile(r"[\s,]+")


class Cut(NamedTuple):
    """The characters of ``span`` become ``text``."""

    span: Span
    text: str


def words_taken_out(source: Source, written: Suppression, gone: Collection[Text]) -> tuple[Cut, ...]:
    """The list without some of its words, separated as it is now. Some word must stay."""
    words = written.words or ()
    kept = [w for w in words if w not in gone]
    between = source.text[words[0].span.end : words[1].span.start]
    separator = between if _SEPARATOR.fullmatch(between) else ","
    whole = Span(words[0].span.start, words[-1].span.end)
    return (Cut(whole, separator.join(w.value for w in kept)),)


def taken_out(source: Source, written: Suppression) -> Cut:
    """The whole suppression with its reason: with the comment where that says nothing else, with the line where that
    holds nothing else. What stands before and behind it in the comment stays."""
    text, comment = source.text, written.comment
    start, end = written.span.start, written.end
    if written.end < comment.end and text[written.end : comment.end].strip():
        # Another part follows and takes the place of this one.
        behind = end + len(text[end : comment.end]) - len(text[end : comment.end].lstrip())
        return Cut(Span(start, behind), "") if start == comment.start else Cut(Span(_trimmed(text, start), end), "")
    if start > comment.start:
        return Cut(Span(_trimmed(text, start), comment.end), "")
    line = source.position(start).line
    begins = source.offset(line, 1)
    if text[begins:start].strip(" \t\f" + BOM):
        return Cut(Span(_trimmed(text, start), comment.end), "")
    if line < len(source.starts):
        return Cut(Span(begins, source.starts[line]), "")
    # The last line of a text without a line end: the one before it goes instead.
    above = source.starts[line - 2] if line > 1 else begins
    return Cut(Span(above + len(text[above:begins].rstrip("\r\n")), len(text)), "")


def _trimmed(text: str, end: int) -> int:
    """Where the white space before a place begins."""
    while end > 0 and text[end - 1] in " \t":
        end -= 1
    return end
