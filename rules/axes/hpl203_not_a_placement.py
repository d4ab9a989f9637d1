"""HPL203 not-a-placement: outside replicate / partial / shard(N), or no axis level (R41-R44, R118)."""

import re
from collections.abc import Iterator, Mapping

from hplint.rule import (
    REPLICATE,
    Case,
    Entry,
    Fault,
    Finding,
    Placement,
    Proposal,
    Rewrite,
    listing,
    near,
    on_fault,
    parse_placement,
    quote,
    remove_fields,
    remove_item,
    rewrite,
    shard,
)

RULE = on_fault("HPL203", "not-a-placement")

_SHORT = {"r": "replicate", "p": "partial", "replicated": "replicate", "sum": "partial", "none": "replicate"}
_GRAMMAR = "allowed are `replicate`, `partial` and `shard(N)` with a tensor dim N counted from 0"


def check(case: Case) -> Iterator[Finding]:
    python = case.plan.dialect == "python"
    for fault in case.faults(RULE.name):
        entry = case.entry(fault)
        if fault.data["problem"] == "no-tensor":
            yield _no_tensor(case, fault, entry)
            continue
        if fault.data["problem"] == "axis-key":
            message, advice = _axis_key(fault, case.plan.source.cut(fault.span))
        else:
            message, advice = _PROBLEMS[fault.data["problem"]](fault, python)
        yield Finding(fault.span, message, advice, entry, field=fault.field, fixes=_fixes(fault, entry))


def _text(fault: Fault, python: bool) -> tuple[str, str]:
    value = fault.data["value"]
    shown = quote(value) if value else "an empty string"
    message = f"{shown} is not a placement, so the runtime refuses the plan"
    if python:
        return message, "use Shard(N), Replicate() or Partial()"
    if re.search(r"-\s*\d", value):
        return message, "negative dims cannot be written: count the tensor dims from 0"
    meant = _meant(value)
    return message, f"did you mean `{meant}`? {_GRAMMAR[0].upper()}{_GRAMMAR[1:]}" if meant else _GRAMMAR


def _meant(text: str) -> str | None:
    """The placement that a misspelt one means, if there is just one."""
    word, number = re.sub(r"[^a-z]", "", text.lower().replace("dim", "")), re.findall(r"-?\d+", text)
    if word in _SHORT:
        return _SHORT[word]
    if (word in ("s", "shard", "split") or near(word, ("shard",))) and len(number) == 1 and number[0].isdigit():
        return f"shard({int(number[0][:9])})"
    found = near(word, ("replicate", "partial"))
    return found[0] if len(found) == 1 and not number else None


def _value(fault: Fault, python: bool) -> tuple[str, str]:
    shown = f"{fault.data['type']} is not a placement: `{fault.data['axis']}` must be given one"
    return shown, "use Shard(N), Replicate() or Partial()" if python else _GRAMMAR


def _quoted(fault: Fault, python: bool) -> tuple[str, str]:
    message = f"{quote(fault.data['value'])} is a string, but a Python plan takes placement objects"
    return message, f"write `{fault.data['meant']}`"


def _no_axis(fault: Fault, python: bool) -> tuple[str, str]:
    tensor, placement = fault.data["tensor"], fault.data["placement"]
    if placement is None:
        form = "{TP: Shard(0)}" if python else "{tp: shard(0)}"
        return (
            f"{quote(tensor)} is {fault.data['type']}, but must be a mapping from axes to placements",
            f"write {quote(tensor)}: {form}, say",
        )
    right = f'"{tensor}": {{TP: {_object(placement)}}}' if python else f"{tensor}: {{tp: {placement}}}"
    message = f"{quote(tensor)} has the placement `{fault.data['value']}` but no axis: the runtime refuses the plan"
    return message, f"name the axis that it lies along: `{right}`"


def _object(placement: object) -> str:
    text = str(placement).capitalize()
    return text if "(" in text else f"{text}()"


def _empty(fault: Fault, python: bool) -> tuple[str, str]:
    tensor = fault.data["tensor"]
    return (
        f"{quote(tensor)} is laid out over no axis: the runtime refuses an empty placement",
        f"write `{tensor}: {{tp: replicate}}` for a tensor that is whole on every rank, or leave {quote(tensor)} out",
    )


def _mixed(fault: Fault, python: bool) -> tuple[str, str]:
    name = quote(fault.data["axis"])
    return (
        f"{name} names an output beside bare placements, but `{fault.field}` takes one form or the other",
        "give every output its name, {output: {axis: placement}}, or write {axis: placement} for the only one",
    )


def _axis_key(fault: Fault, written: str) -> tuple[str, str]:
    value = fault.data["value"]
    shown = "an empty string" if value == "" else f"{quote(written)} ({fault.data['type']})"
    return f"the axis is {shown}, but must be a name such as `tp`", "quote the name if YAML reads it as another type"


def _no_tensor(case: Case, fault: Fault, entry: Entry | None) -> Finding:
    """An axis where a tensor belongs: which one is laid out is not written."""
    is_parameter = fault.field == "params"
    python = case.plan.dialect == "python"
    names = _tensors(case, fault, entry)
    name = names[0] if names else "weight" if is_parameter else "hidden_states"
    noun = "parameter" if is_parameter else "input"
    layout = _layout(fault.data["meant"] or fault.data["value"], python)
    form = f'"{name}": {layout}' if python else f"{name}: {layout}"
    more = f"; the {noun}s here are {listing(names)}" if len(names) > 1 else ""
    axis, here = quote(fault.data["axis"]), quote(fault.field)
    message = f"{here} lays out no {noun}: {axis} is an axis, but the {noun} that it belongs to is missing"
    fixes: tuple[Proposal, ...] = ()
    if entry and fault.field in entry.values and len(names) == 1 and fault.data["meant"] and fault.data["alone"]:
        span = entry.values[fault.field]
        fixes = (Proposal(f"write {quote(form)}", (Rewrite(span, {name: fault.data["meant"]}),)),)
    return Finding(fault.span, message, f"write {quote(form)}{more}", entry, field=fault.field, fixes=fixes)


def _tensors(case: Case, fault: Fault, entry: Entry | None) -> tuple[str, ...]:
    """What could be laid out at the first module that the entry lands on: its parameters, or its inputs."""
    hits = case.resolved.hits.get(entry.index) if case.resolved and entry else None
    fqn = next((fqn for group in (hits.merged, hits.inserted) for fqn in group), None) if hits else None
    if fqn is None or not case.tree or not case.coverage:
        return ()
    if fault.field == "params":
        return case.coverage.below(fqn)
    module = case.tree.modules.get(fqn)
    return tuple(p.name for p in (module.forward or ()) if not p.kind.startswith("var_"))[:1] if module else ()


def _layout(value: Mapping[str, object], python: bool) -> str:
    if not python:
        return "{" + ", ".join(f"{a}: {'…' if p is None else p}" for a, p in value.items()) + "}"
    items = (f"{a.upper()}: {_object(p) if isinstance(p, Placement) else '…'}" for a, p in value.items())
    return "{" + ", ".join(items) + "}"


def _swapped(fault: Fault, python: bool) -> tuple[str, str]:
    name, axis = quote(fault.field), quote(fault.data["axis"])
    message = f"the two levels of {name} are swapped: {axis} is an axis, and axes belong below the tensor"
    form = '{"tensor": {TP: placement}}' if python else "{tensor: {axis: placement}}"
    if meant := fault.data["meant"]:
        tensor, layout = next(iter(meant.items()))
        form = f'"{tensor}": {_layout(layout, True)}' if python else f"{tensor}: {_layout(layout, False)}"
    return f"{message}, so the runtime refuses the plan", f"write {quote(form)}"


def _no_space(fault: Fault, python: bool) -> tuple[str, str]:
    name, rest = fault.data["name"], fault.data["rest"]
    shown = quote(fault.data["value"])
    message = f"a space is missing after {quote(name + ':')}: all of {shown} is one name, and the runtime refuses it"
    return message, f"write {quote(f'{name}: {rest}')}"


def _fixes(fault: Fault, entry: Entry | None) -> tuple[Proposal, ...]:
    if entry is None or fault.field is None:
        return ()
    if fault.data["problem"] in ("swapped", "no-space"):
        meant, span = fault.data["meant"], fault.data.get("whole") or entry.values.get(fault.field)
        if not meant or span is None:
            return ()
        title = "put the levels in order" if fault.data["problem"] == "swapped" else "put a space after the colon"
        return (Proposal(title, (Rewrite(span, meant),), safe=True),)
    value, problem, shown = fault.data["value"], fault.data["problem"], str(fault.data["value"])
    if problem == "quoted-placement":
        return (rewrite(fault.span, shown, parse_placement(shown), safe=True),)
    meant = parse_placement(_meant(value) or "") if isinstance(value, str) else None
    if problem == "text" and meant:
        return (rewrite(fault.span, shown, meant, safe=True),)
    if problem == "no-axis" and (placement := fault.data["placement"] or meant or _only(value)):
        return (rewrite(fault.span, shown, {"tp": placement}),)
    if problem == "empty" or (problem == "no-axis" and fault.field == "params"):
        return (rewrite(fault.span, shown, {"tp": REPLICATE}),)
    removed = remove_item(fault.data["key"], fault.data.get("axis") or fault.data.get("tensor") or shown)
    replicated = rewrite(fault.span, shown, REPLICATE)
    if fault.field == "params":  # A parameter must stay covered.
        found = (replicated, removed) if problem in ("text", "value") else (removed,)
    else:
        found = (removed, replicated) if problem in ("text", "value") else (removed,)
        found += (remove_fields(entry, fault.field),)
    if problem == "value" and type(value) is int and value >= 0:
        return (rewrite(fault.span, shown, shard(value)), *found)
    return found


def _only(value: object) -> Placement | None:
    """The one placement of a list, as DeviceMesh code writes them."""
    one = value[0] if isinstance(value, list) and len(value) == 1 else None
    return parse_placement(one) if isinstance(one, str) else None


_PROBLEMS = {
    "text": _text, "value": _value, "quoted-placement": _quoted, "no-axis": _no_axis, "empty": _empty, "mixed": _mixed,
    "swapped": _swapped, "no-space": _no_space,
}  # fmt: skip
