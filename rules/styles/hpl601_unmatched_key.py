"""HPL601 unmatched-key: a key of a parallelize_module plan that names no module, so that nothing is cut (K1)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, ModuleTree, Related, Span, is_slip, listing, near, one_near, quote, rename_to_one
from hplint.style_rule import Miss, StyleEntry, key_miss, on_styles

RULE = on_styles("HPL601", "unmatched-key", "error", "torch")

WRAPPERS = ("_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module", "module")
PREFIXES = ("model", "language_model", "transformer", "module", "backbone", "base_model.model")
_AFTER = "torch warns, skips the key and leaves what was meant unsharded"


def check(case: Case) -> Iterator[Finding]:
    if case.styles is None or case.tree is None:
        return
    lost = {id(e.applied) for e in case.plan.styles if e.key and case.styles.hits.get(e.index)}
    for entry in case.styles.unmatched:
        roots = case.styles.roots.get(entry.index, ())
        missed = key_miss(case.tree, roots, entry.key.value) if entry.key and roots else None
        if missed is None:
            continue
        if entry.index in case.styles.guessed and id(entry.applied) not in lost:
            continue  # Where the plan belongs is not known at all.
        meant = _meant(case, entry, roots, missed)
        if (entry.conditional or entry.glob) and not meant:
            continue  # A branch for other models, or a name that is put together at run time.
        yield _finding(case, entry, missed, meant)
    yield from _misplaced(case)
    yield from _wrapped(case)


def _finding(case: Case, entry: StyleEntry, missed: Miss, meant: list[str]) -> Finding:
    assert entry.key is not None
    key = entry.key.value
    where = f" below {quote(missed.reached[0])}" if missed.reached[:1] not in ((), ("",)) else ""
    what = "nothing" if len(missed.segment) == len(key) else f"nothing: there is no {quote(missed.segment)}"
    message = f"the key {quote(key)} matches {what}{where}; {_AFTER}"
    if meant:
        advice = f"did you mean {listing(meant, 'or')}?"
    else:
        advice = f"there are {listing(missed.names)}" if missed.names else "the modules there have no children"
    severity = "warning" if entry.conditional or entry.glob else None
    fixes = () if entry.glob else rename_to_one([entry.key.span], key, meant)
    return Finding(entry.key.span, message, advice, entry, fixes=fixes, severity=severity)


def _meant(case: Case, entry: StyleEntry, roots: tuple[str, ...], missed: Miss) -> list[str]:
    """Keys that would match and that this one may stand for: without or with a prefix, or spelled otherwise. Not those
    that the plan has beside it."""
    assert entry.key is not None and case.tree is not None
    tree, taken = case.tree, {e.key.value for e in case.plan.styles if e.key and e.applied is entry.applied}
    parts = entry.key.value.split(".")
    shorter = [".".join(p for p in parts if p not in WRAPPERS)]
    shorter += [".".join(parts[n:]) for n in range(1, min(len(parts), 4))]
    longer = [".".join((prefix, *parts)) for prefix in PREFIXES] + [f"{entry.key.value}.base_layer"]
    for candidate in (*shorter, *longer):
        if candidate and candidate not in taken and key_miss(tree, roots, candidate) is None:
            return [candidate]
    at = _position(tree, parts, roots)
    clear = one_near(missed.segment, missed.names)
    names = [clear] if clear else [n for n in near(missed.segment, missed.names) if is_slip(missed.segment, n)]
    spelled = [".".join((*parts[:at], name, *parts[at + 1 :])) for name in names]
    return [s for s in spelled if s not in taken and key_miss(tree, roots, s) is None]


def _position(tree: ModuleTree, parts: list[str], roots: tuple[str, ...]) -> int:
    """Which of the parts leads nowhere."""
    return next((i for i in range(len(parts)) if key_miss(tree, roots, ".".join(parts[: i + 1]))), len(parts) - 1)


def _misplaced(case: Case) -> Iterator[Finding]:
    """A plan for the model whose keys all count from an inner module."""
    assert case.styles is not None
    told: set[int] = set()
    for entry in case.plan.styles:
        if entry.key is None or entry.applied is None or entry.applied.steps or id(entry.applied) in told:
            continue
        inner = case.styles.roots.get(entry.index, ())
        if entry.index not in case.styles.guessed or entry.applied.variable != "model" or not any(inner):
            continue
        if len(inner) > 1 and not entry.key.value.startswith("*"):
            continue  # A function for blocks that calls each of them a model.
        told.add(id(entry.applied))
        name = quote(entry.applied.variable)
        yield Finding(
            entry.key.span,
            f"the keys of this plan count from {quote(inner[0])}, and no key matches from the root: where {name} is "
            f"the whole model, {_AFTER}",
            f"write {quote(inner[0] + '.' + entry.key.value)}, or apply the plan to {quote(inner[0])}",
            entry,
            severity="warning",
        )


def _wrapped(case: Case) -> Iterator[Finding]:
    """Modules that were wrapped before: their paths have gained a segment."""
    told: set[Span] = set()
    for entry in case.plan.styles:
        if entry.applied is None or entry.key is None or not entry.key.value:
            continue
        steps = (*entry.applied.steps, *entry.key.value.split("."))
        for earlier in entry.applied.before:
            if earlier.kind == "fully_shard" or earlier.span in told or not _leads_through(earlier.steps, steps):
                continue
            told.add(earlier.span)
            segment = "_orig_mod" if earlier.kind == "compile" else "_checkpoint_wrapped_module"
            yield Finding(
                entry.applied.span,
                f"the key {quote(entry.key.value)}, say, matches nothing: {quote(earlier.kind)} came before, and the "
                f"path has gained {quote(segment)}; {_AFTER}",
                f"apply the plan first, then wrap; or write {quote(segment)} into the keys",
                entry,
                related=(Related("wrapped here", earlier.span),),
            )


def _leads_through(wrapped: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    """Whether a path goes on below a wrapped module."""
    if len(wrapped) >= len(steps) or "_orig_mod" in steps or "_checkpoint_wrapped_module" in steps:
        return False
    return all(a == b or "*" in (a, b) for a, b in zip(wrapped, steps, strict=False))
