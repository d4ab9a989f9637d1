"""HPL303 invalid-sentinel: a contract field that is a string other than auto or none (R39, R123)."""

from collections.abc import Iterator

from hplint.rule import (
    OUTPUT_FIELDS,
    Case,
    Entry,
    Fault,
    Finding,
    Proposal,
    listing,
    near,
    on_fault,
    parse_placement,
    quote,
    remove_fields,
    rename_to_one,
    rewrite,
)

RULE = on_fault("HPL303", "invalid-sentinel")

_WORDS = ("auto", "none")
_MEANT = {"inherit": "auto", "derived": "auto", "default": "auto", "clear": "none", "null": "none", "empty": "none"}


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        value = quote(fault.data["value"]) if fault.data["value"] else "an empty string"
        message = f"`{fault.field}` is {value}, but the only words that it may be are `auto` and `none`"
        entry = case.entry(fault)
        fixes = _fixes(fault, entry) if entry else ()
        yield Finding(fault.span, message, _advice(fault), entry, field=fault.field, fixes=fixes)


def _advice(fault: Fault) -> str:
    word = fault.data["value"].strip().lower()
    if names := _meant(word):
        return f"did you mean {listing(names, 'or')}? Case and white space count"
    if word.startswith(("shard", "replicate", "partial")):
        return f"a placement needs its axis: write {{tp: {word}}} below the name of the tensor"
    if word == "first_input":
        return "`first_input` is a word of `inner_out_src`"
    return "`auto` keeps what was derived, `none` clears it; all else is a mapping {tensor: {axis: placement}}"


def _meant(word: str) -> list[str]:
    return [word] if word in _WORDS else [_MEANT[word]] if word in _MEANT else near(word, _WORDS)


def _fixes(fault: Fault, entry: Entry) -> tuple[Proposal, ...]:
    value, field = fault.data["value"], fault.field or ""
    word = value.strip().lower()
    removed = remove_fields(entry, field)
    if names := _meant(word):
        # A word of another meaning is a guess, a misspelt one is not.
        renamed = rename_to_one([fault.span], value, names, safe=word not in _MEANT, sure=True)
        return (*renamed, removed) if word in _MEANT else renamed
    if field in OUTPUT_FIELDS and (placement := parse_placement(word)):
        return (rewrite(fault.span, value, {"tp": placement}), removed)
    return (removed,)
