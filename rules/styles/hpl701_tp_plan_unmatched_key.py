"""HPL701 tp-plan-unmatched-key: a key of a tp_plan that names nothing, so that nothing is cut (K1, L1)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Proposal, listing, plural, quote, rename
from hplint.style_rule import KeyIndex, StyleEntry, TpMiss, family_words, on_styles, slips

RULE = on_styles("HPL701", "tp-plan-unmatched-key", "error", "tp_plan")

_WHY = {
    "number": "the library writes `*` for the numbers in names, so that a key with a number never matches",
    "pattern": "keys are no patterns: the library writes `*` for numbers, and looks the result up as it stands",
    "wrapper": "plans are applied before a model is wrapped or compiled, when names have no such part",
    "adapter": "an adapter wraps the layer, and its weights stand below `base_layer`",
    "tied": "it is one tensor with another one, whose name alone counts",
    "suffix": "the module has no such parameter",
}


def check(case: Case) -> Iterator[Finding]:
    if case.styles is None or case.tree is None or case.plan.carrier is None:
        return
    if case.plan.carrier.kind == "builtin":
        if case.plan.carrier.section != "pp":
            yield from _dead(case)
        return
    if case.styles.guessed and not any(case.styles.hits.get(e.index) for e in case.plan.styles):
        yield _of_another_model(case)
        return
    proposed: set[str] = set()
    for slip in slips(case.plan, case.tree, case.styles):
        finding = _finding(case, slip.entry, slip.miss, slip.keys)
        if not proposed.isdisjoint(slip.miss.meant):
            finding.fixes = ()  # Two keys would become one.
        proposed.update(slip.miss.meant)
        yield finding


def _of_another_model(case: Case) -> Finding:
    """A plan of a class that the model has nothing of, and of which no key names anything."""
    assert case.tree is not None and case.plan.carrier is not None
    owner = case.plan.carrier.owner
    of = f" of {quote(owner)}" if owner else ""
    name = quote(case.tree.class_name or "the model")
    return Finding(
        case.plan.anchor,
        f"no key of this plan{of} names anything in {name}: it is taken for the plan of another model, and nothing "
        "of it is checked",
        "name the model that it is for with --model, or in a directive",
        severity="info",
    )


def _finding(case: Case, entry: StyleEntry, missed: TpMiss, index: KeyIndex) -> Finding:
    assert entry.key is not None and case.plan.carrier is not None
    key, carrier = entry.key.value, case.plan.carrier
    name = f"{carrier.section}_plan"
    if carrier.kind == "argument" and carrier.section != "pp":
        after, severity = "the library stops with ValueError before any weight is loaded", None
    elif carrier.section == "pp":
        after, severity = "whoever splits the model into stages by it finds no such part", "warning"
    else:
        after, severity = "the library logs one warning, goes on, and cuts nothing there", "warning"
    if entry.conditional or entry.glob:
        severity = "warning"
    reason = _WHY.get(missed.why) or _reason(missed, index)
    message = f"the key {quote(key)} of the {name} names nothing: {reason}; {after}"
    return Finding(
        entry.key.span, message, _advice(case, key, missed, index), entry,
        fixes=_fixes(entry, key, missed), severity=severity,
    )  # fmt: skip


def _reason(missed: TpMiss, index: KeyIndex) -> str:
    if missed.why == "outside":
        return f"keys of this plan count from {quote(index.root)}, and it stands outside"
    where = f"below {quote(missed.reached)}" if missed.reached else "in the model"
    return f"there is no {quote(missed.segment)} {where}"


def _advice(case: Case, key: str, missed: TpMiss, index: KeyIndex) -> str:
    assert case.plan.carrier is not None
    counted = f" Keys of this plan count from {quote(index.root)}." if index.root and missed.why == "prefix" else ""
    if missed.meant:
        return f"did you mean {listing(missed.meant, 'or')}?{counted}"
    if missed.why == "outside":
        return f"it belongs in the `_{case.plan.carrier.section}_plan` of the model's class"
    return f"what stands there: {listing(missed.names)}" if missed.names else "the module there holds nothing"


def _fixes(entry: StyleEntry, key: str, missed: TpMiss) -> tuple[Proposal, ...]:
    if entry.key is None or entry.glob or entry.shipped or len(missed.meant) != 1:
        return ()
    return (rename(entry.key.span, key, missed.meant[0], safe=missed.why not in ("inner", "suffix")),)


def _dead(case: Case) -> Iterator[Finding]:
    """Rules of a shipped plan that no config of the family can use."""
    assert case.styles is not None and case.tree is not None
    words = family_words(case.tree)
    if words is None or not case.styles.unmatched:
        return
    index, taken = KeyIndex(case.tree), [e.key.value for e in case.plan.styles if e.key]
    for entry in case.styles.unmatched:
        if entry.key is None:
            continue
        gone = [p for p in entry.key.value.split(".") if p not in words]
        missed = index.miss(entry.key.value, taken)
        if gone:
            why = f"no class of this family has {listing(gone, 'or')}"
            advice = f"look for {plural(len(gone), 'part')} of it that was renamed"
        elif missed.sure and missed.meant:
            why = _WHY.get(missed.why) or _reason(missed, index)
            advice = f"{listing(missed.meant, 'or')} is there, and has no rule"
        else:
            continue  # Another config of the family may use it.
        yield Finding(
            entry.key.span,
            f"the rule {quote(entry.key.value)} is dead: {why}; what it was meant for stays whole on every rank",
            advice,
            entry,
            severity="warning",
        )
