"""What may stand at the cursor of a plan of styles: segments of keys, words. Works in YAML, JSON and Python texts."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from hplint.ide.lsp.style_place import StylePlace, further_names, style_place
from hplint.lint.request import CheckedPlan
from hplint.plan.style import TP_PLAN
from hplint.resolve.tp_plan.words import WORDS

Reread = Callable[[str], Sequence[CheckedPlan]]
"""Reads another text for the same file."""
_AFTER_KEY = (': "colwise",', ": ColwiseParallel(),", ': "colwise"')
"""What may be missing behind a key that is being typed."""


class StyleOffers(NamedTuple):
    """What may stand there, each with a detail, and where the word begins that it replaces. ``is_key``: segments of a
    key, not words."""

    offers: tuple[tuple[str, str], ...]
    start: int
    is_key: bool


def style_offers(text: str, offset: int, plans: Sequence[CheckedPlan], reread: Reread) -> StyleOffers | None:
    """The offers at an offset; None where no plan of styles is there. ``plans`` are those of the text as it is, none
    where it cannot be read."""
    for attempt in _attempts(text, offset, plans, reread):
        for checked in attempt:
            if place := style_place(checked.plan, offset):
                start = min(place.span.start, offset)
                typed = text[start:offset]
                return StyleOffers(tuple(_offers(place, typed, checked)), start, place.on == "key")
    return None


def _attempts(
    text: str, offset: int, plans: Sequence[CheckedPlan], reread: Reread
) -> Iterator[Sequence[CheckedPlan]]:  # fmt: skip
    """The plans of the text as it is, then of what it may become."""
    yield plans
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    quote = open_quote(line)
    before, after = text[:offset], text[offset:]
    if not quote:
        yield reread(f"{before}x: colwise{after}")
        return
    if after[:1] == quote:
        before, after = f"{before}x{quote}", after[1:]
    else:
        before = f"{before}x{quote}"
    for missing in ("", ",", *_AFTER_KEY):
        yield reread(before + missing + after)


def open_quote(line: str) -> str:
    """The quote that a line leaves open, "" for none."""
    quote = ""
    for place, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote and line[place - 1] != "\\" else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "#":
            return ""
    return quote


def _offers(place: StylePlace, typed: str, checked: CheckedPlan) -> Iterator[tuple[str, str]]:
    if place.on == "key":
        yield from further_names(place, typed, checked)
    elif checked.plan.dialect == TP_PLAN:
        section = checked.plan.carrier.section if checked.plan.carrier else "tp"
        yield from ((name, word.doc) for name, word in WORDS.items() if word.section == section and word.now is None)
