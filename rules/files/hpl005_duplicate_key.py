"""HPL005 duplicate-key: one key twice in one mapping; the last one wins in silence (S54)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Related, on_fault, quote

RULE = on_fault("HPL005", "duplicate-key")

_WHERE = {
    "entry": "in one entry",
    "field": "in one field",
    "tensor": "in one layout",
    "target": "in one target",
    "accelerator": "in the accelerator section",
    "plan": "in one plan",
}


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        where = _WHERE.get(fault.data.get("section", ""), "in one mapping")
        key = fault.data["key"]
        shown = quote(key if isinstance(key, str) else case.plan.source.cut(fault.span))
        message = f"{shown} is written twice {where}: the earlier value is dropped without a word"
        related = tuple(Related(*place) for place in fault.related)
        entry = case.entry(fault) or case.style_entry(fault)
        yield Finding(fault.span, message, help="keep one of the two", entry=entry, field=fault.field, related=related)
