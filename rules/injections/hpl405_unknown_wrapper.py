"""HPL405 unknown-wrapper: an inner_wrapper name that the wrapper registry lacks (R96)."""

from collections.abc import Iterator

from hplint.rule import (
    Case,
    Finding,
    Proposal,
    Target,
    injections,
    listing,
    near,
    on_injection,
    quote,
    remove_injection,
    rename_to_one,
    rewrite,
    wrapper_names,
)

RULE = on_injection("HPL405", "unknown-wrapper")


def check(case: Case) -> Iterator[Finding]:
    for injection in injections(case, "inner_wrapper"):
        if isinstance(injection.value, Target):
            continue
        name, known = injection.path.value, wrapper_names(case)
        if name in known:
            continue
        meant = near(name, known)
        fixes: tuple[Proposal, ...]
        if "." in name:
            fixes = (rewrite(injection.path.span, name, {"_target_": name}),)
            advice = f"write a function of your own as a mapping: inner_wrapper: {{_target_: {name}}}"
        elif meant:
            fixes = rename_to_one([injection.path.span], name, meant)
            advice = f"did you mean {listing(meant, 'or')}?"
        else:
            fixes = remove_injection(injection.entry, "inner_wrapper")
            advice = f"registered are {listing(known, most=12)}; a function of your own is written with `_target_`"
        yield Finding(
            injection.path.span,
            f"{quote(name)} is not a registered wrapper: the runtime refuses the boundary",
            advice,
            injection.entry,
            None,
            "inner_wrapper",
            fixes=fixes,
            severity=injection.severity,
        )
