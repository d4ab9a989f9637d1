"""Findings as rules make them, and diagnostics as reports show them."""

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

from hplint.lint.proposal import Proposal
from hplint.plan.entry import Entry
from hplint.plan.style import StyleEntry
from hplint.text.source import Source
from hplint.text.span import START, Span

SEVERITIES = ("error", "warning", "info")


class Related(NamedTuple):
    """A further place of a finding and what stands there."""

    message: str
    span: Span


class Edit(NamedTuple):
    """Replace the characters of ``span`` by ``text``."""

    span: Span
    text: str


class Fix(NamedTuple):
    """A change that removes the finding. ``safe`` fixes never change what a valid plan means."""

    title: str
    safe: bool
    edits: tuple[Edit, ...]


@dataclass(slots=True)
class Finding:
    """What a rule reports: one place, one cause.

    ``message`` says what is wrong (with the value) and what that does at run time; ``help`` says what to do (near names
    and allowed values here or in the message). ``module`` is the module that it happened in; findings of one rule that
    differ in the module alone are folded into one by the engine, so the message must not name the module unless that
    is the point. ``fixes`` are alternatives, the best one first. ``severity`` overrides the rule's; a severity given
    here also stands on entries whose ``when`` does not hold, where the rule's own error becomes a warning.
    """

    span: Span
    message: str
    help: str = ""
    entry: Entry | StyleEntry | None = None
    module: str | None = None
    field: str | None = None
    related: tuple[Related, ...] = ()
    fixes: tuple[Proposal, ...] = ()
    severity: str | None = None


@dataclass(slots=True)
class Diagnostic:
    """A finding with its rule, file and topology: what reports print. ``modules`` are all modules it holds in."""

    code: str
    name: str
    severity: str
    message: str
    source: Source
    span: Span = START
    match: str | None = None
    modules: tuple[str, ...] = ()
    field: str | None = None
    topology: dict[str, Any] = dataclasses.field(default_factory=dict)
    related: tuple[Related, ...] = ()
    help: str = ""
    proposals: tuple[Proposal, ...] = ()
    """Fixes as the rule thinks of them; ``fix/`` realises them."""
    fixes: tuple[Fix, ...] = ()
    """Fixes as edits of the text, once realised. The first is the best one."""
    url: str = ""
    fingerprint: str = ""
    topology_note: str = ""
    """With several topologies: in which ones it holds, "" when in all."""

    @property
    def module(self) -> str | None:
        return self.modules[0] if self.modules else None
