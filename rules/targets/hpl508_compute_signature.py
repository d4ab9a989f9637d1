"""HPL508 compute-signature: the compute function of a factory, against the module's forward (R85-R90, S26), and a
shipped factory against the module's children (R170)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hplint.rule import (
    Boundary,
    Case,
    Finding,
    Injection,
    Module,
    ModuleTree,
    Proposal,
    injections,
    listing,
    narrow_injection,
    on_injection,
    quote,
    remove_injection,
    replacements,
)

RULE = on_injection("HPL508", "compute-signature")
ANY_KEYWORD = "declare every input of the forward that callers pass; keywords beyond those cannot be taken"
"""The advice where nothing is wrong as long as callers pass no further keywords."""


def check(case: Case) -> Iterator[Finding]:
    tree = case.tree
    if tree is None or not tree.has_classes:
        return
    for injection in injections(case, "local_compute_fn"):
        marks = injection.reading.marks if injection.reading else None
        if injection.reading is None or (marks is not None and injection.mark not in marks):
            continue  # HPL504: it may not be a factory at all.
        returned = injection.reading.returned
        needs = injection.shipped.needs_children if injection.shipped else ()
        if not returned and not needs:
            continue
        found = list(_of_injection(case, tree, injection, returned, needs))
        fixes = _fixes(case, injection, {f.module for f in found if f.module is not None and f.help != ANY_KEYWORD})
        yield from (replace(f, fixes=() if f.help == ANY_KEYWORD else fixes) for f in found)


def _of_injection(
    case: Case, tree: ModuleTree, injection: Injection, returned: tuple[Any, ...], needs: tuple[str, ...]
) -> Iterator[Finding]:
    replaced = {n for _, _, names in replacements(case) for n in names}
    for boundary in injection.boundaries:
        module = tree.modules.get(boundary.fqn)
        if module is None or module.forward is None or boundary.fqn in replaced:
            continue
        if lacks := [n for n in needs if n not in (*tree.children(boundary.fqn), *module.parameters)]:
            yield _without(injection, module, lacks)
        elif returned and not _changed_before(case, boundary):
            yield from _compare(injection, module, returned)


def _fixes(case: Case, injection: Injection, wrong: set[str]) -> tuple[Proposal, ...]:
    """Inject into the modules that it fits, or nowhere."""
    field, right = "local_compute_fn", [b.fqn for b in injection.boundaries if b.fqn not in wrong]
    narrowed = narrow_injection(injection.entry, field, right) if right else ()
    return (*narrowed, *remove_injection(injection.entry, field), *_everywhere(case, wrong))


def _everywhere(case: Case, wrong: set[str]) -> tuple[Proposal, ...]:
    """The same for all entries that inject something there: what an earlier one injects would count again, and may fit
    no better."""
    field, count = "local_compute_fn", 0
    changes: list[Any] = []
    for injection in injections(case, field):
        hits = case.resolved.hits.get(injection.entry.index) if case.resolved else None
        landed = (*hits.merged, *hits.inserted) if hits else ()
        if wrong.isdisjoint(landed):
            continue
        right = [fqn for fqn in landed if fqn not in wrong]
        fix = narrow_injection(injection.entry, field, right) if right else remove_injection(injection.entry, field)
        if not fix:
            return ()
        changes += fix[0].changes
        count += 1
    title = f"inject nothing into {listing(sorted(wrong), most=3)}, in {count} entries"
    return (Proposal(title, tuple(changes)),) if count > 1 else ()


def _without(injection: Injection, module: Module, lacks: list[str]) -> Finding:
    # A warning: what is known of shipped functions comes from a table, and versions drift.
    name = quote(injection.path.value.rpartition(".")[2])
    owner = quote(module.cls.short) if module.cls else "the module"
    message = (
        f"{name} computes with {listing(lacks, 'and')}, which {owner} does not have: applying the plan stops there"
    )
    advice = "narrow the match to the modules that hold experts, or choose the function that fits this class"
    return Finding(
        injection.path.span, message, advice, injection.entry, module.fqn, "local_compute_fn", severity="warning"
    )


def _changed_before(case: Case, boundary: Boundary) -> bool:
    """Whether a wrapper may have changed the forward before the function is installed."""
    return boundary.inner_wrapper is not None or not case.is_settled(boundary, "inner_wrapper", "local_compute_fn")


def _compare(injection: Injection, module: Module, returned: tuple[Any, ...]) -> Iterator[Finding]:
    faults = [_fault(r, module) for r in returned]
    unknown = any(r.signature is None and not r.value for r in returned)
    if wrong := [f for f in faults if f]:
        certain = len(wrong) == len(faults) and not unknown
        yield _finding(injection, module, wrong[0], None if certain else "warning")
    elif not unknown and any(p.kind == "var_keyword" for p in module.forward or ()):
        name = returned[0].signature.name
        does = f"{quote(name)} takes no further keywords, but {_spell(module)} does: a call that passes one fails"
        yield _finding(injection, module, does, "warning", ANY_KEYWORD)


def _fault(returned: Any, module: Module) -> str:
    """What is wrong with one function that the factory may return; "" where nothing is, or nothing can be said."""
    if returned.value:
        return f"the factory returns {quote(returned.value)} in line {returned.line}, not a function"
    signature, forward = returned.signature, module.forward or ()
    if signature is None:
        return ""
    name, own = quote(signature.name), signature.parameters
    for kind, stars in (("var_positional", "*"), ("var_keyword", "**")):
        if star := signature.of_kind(kind):
            return f"{name} takes `{stars}{star.name}`: the runtime cannot bind the inputs of {_spell(module)}"
    if not own:
        return f"{name} takes no parameter, but the module and the inputs of {_spell(module)} are passed to it"
    taken = [p.name for p in own[1:]]
    names = [p.name for p in forward if not p.kind.startswith("var_")]
    if extra := [n for n in taken if n not in names]:
        return f"{name} takes {listing(extra)}, which {_spell(module)} does not have"
    if lacks := [p.name for p in forward if p.required and p.name not in taken and not p.kind.startswith("var_")]:
        return f"{name} does not take {listing(lacks)}, which {_spell(module)} requires"
    here = [p.name for p in own[1:] if p.kind.startswith("positional")]
    there = [p.name for p in forward if p.kind.startswith("positional")]
    if here != [n for n in there if n in here]:
        return f"{name} takes {listing(here)} by position, but in another order than {_spell(module)}"
    return ""


def _spell(module: Module) -> str:
    names = [p.name for p in module.forward or () if not p.kind.startswith("var_")]
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    return f"`{module.cls.short if module.cls else 'module'}.forward({shown})`"


def _finding(injection: Injection, module: Module, fault: str, severity: str | None, advice: str = "") -> Finding:
    names = [p.name for p in module.forward or () if p.required and not p.kind.startswith("var_")]
    return Finding(
        injection.path.span,
        fault if severity or "not a function" in fault else f"{fault}: the runtime refuses it",
        advice or f"declare the inputs as {listing(('module', *names))}, by the names of the forward and in its order",
        injection.entry,
        module.fqn,
        "local_compute_fn",
        severity=severity or injection.severity,
    )
