"""HPL507 missing-target-keyword: a required keyword that is not configured."""

from collections.abc import Iterator

from hplint.rule import AddItem, Case, Finding, Injection, Proposal, Target, injections, listing, on_injection, quote

RULE = on_injection("HPL507", "missing-target-keyword")


def check(case: Case) -> Iterator[Finding]:
    for injection in injections(case):
        signatures = injection.reading.signatures if injection.reading else ()
        if not signatures or not isinstance(injection.value, Target):
            continue
        if injection.other_marks:
            continue  # HPL504 says that it is made for another field, which hands it other things.
        given = {*injection.value.keywords, *injection.all_context, *injection.foreign_context}
        missing = [
            p.name
            for p in signatures[0].parameters
            if p.named and p.name not in given and all(s.requires(p.name) for s in signatures)
        ]
        if missing:
            place = f" ({signatures[0].place})" if signatures[0].place else ""
            noun = "parameter" if len(missing) == 1 else "parameters"
            yield Finding(
                injection.path.span,
                f"{quote(signatures[0].name)}{place} needs the {noun} {listing(missing)}, which "
                f"{'is' if len(missing) == 1 else 'are'} not configured: the runtime cannot call it",
                f"add {listing(f'{n}: …' for n in missing)} beside `_target_`",
                injection.entry,
                None,
                injection.field,
                fixes=(_fix(injection, missing),),
                severity="warning" if signatures[0].shipped else injection.severity,
            )


def _fix(injection: Injection, missing: list[str]) -> Proposal:
    """Values that fit, for want of the right ones."""
    reading = injection.reading
    assert reading is not None
    signature = reading.signatures[0]
    declared = [p for n in missing if (p := signature.parameter(n))]
    changes = tuple(AddItem(injection.entry, injection.field, p.name, reading.example(signature, p)) for p in declared)
    return Proposal(f"add {listing(missing)}, with values that must be looked over", changes)
