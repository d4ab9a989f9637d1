"""HPL505 injected-signature: *args, **kwargs, defaulted or missing context parameters, positional-only ones (R78-R80,
R26, R60, R61)."""

from collections.abc import Iterator
from typing import Any

from hplint.rule import Case, Finding, Injection, injections, listing, on_injection, quote

RULE = on_injection("HPL505", "injected-signature")


def check(case: Case) -> Iterator[Finding]:
    for injection in injections(case):
        marks = injection.reading.marks if injection.reading else None
        if injection.reading is None or not marks or injection.mark not in marks:
            continue
        signatures = injection.reading.signatures
        problems = [dict(_problems(injection, s)) for s in signatures]
        for kind, (what, advice) in problems[0].items():
            # Where several branches define it, all of them must have the fault.
            if all(kind in p for p in problems):
                yield Finding(
                    injection.path.span,
                    f"{quote(signatures[0].name)} ({signatures[0].place}) {what}: `@{injection.mark}` refuses it",
                    advice,
                    injection.entry,
                    None,
                    injection.field,
                    severity=injection.severity,
                )


def _problems(injection: Injection, signature: Any) -> Iterator[tuple[str, tuple[str, str]]]:
    if signature.shipped:
        return
    for kind, stars in (("var_positional", "*"), ("var_keyword", "**")):
        star = signature.of_kind(kind)
        if star and (kind == "var_keyword" or injection.field != "replace_module"):
            yield kind, (f"takes `{stars}{star.name}`", "declare every parameter by name")
    if only := [p.name for p in signature.parameters if p.kind == "positional_only" and p.required]:
        yield "positional_only", (f"takes {listing(only)} by position alone", "the framework passes everything by name")
    declared = {p.name: p for p in signature.parameters if p.kind != "positional_only"}
    missing = [n for n in injection.context if n not in declared]
    if missing:
        what = f"lacks the context {'parameter' if len(missing) == 1 else 'parameters'} {listing(missing)}"
        yield "missing", (what, f"declare {listing(injection.context)}, without defaults")
    if injection.field != "replace_module":
        defaulted = [n for n in injection.all_context if n in declared and not declared[n].required]
        if defaulted:
            yield "defaulted", (f"gives {listing(defaulted)} a default", "context parameters must have no default")
