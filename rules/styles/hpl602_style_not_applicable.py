"""HPL602 style-not-applicable: a style on a module that it cannot cut, and styles that torch does not have (K4)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, listing, near, quote
from hplint.style_rule import (
    COLWISE,
    KNOWN,
    ROWWISE,
    SEQUENCE,
    StyleEntry,
    children,
    is_embedding,
    is_linear,
    on_styles,
)

RULE = on_styles("HPL602", "style-not-applicable", "error", "torch")


def check(case: Case) -> Iterator[Finding]:
    for entry in case.plan.styles:
        if entry.style and not entry.style.base and entry.style.name not in KNOWN and not entry.style.open:
            yield from _unknown(entry)
    if case.styles is None or case.tree is None or not case.tree.has_classes:
        return
    for entry in case.plan.styles:
        if entry.style is None or entry.style.kind not in (COLWISE, ROWWISE, SEQUENCE):
            continue
        for fqn in case.styles.hits.get(entry.index, ()):
            yield from _on_module(case, entry, fqn)


def _unknown(entry: StyleEntry) -> Iterator[Finding]:
    assert entry.style is not None
    if names := near(entry.style.name, KNOWN):
        yield Finding(
            entry.style.span,
            f"torch has no style {quote(entry.style.name)}: the import fails",
            f"did you mean {listing(names, 'or')}?",
            entry,
            severity="warning",
        )


def _on_module(case: Case, entry: StyleEntry, fqn: str) -> Iterator[Finding]:
    assert case.tree is not None and entry.style is not None
    module = case.tree.modules[fqn]
    if module.cls is None:
        return
    cuttable = is_linear(module) or is_embedding(module)
    style, place = entry.style, entry.key.span if entry.key else entry.span
    if style.kind == SEQUENCE:
        if cuttable:
            yield Finding(
                style.span,
                f"{quote(style.name)} on a {quote(module.cls.short)}: it is meant for norms and dropout; the weight "
                "stays whole on every rank",
                f"cut it by {quote(COLWISE)} or {quote(ROWWISE)}, or leave it out of the plan",
                entry,
                fqn,
                severity="warning",
            )
        return
    if cuttable:
        return
    below = children(case.tree, fqn)
    if "base_layer" in below:
        advice = "an adapter wraps the layer: the base layer and the adapter must be cut together, which no style does"
    elif cut := [n for n, full in below.items() if is_linear(case.tree.modules[full])]:
        advice = f"name what it holds: {listing(cut)}"
    else:
        advice = "cut a Linear or an Embedding, or write a style of your own for this class"
    yield Finding(
        place,
        f"{quote(style.name)} cuts nn.Linear and nn.Embedding only, and this is a {quote(module.cls.short)}: torch "
        "stops with NotImplementedError",
        advice,
        entry,
        fqn,
        severity="warning" if style.base or entry.conditional else None,
    )
