"""What a token means: where a match lands, what a contract comes to, how large a parameter is on a rank."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from hplint.front.keys import ENTRY_KEYS, Key
from hplint.ide.lsp.desk import Sheet
from hplint.ide.lsp.place import Place, place_at
from hplint.ide.lsp.style_place import explain_style, style_place
from hplint.lint.registry import Registry
from hplint.lint.request import CheckedPlan
from hplint.model.tree import ModuleTree
from hplint.plan.entry import Entry
from hplint.report.communication import communications
from hplint.report.page import first_paragraph, section
from hplint.report.plan_show import topology_words
from hplint.resolve.memory import item_size, memory
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.show import to_json
from hplint.resolve.topology import Topology
from hplint.targets.shipped import find_shipped
from hplint.text.span import Span
from hplint.text.wording import plural

AXES = {
    "tp": "tensor parallel: weights are cut, activations gathered and reduced around them",
    "cp": "context parallel: the sequence is cut, attention sees all of it",
    "ep": "expert parallel: experts are spread over ranks, tokens go to them",
    "pp": "pipeline parallel: not the business of a plan",
    "dp": "data parallel: plans may not lay anything out on it",
}
PLACEMENTS = {
    "replicate": "every rank of the axis holds the whole tensor",
    "partial": "every rank holds a summand: the tensor is their sum",
    "shard": "every rank holds a slice along dim {dim}",
}
_FIRST = 5


def hover(sheet: Sheet, offset: int) -> tuple[str, Span] | None:
    """Markdown for what stands at an offset, and its place; None where nothing is to be said."""
    session = sheet.session
    if session and (told := _code(sheet, offset, session.engine.registry)):
        return told
    for checked in sheet.checked:
        if there := style_place(checked.plan, offset):
            return "\n\n".join(explain_style(there, checked)), there.span
        place = place_at(checked, offset)
        if place is not None and (text := "\n\n".join(filter(None, _words(place, checked)))):
            return text, place.span
    return None


def _code(sheet: Sheet, offset: int, registry: Registry) -> tuple[str, Span] | None:
    """The rule that a suppression names."""
    for written in sheet.document.suppressions if sheet.document else ():
        for word in written.words or ():
            rule = registry.get(word.value) if word.span.start <= offset <= word.span.end else None
            if rule is not None:
                page = registry.page(rule)
                parts = (first_paragraph(section(page, t)) for t in ("What it does", "Why is this bad"))
                return "\n\n".join((f"**{rule.code}** {rule.name}", *parts)), word.span
    return None


def _words(place: Place, checked: CheckedPlan) -> Iterator[str]:
    match place.kind:
        case "match":
            yield from _match(place.entry, checked)
        case "field":
            if key := ENTRY_KEYS.get(place.text):
                yield _key(key)
        case "axis":
            yield _axis(place.text, checked.topology)
        case "placement":
            kind, _, dim = place.text.rstrip(")").partition("(")
            yield f"`{place.text}` on {place.axis}: {PLACEMENTS.get(kind, '').format(dim=dim)}"
        case "tensor" if place.field == "params":
            yield _parameter(place, checked)
        case "tensor":
            yield _input(place, checked)
        case "when":
            state = "holds" if checked.topology.when_active(place.text) else "does not hold"
            yield f"`when: {place.text}` {state} with {topology_words(checked)}"
        case "wrapper" | "target":
            yield from _target(place, checked)


def _key(key: Key) -> str:
    return f"**{key.name}**: {key.doc}; {key.allowed}"


def _axis(axis: str, topology: Topology) -> str:
    size = topology.size(axis)
    if axis not in AXES and axis not in topology.mesh:
        return ""
    told = f"**{axis}**: {AXES.get(axis, 'an axis of the mesh')}"
    if size is None:
        return f"{told}; its size is not known here"
    return f"{told}; size {size}" + (
        "" if topology.is_active(axis) or axis == "ep" else ", so nothing is laid out on it"
    )


def _match(entry: Entry, checked: CheckedPlan) -> Iterator[str]:
    resolved, tree = checked.resolved, checked.tree
    if resolved is None or tree is None:
        yield "No model is known here, so what this hits cannot be told."
        return
    hits = resolved.hits.get(entry.index)
    if hits is None:
        when = f" (`when: {entry.when.value}` does not hold)" if entry.when else ""
        yield f"It lands nowhere with {topology_words(checked)}{when}."
        return
    found = (*hits.merged, *hits.inserted)
    if not found:
        yield "It hits no module."
        return
    ways = [f"merges into {len(hits.merged):,}"] if hits.merged else []
    ways += [f"inserts {len(hits.inserted):,}"] if hits.inserted else []
    yield f"**{plural(len(found), 'module')}**: {', '.join(ways)} (with {topology_words(checked)})"
    yield f"{_classes(found, tree)}: {_some(found)}"
    if others := _others(entry, found[0], checked):
        yield others
    yield _contract(found[0], resolved, tree, checked)


def _classes(found: Sequence[str], tree: ModuleTree) -> str:
    counts = Counter(m.cls.short if (m := tree.modules.get(f)) and m.cls else "unknown class" for f in found)
    return ", ".join(f"{name} x{count}" if count > 1 else name for name, count in counts.most_common(_FIRST))


def _some(found: Sequence[str]) -> str:
    more = f" and {len(found) - _FIRST:,} more" if len(found) > _FIRST else ""
    return ", ".join(f"`{f or '(root)'}`" for f in found[:_FIRST]) + more


def _others(entry: Entry, fqn: str, checked: CheckedPlan) -> str:
    boundary = checked.resolved.boundaries.get(fqn) if checked.resolved else None
    touched = {e.index: e for e in boundary.touched if e.index != entry.index} if boundary else {}
    source = checked.plan.source
    told = [f"line {source.position(e.span.start).line} (`{e.match.value}`)" for e in touched.values() if e.match]
    return f"`{fqn}` is also touched by {', '.join(told)}" if told else ""


def _contract(fqn: str, resolved: ResolvedPlan, tree: ModuleTree, checked: CheckedPlan) -> str:
    """The contract that one module ends up with, as a table."""
    boundary = resolved.boundaries.get(fqn)
    if boundary is None:
        return ""
    alone = replace(resolved, boundaries={fqn: boundary})
    shown = to_json(alone, tree, checked.topology, checked.plan)["boundaries"][fqn]
    rows = [("params", name, _spell(layout), "") for name, layout in (shown["params"] or {}).items()]
    for side in ("in", "out"):
        source, target = shown[f"{side}_src"] or {}, shown[f"{side}_dst"] or {}
        for name in dict.fromkeys((*source, *target)):
            before, after = source.get(name, {}), target.get(name, {})
            text = _spell(before) if before == after else f"{_spell(before)} → {_spell(after)}"
            rows.append((side, name, text, ", ".join(communications(before, after))))
    lines = [f"| {side} | {name} | {layout} | {sent} |" for side, name, layout, sent in rows]
    head = [f"`{fqn or '(root)'}`:", "", "| | tensor | layout | sends |", "|---|---|---|---|"]
    return "\n".join((*head, *lines)) if rows else ""


def _spell(layout: dict[str, str]) -> str:
    return ", ".join(f"{a} {p}" for a, p in layout.items()) or "replicate"


def _parameter(place: Place, checked: CheckedPlan) -> str:
    resolved, tree = checked.resolved, checked.tree
    hits = resolved.hits.get(place.entry.index) if resolved else None
    if resolved is None or tree is None or hits is None:
        return ""
    for fqn in (*hits.merged, *hits.inserted):
        name = f"{fqn}.{place.text}" if fqn else place.text
        tensor = tree.parameters.get(name)
        if tensor is None:
            continue
        shape = " x ".join(map(str, tensor.shape)) or "a scalar"
        told = f"**{place.text}**: {shape}, {tensor.dtype}, {_size(prod(tensor.shape) * item_size(tensor.dtype))}"
        local = next((p for p in memory(resolved, tree, checked.topology).parameters if p.name == name), None)
        if local and local.is_cut:
            told += f"; {_size(local.local)} on a rank ({', '.join(f'{a} cuts dim {d}' for a, d in local.cuts)})"
        return told
    return ""


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.4g} {unit}"


def _input(place: Place, checked: CheckedPlan) -> str:
    hits = checked.resolved.hits.get(place.entry.index) if checked.resolved else None
    if hits is None or checked.tree is None or not place.field.startswith("in"):
        return ""
    for fqn in (*hits.merged, *hits.inserted):
        module = checked.tree.modules.get(fqn)
        if module and module.cls and module.forward is not None:
            names = ", ".join(p.name if p.required else f"{p.name}=…" for p in module.forward)
            return f"`{module.cls.short}.forward({names})`"
    return ""


def _target(place: Place, checked: CheckedPlan) -> Iterator[str]:
    shipped = find_shipped(place.text)
    if checked.targets and place.kind == "target":
        from hplint.targets.find import Found

        found = checked.targets.find(place.text)
        if isinstance(found, Found) and found.definitions and found.definitions[0].node is not None:
            yield from _source(found.definitions[0])
            return
    if shipped is not None:
        options = ", ".join(f"{o.name}: {o.annotation}" for o in shipped.options)
        yield f"`{shipped.dotted}({options})`: shipped with HyperParallel"
        needs = [*shipped.needs_inputs] or (["its first three inputs as q, k, v"] if shipped.first_three else [])
        if needs:
            yield f"The wrapped forward needs {', '.join(f'`{n}`' if n.isidentifier() else n for n in needs)}."


def _source(definition: "object") -> Iterator[str]:
    """A function's signature and the first line of its docstring, read from its source."""
    import ast

    node = getattr(definition, "node", None)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    parameters = ast.unparse(node.args) if not isinstance(node, ast.ClassDef) else ""
    yield f"```python\n{'class' if isinstance(node, ast.ClassDef) else 'def'} {node.name}({parameters})\n```"
    text = ast.get_docstring(node)
    if text:
        yield text.splitlines()[0]
    yield f"{getattr(definition, 'place', '')}"
