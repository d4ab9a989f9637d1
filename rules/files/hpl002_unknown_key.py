"""HPL002 unknown-key: a key that no entry, accelerator section or directive has (R6)."""

from collections.abc import Iterator

from hplint.rule import (
    Case,
    Fault,
    Finding,
    Proposal,
    listing,
    near,
    on_fault,
    quote,
    remove_item,
    rename_in_comment,
    rename_to_near,
)

RULE = on_fault("HPL002", "unknown-key")

_SECTIONS = {
    "entry": ("is no field of an entry", "the runtime refuses the entry"),
    "accelerator": ("is no key of the accelerator section", "the runtime refuses the section"),
    "root": ("is no section of a trainer file", "the runtime refuses the file, or never looks there"),
    "directive": ("is no key of a `# hplint:` comment", "it changes nothing"),
}


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        if fault.data["section"] == "field":
            yield _too_deep(case, fault)
            continue
        is_what, outcome = _SECTIONS[fault.data["section"]]
        message = f"{_shown(case, fault)} {is_what}: {outcome}"
        if "rest" in fault.data:
            message = f"a space is missing after {quote(fault.data['meant'] + ':')}, so {message}"
        yield Finding(
            fault.span,
            message,
            help=_advice(case, fault),
            entry=case.entry(fault),
            field=fault.field,
            fixes=_fixes(case, fault),
            severity="error",
        )


def _too_deep(case: Case, fault: Fault) -> Finding:
    key, field, entry = quote(fault.data["key"]), quote(fault.field), case.entry(fault)
    message = f"{key} is a field of the entry, but stands inside {field}, where it is taken for a tensor"
    advice = f"{key} belongs to the entry: indent it as deep as {field}"
    return Finding(fault.span, message, help=advice, entry=entry, field=fault.field, severity="error")


def _shown(case: Case, fault: Fault) -> str:
    """The key as it is written, where YAML reads it as something else than a text."""
    key = fault.data["key"]
    return quote(key if isinstance(key, str) else case.plan.source.cut(fault.span))


def _advice(case: Case, fault: Fault) -> str:
    key, allowed = fault.data["key"], fault.data["allowed"]
    if key == "out_names" and case.plan.dialect == "yaml":
        return "remove it: in YAML several outputs take the order of the `out_src` keys"
    if "rest" in fault.data:
        return f"write {quote(fault.data['meant'] + ': ' + fault.data['rest'])}"
    if fault.data["section"] == "root" and key in allowed:
        return f"{quote(key)} is a field of an entry: indent it as deep as the `match` that it belongs to"
    names = near(key, allowed) if isinstance(key, str) else []
    return f"did you mean {listing(names, 'or')}?" if names else f"allowed are {listing(allowed, most=20)}"


def _fixes(case: Case, fault: Fault) -> tuple[Proposal, ...]:
    key, entry = fault.data["key"], case.entry(fault)
    if not isinstance(key, str) or "rest" in fault.data or key in fault.data["allowed"]:
        return ()
    if key == "out_names" and case.plan.dialect == "yaml":
        return (remove_item(fault.span, key),)
    if fault.data["section"] == "directive":
        return rename_in_comment(fault.span, key, fault.data["allowed"])
    # The key as which this one was read stands in the entry under its own place.
    taken = [name for name, span in entry.keys.items() if span != fault.span] if entry else []
    return rename_to_near(fault.span, key, fault.data["allowed"], taken)
