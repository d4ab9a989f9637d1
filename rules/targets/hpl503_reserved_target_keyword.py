"""HPL503 reserved-target-keyword: a framework context name configured by hand (R84)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Target, injections, listing, on_injection, quote, remove_item

RULE = on_injection("HPL503", "reserved-target-keyword")


def check(case: Case) -> Iterator[Finding]:
    for injection in injections(case):
        if not isinstance(injection.value, Target):
            continue
        for name, keyword in injection.value.keywords.items():
            if name in injection.reserved:
                yield Finding(
                    keyword.key_span,
                    f"{quote(name)} is filled in by the framework and cannot be configured: the runtime refuses it",
                    f"remove it; the framework passes {listing(injection.reserved)} itself",
                    injection.entry,
                    None,
                    injection.field,
                    fixes=(remove_item(keyword.key_span, name, safe=True),),
                    severity=injection.severity,
                )
