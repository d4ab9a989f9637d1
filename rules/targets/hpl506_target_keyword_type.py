"""HPL506 target-keyword-type: a configured value that does not fit the parameter's annotation (R29)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Target, injections, on_injection, quote

RULE = on_injection("HPL506", "target-keyword-type")

_KINDS = {bool: "a bool", int: "an int", float: "a float", str: "a string", list: "a list", dict: "a mapping"}


def check(case: Case) -> Iterator[Finding]:
    for injection in injections(case):
        reading = injection.reading
        if reading is None or not isinstance(injection.value, Target):
            continue
        for name, keyword in injection.value.keywords.items():
            declared = [(s, s.parameter(name)) for s in reading.signatures]
            if name in injection.reserved or not declared:
                continue
            if all(p is not None and reading.fits(s, p, keyword.value) is False for s, p in declared):
                signature, parameter = declared[0]
                value = keyword.value
                shown = "null" if value is None else f"{quote(value)} ({_KINDS.get(type(value), type(value).__name__)})"
                yield Finding(
                    keyword.span,
                    f"{shown} does not fit `{name}: {reading.spell(parameter)}` of {quote(signature.name)}: the "
                    "configuration is refused",
                    _advice(value),
                    injection.entry,
                    None,
                    injection.field,
                    severity="warning" if signature.shipped else injection.severity,
                )


def _advice(value: object) -> str:
    if isinstance(value, str):
        return "strings are never converted; write the value without quotes, or one of those allowed"
    if value is None:
        return "leave the keyword out to use its default"
    return "write a value of that type; nothing is converted, but an int may stand for a float"
