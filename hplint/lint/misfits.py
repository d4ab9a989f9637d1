"""Modules whose words do not fit their neighbours': how that is said, and what they need instead."""

from collections.abc import Iterable
from typing import NamedTuple

from hplint.lint.proposal import Proposal
from hplint.lint.word_fixes import write_words
from hplint.resolve.tp_plan.flow import Flow, Flows
from hplint.text.wording import listing, quote


class Misfit(NamedTuple):
    """A module whose flow does not fit, and the word that it needs."""

    fqn: str
    flow: Flow
    word: str


def said(fqn: str, flow: Flow) -> str:
    """A layer and its word: ``q_proj (colwise)``."""
    name = quote(fqn.rpartition(".")[2])
    return f"{name} ({quote(flow.word)})" if flow.word else f"{name} (no rule)"


def advise(misfits: Iterable[Misfit]) -> str:
    """Which words to write for which modules."""
    by_word: dict[str, list[str]] = {}
    for misfit in misfits:
        by_word.setdefault(misfit.word, []).append(misfit.fqn.rpartition(".")[2])
    return "write " + " and ".join(f"{quote(word)} for {listing(names)}" for word, names in by_word.items())


def write_misfits(flows: Flows, misfits: Iterable[Misfit], safe: bool = False) -> tuple[Proposal, ...]:
    """Other words, where every layer at fault has a rule of the plan's own."""
    return write_words(flows.plan, ((flows.own(m.flow.entry), m.word) for m in misfits), safe)
