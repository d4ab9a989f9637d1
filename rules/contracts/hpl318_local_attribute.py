"""HPL318 local-attribute: tp_divide_attrs that cannot be divided by tp (R48, R49, R127-R131)."""

from collections.abc import Iterator

from hplint.rule import (
    Boundary,
    Case,
    Entry,
    Fault,
    Finding,
    Proposal,
    Related,
    Span,
    Text,
    listing,
    near,
    on_plan,
    quote,
    remove_fields,
    remove_item,
    rename_to_one,
)

RULE = on_plan("HPL318", "local-attribute")

_FIELD = "tp_divide_attrs"
_PROTECTED = (
    "head_dim", "attention_head_size", "head_size", "num_key_value_groups", "training", "dtype", "device",
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        yield _of_fault(case, fault)
    if case.resolved is None:
        for entry in case.plan.entries:
            for name in entry.tp_divide_attrs or ():
                if _is_protected(name.value):
                    yield _protected(name, entry, None)
        return
    # Values differ from layer to layer (a layer index, say): they are gathered, so that one finding tells of all.
    indivisible: dict[Text, dict[str, int]] = {}
    owners: dict[Text, Entry | None] = {}
    for boundary in case.boundaries():
        if boundary.tp_divide_attrs and _FIELD not in boundary.broken:
            for name in boundary.tp_divide_attrs:
                owners[name] = boundary.origin.get(_FIELD)
                yield from _of_boundary(case, boundary, name, indivisible.setdefault(name, {}))
    for name, values in indivisible.items():
        yield from _indivisible(case, name, owners[name], values)


def _of_fault(case: Case, fault: Fault) -> Finding:
    problem, value = fault.data["problem"], fault.data["value"]
    related = tuple(Related(*place) for place in fault.related)
    if problem == "twice":
        message, advice = f"{quote(value)} is named twice: the runtime refuses to divide it by tp twice", "remove one"
    elif problem == "identifier":
        message = f"{quote(value)} is no attribute name: the runtime looks it up on the matched module itself"
        advice = "dotted paths do not work; match the module that has the attribute" if "." in value else ""
    else:
        message, advice = f"`{_FIELD}` is {fault.data['type']}, but must be a list or tuple of names", ""
    entry = case.entry(fault)
    fixes = _removed(entry, fault.span, value, problem == "twice") if entry else ()
    return Finding(fault.span, message, advice, entry, field=_FIELD, related=related, fixes=fixes)


def _removed(entry: Entry | None, span: Span, name: str, safe: bool = False) -> tuple[Proposal, ...]:
    """Take a name out; the field with it where no other name is in it."""
    if entry is None:
        return ()
    names, item = entry.tp_divide_attrs, remove_item(span, name, safe)
    alone = names is None or all(n.span == span for n in names)
    return (remove_fields(entry, _FIELD), item) if alone else (item,)


def _is_protected(name: str) -> bool:
    return name in _PROTECTED or name.startswith("_hp_")


def _protected(name: Text, entry: Entry | None, module: str | None) -> Finding:
    message = f"{quote(name.value)} may not be divided by tp: it does not depend on the number of local heads"
    fixes = _removed(entry, name.span, name.value)
    return Finding(name.span, message, "remove it", entry, module, _FIELD, fixes=fixes)


def _of_boundary(case: Case, boundary: Boundary, name: Text, indivisible: dict[str, int]) -> Iterator[Finding]:
    entry, module = boundary.origin.get(_FIELD), boundary.fqn
    if _is_protected(name.value):
        yield _protected(name, entry, module)
        return
    if case.tree is None or not case.tree.has_classes or module not in case.tree.modules:
        return
    ints = case.tree.modules[module].ints
    tp = case.topology.size("tp")
    if name.value not in ints:
        names = near(name.value, ints)
        advice = f"did you mean {listing(names, 'or')}?" if names else f"it has {listing(ints) or 'no int attributes'}"
        message = f"{quote(name.value)} is no int attribute of the module: the runtime has nothing to divide"
        taken = {*(n.value for n in boundary.tp_divide_attrs or ()), *boundary.auto_divided}
        fixes = rename_to_one([name.span], name.value, [n for n in names if n not in taken], safe=False)
        fixes += _removed(entry, name.span, name.value)
        yield Finding(name.span, message, advice, entry, module, _FIELD, fixes=fixes)
    elif ints[name.value] <= 0 or (tp and ints[name.value] % tp):
        indivisible[module] = ints[name.value]
    elif name.value in boundary.auto_divided and tp and tp > 1:
        message = f"{quote(name.value)} is divided already, for the q/k/v weights are cut on tp: the runtime refuses it"
        fixes = _removed(entry, name.span, name.value)
        yield Finding(name.span, message, "remove it", entry, module, _FIELD, fixes=fixes)


def _indivisible(case: Case, name: Text, entry: Entry | None, values: dict[str, int]) -> Iterator[Finding]:
    tp = case.topology.size("tp")
    shown = listing(sorted(set(values.values())), "or")
    by = f"cannot be divided by tp={tp}" if tp and any(v > 0 for v in values.values()) else "is not positive"
    for module in values:
        message = f"{quote(name.value)} is {shown} and {by}: the runtime refuses it"
        fixes = _removed(entry, name.span, name.value)
        yield Finding(name.span, message, "remove it", entry, module, _FIELD, fixes=fixes)
