"""Plans of styles in the editor: what a key hits, what a word or style does, which names may follow."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from hplint.lint.request import CheckedPlan
from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan
from hplint.plan.style import TORCH, StyleEntry
from hplint.report.plan_show import topology_words
from hplint.resolve.styles.cuts import style_cuts
from hplint.resolve.styles.resolved import ResolvedStyles, resolve_styles
from hplint.resolve.torch.match import children, descend
from hplint.resolve.tp_plan.match import generic, names_of
from hplint.resolve.tp_plan.words import WORDS
from hplint.text.span import Span
from hplint.text.wording import plural

STYLES = {
    "ColwiseParallel": "output features cut (of an embedding: the hidden dim); by default the input is whole and each "
    "rank gives its slice of the output",
    "RowwiseParallel": "input features cut (of an embedding: the vocabulary); by default the input is the rank's slice "
    "and the outputs are summed",
    "SequenceParallel": "whole on every rank; works on the rank's part of the sequence",
    "PrepareModuleInput": "inputs are laid out before the forward",
    "PrepareModuleOutput": "outputs are laid out after the forward",
    "PrepareModuleInputOutput": "inputs are laid out before the forward, outputs after it",
}
"""What PyTorch's styles do."""
_FIRST = 5


class StylePlace(NamedTuple):
    """A key or a style of an entry. ``on`` is key or style; ``span`` marks the token without its quotes."""

    entry: StyleEntry
    on: str
    span: Span


def style_place(plan: Plan, offset: int) -> StylePlace | None:
    """The token of a plan of styles around an offset, one that ends there included."""
    for entry in plan.styles:
        for on, span in (("key", entry.key and entry.key.span), ("style", entry.style and entry.style.span)):
            if span and span.start <= offset <= span.end:
                return StylePlace(entry, on, _bare(plan.source.text, span))
    return None


def _bare(text: str, span: Span) -> Span:
    """A token without the quotes around it."""
    token = text[span.start : span.end]
    if len(token) > 1 and token[0] in "\"'" and token[-1] == token[0]:
        return Span(span.start + 1, span.end - 1)
    return span


def explain_style(place: StylePlace, checked: CheckedPlan) -> Iterator[str]:
    """Markdown paragraphs on a place."""
    if place.on == "style":
        style = place.entry.style
        word = WORDS.get(style.kind) if style else None
        doc = word.doc if word else STYLES.get(style.kind, "") if style else ""
        if style and doc:
            base = f" (a {style.base})" if style.base else ""
            yield f"**{style.name}**{base}: {doc}"
        return
    if checked.tree is None:
        yield "No model is known here, so what this hits cannot be told."
        return
    resolved = resolve_styles(checked.plan, checked.tree, checked.topology)
    found = resolved.hits.get(place.entry.index)
    if not found:
        yield "It hits nothing." if found is not None else "What it hits is known only at run time."
        return
    yield f"**{_counted(found, checked.tree)}** (with {topology_words(checked)})"
    yield f"{_classes(found, checked.tree)}: {_some(found)}"
    yield from _winner(place.entry, found[0], resolved, checked)
    yield from _cuts(found[0], resolved, checked)


def _counted(found: tuple[str, ...], tree: ModuleTree) -> str:
    return plural(len(found), "module" if found[0] in tree.modules else "parameter")


def _classes(found: tuple[str, ...], tree: ModuleTree) -> str:
    names = (m.cls.short if (m := tree.modules.get(f)) and m.cls else "" for f in found)
    counts = Counter(n for n in names if n)
    return ", ".join(f"{name} x{count}" if count > 1 else name for name, count in counts.most_common(_FIRST)) or "There"


def _some(found: tuple[str, ...]) -> str:
    more = f" and {len(found) - _FIRST:,} more" if len(found) > _FIRST else ""
    return ", ".join(f"`{f or '(root)'}`" for f in found[:_FIRST]) + more


def _winner(entry: StyleEntry, name: str, resolved: ResolvedStyles, checked: CheckedPlan) -> Iterator[str]:
    winner = resolved.winners.get(name)
    if winner is None or winner.index == entry.index or winner.key is None:
        return
    line = checked.plan.source.position(winner.span.start).line
    yield f"`{winner.key.value}` of line {line} counts there."


def _cuts(name: str, resolved: ResolvedStyles, checked: CheckedPlan) -> Iterator[str]:
    """The parameters of the first hit, as a table."""
    tree = checked.tree
    assert tree is not None
    rows = []
    for cut in style_cuts(checked.plan, tree, resolved):
        owner, _, own = cut.name.rpartition(".")
        if name not in (owner, cut.name):
            continue
        shape = " x ".join(map(str, cut.tensor.shape))
        layout = f"{cut.axis} shard({cut.dim})" if cut.dim is not None else "replicate"
        rows.append(f"| {own} | {shape} | {layout} |")
    if rows:
        yield "\n".join((f"`{name or '(root)'}`:", "", "| parameter | shape | layout |", "|---|---|---|", *rows))


def classes_of(place: StylePlace, checked: CheckedPlan) -> list[str]:
    """Dotted names of the classes of the modules that a key hits."""
    tree = checked.tree
    if tree is None or place.on != "key":
        return []
    hits = resolve_styles(checked.plan, tree, checked.topology).hits.get(place.entry.index, ())
    modules = (tree.modules.get(fqn) for fqn in hits)
    return list(dict.fromkeys(m.cls.name for m in modules if m and m.cls))


def further_names(place: StylePlace, typed: str, checked: CheckedPlan) -> Iterator[tuple[str, str]]:
    """The keys that may be meant by what is typed of one, each with the class that it leads to: one segment further."""
    tree = checked.tree
    if tree is None:
        return
    head, dot, _ = typed.rpartition(".")
    roots = resolve_styles(checked.plan, tree, checked.topology).roots.get(place.entry.index, ("",)) or ("",)
    below = _torch_names(tree, roots, head) if checked.plan.dialect == TORCH else _generic_names(tree, roots, head)
    for name, detail in below.items():
        yield f"{head}{dot}{name}", detail


def _torch_names(tree: ModuleTree, roots: tuple[str, ...], head: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for fqn in descend(tree, roots, head.split(".") if head else ()):
        for name, full in children(tree, fqn).items():
            cls = tree.modules[full].cls
            found.setdefault(name, cls.short if cls else "")
    numbers = [n for n in found if n.isdecimal()]
    return {"*": f"all {len(numbers)}", **found} if len(numbers) > 1 else found


def _generic_names(tree: ModuleTree, roots: tuple[str, ...], head: str) -> dict[str, str]:
    names = names_of(tree)
    prefixes = {".".join(p for p in (generic(root), head) if p) for root in roots}
    found: dict[str, str] = {}
    for kind in (names.modules, names.parameters):
        for full, hits in kind.items():
            owner, _, own = full.rpartition(".")
            if owner in prefixes:
                found.setdefault(own, _detail(tree, hits[0]))
    return found


def _detail(tree: ModuleTree, name: str) -> str:
    """The class of a module, the shape of a parameter."""
    if tensor := tree.parameters.get(name):
        return " x ".join(map(str, tensor.shape))
    cls = tree.modules[name].cls
    return cls.short if cls else ""
