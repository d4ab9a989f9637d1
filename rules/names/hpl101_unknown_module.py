"""HPL101 unknown-module: an exact match that is no module of the model (R119)."""

from collections.abc import Iterator

from hplint.rule import (
    Case,
    Entry,
    Fault,
    Finding,
    Proposal,
    listing,
    on_fault,
    quote,
    remove_entry,
    rename,
    rename_to_one,
)

RULE = on_fault("HPL101", "unknown-module")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        entry = case.entry(fault)
        name = next((m.value for m in entry.matches if m.span == fault.span), "") if entry else ""
        message, advice = _worded(name, fault)
        fixes = _fixes(name, fault, entry) if entry else ()
        yield Finding(fault.span, f"{message}, so the runtime refuses the plan", advice, entry, fixes=fixes)


def _worded(name: str, fault: Fault) -> tuple[str, str]:
    data, close = fault.data, fault.data["near"]
    shown = quote(name)
    unknown = f"{shown} is not a module of the model"
    match data["problem"]:
        case "alias":
            message = f"{shown} is a second name of a shared module, which only goes by its first"
            return message, f"write {quote(close[0])}"
        case "parameter":
            owner, key = data["owner"], name.rpartition(".")[2]
            message = f"{shown} is a parameter, not a module"
            return message, f"match its module {quote(owner)} and name {quote(key)} under `params`"
        case "prefix":
            missing = close[0].removesuffix(name)
            return unknown, f"did you mean {listing(close, 'or')}? the prefix {quote(missing)} is missing"
        case "extra-prefix":
            extra = name.removesuffix(close[0])
            return unknown, f"did you mean {quote(close[0])}? the model's names have no prefix {quote(extra)}"
        case "number":
            numbers = sorted(map(int, data["children"]))
            held = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
            return unknown, f"{quote(data['parent'])} holds {held}"
    if close:
        return unknown, f"did you mean {listing(close, 'or')}?"
    parent = quote(data["parent"]) if data["parent"] else "the model"
    return unknown, f"{parent} has {listing(data['children'])}" if data["children"] else f"{parent} has no children"


def _fixes(name: str, fault: Fault, entry: Entry) -> tuple[Proposal, ...]:
    close = fault.data["near"]
    if fault.data["problem"] == "parameter":
        return (rename(fault.span, name, fault.data["owner"]),)
    if close:
        return rename_to_one([fault.span], name, close, sure=fault.data["problem"] != "spelling")
    # No other number is more likely than the next: there is nothing to say what was meant.
    return (remove_entry(entry),) if len(entry.matches) == 1 else ()
