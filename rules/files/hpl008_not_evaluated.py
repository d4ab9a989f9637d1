"""HPL008 not-evaluated: a Python expression whose value is known only at run time; what rests on it is not checked."""

from collections.abc import Iterator

from hplint.rule import Case, Fault, Finding, on_fault, quote

RULE = on_fault("HPL008", "not-evaluated", "info")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        if "name" in fault.data:
            yield _misspelt(fault)
            continue
        message = f"not evaluated: {fault.data['reason']}. What depends on this is not checked"
        advice = "use constants of this file, literal loops and functions of this file where it should be checked"
        if meant := fault.data.get("meant"):
            advice = f"did you mean {quote(meant)}?"
        entry = case.entry(fault) or case.style_entry(fault)
        yield Finding(fault.span, message, help=advice, entry=entry, field=fault.field)


def _misspelt(fault: Fault) -> Finding:
    name, meant = quote(fault.data["name"]), quote(fault.data["meant"])
    if fault.data["certain"]:
        message = f"{name} is defined nowhere in this file: Python stops here with a NameError"
        return Finding(fault.span, message, help=f"did you mean {meant}?", severity="warning")
    message = f"{name} is no name that is known here: it is read as {meant}"
    return Finding(fault.span, message, help=f"did you mean {meant}?")
