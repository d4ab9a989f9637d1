"""HPL509 recursive-compute: the compute function calls module(...) or module.forward (S25)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, injections, on_injection, quote

RULE = on_injection("HPL509", "recursive-compute")


def check(case: Case) -> Iterator[Finding]:
    for injection in injections(case, "local_compute_fn"):
        found = injection.reading.calls_itself() if injection.reading else None
        if found:
            signature, line = found
            yield Finding(
                injection.path.span,
                f"{quote(signature.name)} ({signature.place}) calls the module itself in line {line}: its forward is "
                "this function by then, so the call never ends",
                "call the module's children and parameters instead",
                injection.entry,
                None,
                "local_compute_fn",
                severity=injection.severity,
            )
