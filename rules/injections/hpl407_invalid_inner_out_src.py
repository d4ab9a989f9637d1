"""HPL407 invalid-inner-out-src: an inner_out_src that is another word, empty or no mapping (R45, R46, R175)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, near, on_fault, quote, rewrite

RULE = on_fault("HPL407", "invalid-inner-out-src")

_FORMS = "write `first_input` for one output laid out like the first input, or {axis: placement} for one that is not"


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        data = fault.data
        if data["problem"] == "empty":
            what = "is empty"
        elif data["problem"] == "word":
            what = f"is {quote(data['value'])}" if data["value"] else "is an empty string"
        else:
            what = f"is {data['type']}"
        message = f"`inner_out_src` {what}, but must be `first_input` or a mapping with placements"
        meant = isinstance(data["value"], str) and bool(near(data["value"], ("first_input",)))
        advice = "did you mean `first_input`?" if meant else _FORMS
        fixes = (rewrite(fault.span, str(data["value"]), "first_input", safe=meant),)
        yield Finding(fault.span, message, advice, case.entry(fault), field="inner_out_src", fixes=fixes)
