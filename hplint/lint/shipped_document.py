"""The plan that a model ships, as a document of its own: the library's rules written out as YAML, one a line.

The document has no file. Its path is ``CLASS.tp_plan``, its text what a user would write to give the same plan by hand.
"""

from collections.abc import Iterable

from hplint.errors import RequestError
from hplint.lint.pairing import ModelChoice, pair
from hplint.lint.request import Request
from hplint.model.tree import ModuleTree
from hplint.plan.entry import Text
from hplint.plan.plan import Document, Plan
from hplint.plan.style import TP_PLAN, Carrier, Style, StyleEntry
from hplint.resolve.tp_plan.shipped import Shipped, shipped_plan
from hplint.text.source import Source
from hplint.text.span import Span
from hplint.text.wording import quote

_SECTIONS = ("tp", "ep", "pp")


def shipped_document(tree: ModuleTree, sections: Iterable[str] = ("tp",)) -> Document:
    """The plans of these sections that the model has, each under its own key. Raises RequestError for a model without
    a plan of the first one."""
    first, *others = sections
    path = f"{tree.class_name}.tp_plan"
    writer = _Writer(path)
    rules = shipped_plan(tree, first)
    if not rules:
        what = "" if tree.owners else ": it is no model of the transformers library"
        raise RequestError(f"{quote(tree.class_name or 'the model')} ships no {first}_plan{what}")
    writer.section(first, rules.values())
    for section in others:
        if further := shipped_plan(tree, section):
            writer.section(section, further.values())
    return writer.document()


def shipped_for(request: Request, tree: ModuleTree) -> Document:
    """The document for a request: experts and stages count where an axis for them is asked for."""
    document = shipped_document(tree)
    topologies = [t for t, _ in pair(document, document.plans[0], request).topologies]
    larger = [s for s in _SECTIONS[1:] if any((t.size(s) or 1) > 1 for t in topologies)]
    return shipped_document(tree, ("tp", *larger)) if larger else document


def choice_for(request: Request) -> ModelChoice:
    """The model whose plan is asked for. Raises RequestError where none is named."""
    if request.model is None:
        raise RequestError("--tp-plan builtin checks the plan that a model ships", "name the model with --model")
    return ModelChoice(request.model, ".")


class _Writer:
    """Text and plans, grown side by side: spans count from the beginning of the text."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: list[str] = []
        self.length = 0
        self.drafts: list[tuple[str, Span, list[StyleEntry]]] = []

    def line(self, text: str) -> int:
        """Add a line; where it begins."""
        start = self.length
        self.lines.append(text)
        self.length += len(text) + 1
        return start

    def section(self, section: str, rules: Iterable[Shipped]) -> None:
        start = self.line(f"{section}_plan:")
        entries = [self.rule(i, rule) for i, rule in enumerate(rules)]
        self.drafts.append((section, Span(start, start + len(section) + 5), entries))

    def rule(self, index: int, rule: Shipped) -> StyleEntry:
        word = rule.word if isinstance(rule.word, str) else str(rule.word).replace("'", '"')
        start = self.line(f"  {rule.key}: {word}  # {_origin(rule)}") + 2
        key = Text(rule.key, Span(start, start + len(rule.key)))
        begin = key.span.end + 2
        style = Style(word, "hf", Span(begin, begin + len(word))) if isinstance(rule.word, str) else None
        return StyleEntry(index, key, style, key.span, shipped=True)

    def document(self) -> Document:
        source = Source(self.path, "\n".join((*self.lines, "")))
        plans = (self.plan(source, *draft) for draft in self.drafts)
        return Document(source, tuple(plans))

    def plan(self, source: Source, section: str, anchor: Span, entries: list[StyleEntry]) -> Plan:
        carrier = Carrier(section, "builtin")
        return Plan(
            source, TP_PLAN, (), anchor=anchor, name=f"{section}_plan", styles=tuple(entries), carrier=carrier
        )  # fmt: skip


def _origin(rule: Shipped) -> str:
    """The class that brings a rule in, and where that stands in the model."""
    holder = rule.owner.classes[0] if rule.kind != "config" else rule.owner.configs[0]
    if rule.kind == "added":
        return f"added for the embedding of {holder}"
    return f"from {holder}"
