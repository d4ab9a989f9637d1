"""What may stand at the cursor: names of the model, of the mesh and of the plan's own language."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lsprotocol import types

from hplint.front.keys import ACCELERATOR_KEYS, ENTRY_KEYS, FIRST_INPUT, SENTINELS, YAML, entry_keys
from hplint.ide.lsp.cursor import Cursor, cursor_at
from hplint.ide.lsp.desk import Sheet
from hplint.ide.lsp.hover import AXES
from hplint.ide.lsp.style_completion import StyleOffers
from hplint.ide.schema_names import fold
from hplint.lint.request import CheckedPlan
from hplint.model.tree import ModuleTree
from hplint.plan.layout import CONTRACT_FIELDS
from hplint.plan.pattern import is_glob
from hplint.resolve.match import Matcher
from hplint.resolve.topology import CANONICAL_AXES, WHEN_WORDS
from hplint.targets.shipped import REGISTRY

Kind = types.CompletionItemKind
_DIRECTIVES = ("model", "mesh", "ep", "sequence_parallel", "loss_parallel", "derive", "src", "seq_len")
_NUMBERS = 12
"""Layer numbers that are offered beside the star."""


class Offer(NamedTuple):
    """One thing that may stand there."""

    text: str
    kind: Kind
    detail: str = ""


def completions(
    sheet: Sheet, plans: Sequence[CheckedPlan], offset: int, encoding: str
) -> list[types.CompletionItem]:  # fmt: skip
    """Everything that may stand at an offset of a YAML plan, each replacing the word that is typed there. ``plans`` are
    what is known of the text, as :meth:`Desk.known` tells it."""
    cursor = cursor_at(sheet.source.text, offset)
    names = [r.code for r in sheet.session.engine.registry.rules.values()] if sheet.session else []
    offers = _offers(cursor, plans[0] if plans else None, names)
    return _items(sheet, offers, cursor.start, offset, encoding)


def style_completions(sheet: Sheet, found: StyleOffers, offset: int, encoding: str) -> list[types.CompletionItem]:
    """The same in a plan of styles."""
    kind = Kind.Module if found.is_key else Kind.Value
    offers = (Offer(text, kind, detail) for text, detail in found.offers)
    return _items(sheet, offers, found.start, offset, encoding)


def _items(
    sheet: Sheet, offers: Iterable[Offer], start: int, offset: int, encoding: str
) -> list[types.CompletionItem]:  # fmt: skip
    positions = sheet.positions(encoding)
    place = types.Range(positions.position(start), positions.position(offset))
    return [
        types.CompletionItem(
            label=offer.text,
            kind=offer.kind,
            detail=offer.detail or None,
            sort_text=f"{number:05}",
            filter_text=offer.text,
            text_edit=types.TextEdit(place, offer.text),
        )
        for number, offer in enumerate(offers)
    ]


def _offers(cursor: Cursor, checked: CheckedPlan | None, codes: list[str]) -> Iterator[Offer]:
    if cursor.on == "comment":
        yield from (Offer(code, Kind.Constant) for code in codes)
        yield from (Offer(f"{word}=", Kind.Keyword) for word in _DIRECTIVES)
        return
    tree = checked.tree if checked else None
    match cursor.path, cursor.on:
        case (("accelerator",), "key"):
            yield from (Offer(k.name, Kind.Property, k.doc) for k in ACCELERATOR_KEYS.values())
        case ((), "key"):
            names = (n for n in entry_keys(YAML) if n not in cursor.others)
            yield from (Offer(n, Kind.Property, ENTRY_KEYS[n].doc) for n in names)
        case (("match",), _) if tree:
            yield from _modules(cursor.typed, tree)
        case ((field,), "value"):
            yield from _values(field, cursor, checked)
        case ((field,), "key") if field in (*CONTRACT_FIELDS, "inner_out_src"):
            yield from _tensors(field, cursor, checked)
            if field.startswith("out") or field == "inner_out_src":
                yield from _axes(checked)
        case ((field, _), "key") if field in (*CONTRACT_FIELDS, "inner_out_src"):
            yield from _axes(checked)
        case ((field, *rest), "value") if field in (*CONTRACT_FIELDS, "inner_out_src"):
            yield from _placements(field, rest, cursor, checked)


def _values(field: str, cursor: Cursor, checked: CheckedPlan | None) -> Iterator[Offer]:
    words: Iterable[str] = ()
    if field in CONTRACT_FIELDS:
        words = SENTINELS
    elif field == "when":
        words = WHEN_WORDS
    elif field in ENTRY_KEYS and ENTRY_KEYS[field].kind == "bool":
        words = ("true", "false")
    elif field == "inner_wrapper":
        words = REGISTRY
    elif field == "inner_out_src":
        words = (FIRST_INPUT,)
    elif field == "inner_target":
        words = ("self", *_children(cursor, checked))
    elif field == "module_type" and checked and checked.tree:
        words = [cls.name for cls in checked.tree.classes]
    yield from (Offer(word, Kind.Value) for word in words)


def _hits(cursor: Cursor, checked: CheckedPlan | None) -> list[str]:
    """The modules of the entry around the cursor."""
    tree = checked.tree if checked else None
    if tree is None or cursor.match is None:
        return []
    if not is_glob(cursor.match):
        return [cursor.match] if cursor.match in tree.modules else []
    return list(Matcher(tree).hits(cursor.match))


def _children(cursor: Cursor, checked: CheckedPlan | None) -> list[str]:
    tree = checked.tree if checked else None
    if tree is None:
        return []
    names = (name for fqn in _hits(cursor, checked) for name in tree.children(fqn))
    return list(dict.fromkeys(names))


def _tensors(field: str, cursor: Cursor, checked: CheckedPlan | None) -> Iterator[Offer]:
    tree = checked.tree if checked else None
    found = _hits(cursor, checked)
    if tree is None:
        return
    if field == "params":
        seen: dict[str, str] = {}
        for fqn in found:
            prefix = f"{fqn}." if fqn else ""
            for below in _below(fqn, tree):
                for name, tensor in tree.modules[below].parameters.items():
                    path = f"{below}.{name}"[len(prefix) :] if below else name
                    seen.setdefault(path, f"{' x '.join(map(str, tensor.shape))} {tensor.dtype}")
        shapes = fold(seen)
        names = [n for shape in shapes for n in (shape.names[:_NUMBERS] if shape.is_folded else shape.names)]
        yield from (Offer(name, Kind.Field, seen[name]) for name in names)
    elif field.startswith("in_"):
        forwards = (tree.modules[fqn].forward or () for fqn in found)
        inputs = dict.fromkeys(p.name for forward in forwards for p in forward if not p.kind.startswith("var_"))
        yield from (Offer(name, Kind.Variable) for name in inputs)
    else:
        yield Offer("output", Kind.Variable)


def _below(fqn: str, tree: ModuleTree) -> Iterator[str]:
    stack = [(fqn, tree.modules[fqn].node)]
    while stack:
        name, node = stack.pop()
        yield name
        stack.extend((f"{name}.{c}" if name else c, tree.nodes[n]) for c, n in reversed(node.children))


def _axes(checked: CheckedPlan | None) -> Iterator[Offer]:
    active = checked.topology.active_axes if checked else ()
    mesh = tuple(checked.topology.mesh) if checked else ()
    for axis in dict.fromkeys((*active, "tp", "cp", "ep", *mesh, *CANONICAL_AXES)):
        size = checked.topology.size(axis) if checked else None
        doc = AXES.get(axis, "")
        yield Offer(axis, Kind.EnumMember, f"size {size}; {doc}".rstrip("; ") if size else doc)


def _placements(field: str, rest: list[str], cursor: Cursor, checked: CheckedPlan | None) -> Iterator[Offer]:
    dims = 3
    if field == "params" and checked and checked.tree and rest:
        shapes = [
            t.shape
            for fqn in _hits(cursor, checked)
            if (t := checked.tree.parameters.get(f"{fqn}.{rest[0]}" if fqn else rest[0]))
        ]
        dims = max(map(len, shapes), default=2)
    yield from (Offer(f"shard({dim})", Kind.Value) for dim in range(dims))
    yield Offer("replicate", Kind.Value)
    if field != "params":
        yield Offer("partial", Kind.Value)


def _modules(typed: str, tree: ModuleTree) -> Iterator[Offer]:
    """The next segment of a module path; equal layers are a star first. At the start, the usual globs too."""
    head, dot, _ = typed.rpartition(".")
    parents = [""] if not dot else [head] if head in tree.modules else []
    if dot and not parents and is_glob(head):
        parents = list(Matcher(tree).hits(head))
    if not dot:
        yield from _globs(tree)
    prefix = f"{head}." if dot else ""
    names: dict[str, str] = {}
    for parent in parents:
        for name in tree.children(parent):
            module = tree.modules.get(f"{parent}.{name}" if parent else name)
            names.setdefault(name, module.cls.short if module and module.cls else "")
    numbers = [n for n in names if n.isdecimal()]
    if len(numbers) > 1:
        yield Offer(f"{prefix}*", Kind.Module, f"all {len(numbers)}")
    for name in (*(n for n in names if not n.isdecimal()), *numbers[:_NUMBERS]):
        yield Offer(f"{prefix}{name}", Kind.Module, names[name])


def _globs(tree: ModuleTree) -> Iterator[Offer]:
    """``*.mlp`` for names that many modules have."""
    counts: dict[str, int] = {}
    for fqn in tree.modules:
        last = fqn.rpartition(".")[2]
        if last and not last.isdecimal():
            counts[last] = counts.get(last, 0) + 1
    often = sorted((n for n, c in counts.items() if c > 1), key=lambda n: (-counts[n], n))
    yield from (Offer(f"*.{name}", Kind.Module, f"{counts[name]:,} modules") for name in often[:40])
