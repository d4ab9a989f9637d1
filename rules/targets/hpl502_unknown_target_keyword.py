"""HPL502 unknown-target-keyword: a keyword that the target does not declare (R28, R83)."""

from collections.abc import Iterator

from hplint.rule import (
    Case,
    Finding,
    Target,
    injections,
    listing,
    near,
    on_injection,
    quote,
    remove_item,
    rename_to_near,
)

RULE = on_injection("HPL502", "unknown-target-keyword")


def check(case: Case) -> Iterator[Finding]:
    for injection in injections(case):
        signatures = injection.reading.signatures if injection.reading else ()
        if not signatures or not isinstance(injection.value, Target):
            continue
        for name, keyword in injection.value.keywords.items():
            if name in injection.reserved or any(s.parameter(name) for s in signatures):
                continue
            known = [n for s in signatures for n in s.names if n not in injection.all_context]
            shipped = any(s.shipped for s in signatures)
            swallows = any(s.of_kind("var_keyword") for s in signatures)
            free = [n for n in known if n not in injection.value.keywords]
            fixes = rename_to_near(keyword.key_span, name, free, safe=not shipped)
            yield Finding(
                keyword.key_span,
                f"{quote(signatures[0].name)} has no parameter {quote(name)}: the configuration is refused"
                + (", although `**kwargs` would take it" if swallows else ""),
                _advice(name, known),
                injection.entry,
                None,
                injection.field,
                fixes=(*fixes, remove_item(keyword.key_span, name)),
                severity="warning" if shipped else injection.severity,
            )


def _advice(name: str, known: list[str]) -> str:
    if meant := near(name, known):
        return f"did you mean {listing(meant, 'or')}?"
    return f"it can be configured with {listing(dict.fromkeys(known))}" if known else "it has nothing to configure"
