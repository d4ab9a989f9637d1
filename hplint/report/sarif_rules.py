"""Rules as SARIF describes them: their pages, as plain text and Markdown."""

from collections.abc import Iterable
from typing import Any

from hplint.lint.diagnostic import Diagnostic
from hplint.lint.registry import Registry, RuleEntry
from hplint.report.page import body, first_paragraph, first_sentence, section

LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def rules_of(diagnostics: Iterable[Diagnostic], registry: Registry) -> list[dict[str, Any]]:
    """The rules that found something, in the order of their codes."""
    first: dict[str, Diagnostic] = {}
    for diagnostic in diagnostics:
        first.setdefault(diagnostic.code, diagnostic)
    return [_rule(first[code], registry) for code in sorted(first)]


def _rule(diagnostic: Diagnostic, registry: Registry) -> dict[str, Any]:
    entry = registry.rules.get(diagnostic.code)
    level = LEVELS[entry.severity if entry else diagnostic.severity]
    described = _described(entry, registry) if entry else {}
    value = {"id": diagnostic.code, "name": diagnostic.name, **described, "defaultConfiguration": {"level": level}}
    return value | {"helpUri": diagnostic.url} if diagnostic.url else value


def _described(entry: RuleEntry, registry: Registry) -> dict[str, Any]:
    """What the rule's page says; nothing where a rule of another package comes without one."""
    try:
        page = registry.page(entry)
    except OSError:
        return {}
    what, why = section(page, "What it does"), section(page, "Why is this bad")
    value: dict[str, Any] = {}
    if what:
        value["shortDescription"] = {"text": f"{first_sentence(what)}."}
        value["fullDescription"] = {"text": " ".join(filter(None, (first_paragraph(what), first_paragraph(why))))}
    text = body(page)
    return value | {"help": {"text": text, "markdown": text}, "properties": {"tags": [entry.group]}}
