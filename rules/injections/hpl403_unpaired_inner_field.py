"""HPL403 unpaired-inner-field: inner_target without inner_wrapper, or the reverse (R144, R145)."""

from collections.abc import Iterator

from hplint.rule import Case, Entry, Finding, on_injection, remove_injection, set_field

RULE = on_injection("HPL403", "unpaired-inner-field")

PAIR = ("inner_target", "inner_wrapper")


def check(case: Case) -> Iterator[Finding]:
    for here, other in (PAIR, PAIR[::-1]):
        if not case.resolved:
            if not any(other in e.keys for e in case.plan.entries):
                yield from (_finding(e, here, None) for e in case.plan.entries if getattr(e, here) is not None)
            continue
        for boundary in case.boundaries():
            if getattr(boundary, here) is None or getattr(boundary, other) is not None:
                continue
            entry = boundary.origin.get(here)
            if entry and case.is_settled(boundary, *PAIR):
                yield _finding(entry, here, boundary.fqn)


def _finding(entry: Entry, here: str, module: str | None) -> Finding:
    if here == "inner_wrapper":
        message = "`inner_wrapper` without `inner_target`: nothing says what it wraps, and the runtime refuses it"
        advice = "add `inner_target: self` to wrap the module itself, or name one of its direct children"
    else:
        message = "`inner_target` without `inner_wrapper`: there is nothing to wrap it with, and the runtime refuses it"
        advice = "add an `inner_wrapper`, or remove `inner_target`"
    fixes = remove_injection(entry, here)
    if here == "inner_wrapper":
        fixes = (set_field(entry, "inner_target", "self"), *fixes)
    return Finding(entry.keys[here], message, advice, entry, module, here, fixes=fixes)
