"""HPL303 invalid-sentinel: a contract field that is a string other than auto or none (R39, R123)."""

from collections.abc import Iterator

from hplint.rule import Case, Fault, Finding, listing, near, on_fault, quote

RULE = on_fault("HPL303", "invalid-sentinel")

_WORDS = ("auto", "none")
_MEANT = {"inherit": "auto", "derived": "auto", "default": "auto", "clear": "none", "null": "none", "empty": "none"}


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        value = quote(fault.data["value"]) if fault.data["value"] else "an empty string"
        message = f"`{fault.field}` is {value}, but the only words that it may be are `auto` and `none`"
        yield Finding(fault.span, message, help=_advice(fault), entry=case.entry(fault), field=fault.field)


def _advice(fault: Fault) -> str:
    word = fault.data["value"].strip().lower()
    names = [word] if word in _WORDS else [_MEANT[word]] if word in _MEANT else near(word, _WORDS)
    if names:
        return f"did you mean {listing(names, 'or')}? Case and white space count"
    if word.startswith(("shard", "replicate", "partial")):
        return f"a placement needs its axis: write {{tp: {word}}} below the name of the tensor"
    if word == "first_input":
        return "`first_input` is a word of `inner_out_src`"
    return "`auto` keeps what was derived, `none` clears it; all else is a mapping {tensor: {axis: placement}}"
