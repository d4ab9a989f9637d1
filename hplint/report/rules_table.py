"""All rules, for people and for programs."""

import json
from collections.abc import Iterator

from hplint.lint.registry import Registry, RuleEntry
from hplint.report.page import first_sentence, section
from hplint.report.style import Style
from hplint.report.visible import width, wrap


def rules_table(registry: Registry, style: Style) -> Iterator[str]:
    """Code, name, severity and what it reports, a line or more each."""
    codes = max((width(r.code) for r in registry), default=0)
    longest = max((width(r.name) for r in registry), default=0)
    lead = codes + 2 + longest + 2 + 7 + 2
    room = max(30, style.width - lead)
    for rule in registry:
        lines = wrap(_summary(registry, rule), room, style)
        code = style.paint(rule.code, rule.severity) + " " * (codes - width(rule.code))
        head = f"{code}  {rule.name:<{longest}}  {rule.severity:<7}  {lines[0]}"
        yield head.rstrip()
        yield from (f"{' ' * lead}{line}" for line in lines[1:])


def rules_json(registry: Registry) -> str:
    """A JSON array of all rules, with a line end."""
    rules = [
        {
            "code": rule.code,
            "name": rule.name,
            "severity": rule.severity,
            "group": rule.group,
            "summary": _summary(registry, rule),
            "explanation": _page(registry, rule),
        }
        for rule in registry
    ]
    return json.dumps(rules, indent=2) + "\n"


def _summary(registry: Registry, rule: RuleEntry) -> str:
    return first_sentence(section(_page(registry, rule), "What it does"))


def _page(registry: Registry, rule: RuleEntry) -> str:
    try:
        return registry.page(rule)
    except OSError:  # A third party's rule may have no page.
        return ""
