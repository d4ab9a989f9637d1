"""HPL504 undecorated-target: an injected function without its decorator, or with the wrong one (R81, R82, R55)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, injections, listing, on_injection, quote, remove_injection

RULE = on_injection("HPL504", "undecorated-target")


def check(case: Case) -> Iterator[Finding]:
    for injection in injections(case):
        marks = injection.reading.marks if injection.reading else None
        if injection.reading is None or marks is None or injection.mark in marks:
            continue
        signature = injection.reading.signatures[0]
        place = f" ({signature.place})" if signature.place else ""
        carries = f"is made for another field: it carries {listing('@' + m for m in sorted(marks))}" if marks else ""
        needs = f"`@{injection.mark}`"
        yield Finding(
            injection.path.span,
            f"{quote(signature.name)}{place} {carries or f'has no {needs} decorator'}"
            + (f", but `{injection.field}` needs {needs}" if marks else f", which `{injection.field}` needs")
            + ": the runtime refuses it",
            _advice(injection.mark, marks),
            injection.entry,
            None,
            injection.field,
            fixes=remove_injection(injection.entry, injection.field),
            severity="warning" if signature.shipped else injection.severity,
        )


FIELDS = {"local_compute": "local_compute_fn", "inner_wrapper": "inner_wrapper", "module_replacement": "replace_module"}


def _advice(mark: str, marks: frozenset[str]) -> str:
    if marks:
        return f"inject it through `{FIELDS[min(marks)]}`, or name a function that carries `@{mark}`"
    return f"decorate it with `@{mark}` from hyper_parallel.distributed"
