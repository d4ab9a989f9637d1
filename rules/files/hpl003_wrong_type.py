"""HPL003 wrong-type: a value of the wrong type for its field (R4, R5, R8, R10-R15, R40, R47)."""

from collections.abc import Iterator

from hplint.rule import CONTRACT_FIELDS, Case, Fault, Finding, on_fault, quote

RULE = on_fault("HPL003", "wrong-type")

_WORDS = {"true": "true", "false": "false", "yes": "true", "no": "false", "on": "true", "off": "false"}


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        data = fault.data
        value = f" ({quote(_shown(case, fault))})" if _is_telling(fault) else ""
        outcome = "it changes nothing" if data.get("section") == "directive" else "the runtime refuses it"
        message = f"{_what(fault)} is {data['type']}{value}, but must be {data['allowed']}: {outcome}"
        # Contract values of an inactive entry are never looked at; all other types are checked before `when` is.
        severity = None if fault.field in CONTRACT_FIELDS else "error"
        entry = case.entry(fault) or case.style_entry(fault)
        yield Finding(fault.span, message, help=_advice(fault), entry=entry, field=fault.field, severity=severity)


def _is_telling(fault: Fault) -> bool:
    """Whether a message had better show the value."""
    return fault.data.get("problem") is None and fault.data["value"] not in ({}, [], "", None, "{…}")


def _shown(case: Case, fault: Fault) -> object:
    """The value, a bool as it is written: YAML has many words for one."""
    value = fault.data["value"]
    return (case.plan.source.cut(fault.span) or value) if isinstance(value, bool) else value


def _what(fault: Fault) -> str:
    name = fault.field or fault.data.get("key")
    if name:
        return quote(name)
    if match := fault.data.get("match"):
        return f"the value of {quote(match)}"
    return "an entry" if fault.entry is not None else "the plan"


def _advice(fault: Fault) -> str:
    value, allowed = fault.data["value"], fault.data["allowed"]
    if fault.data.get("problem") == "no-dash":
        return f"write `- match: {value if isinstance(value, str) else '…'}`, and indent its fields below `match`"
    if isinstance(value, str) and allowed == "true or false" and value.lower() in _WORDS:
        return f"write {_WORDS[value.lower()]} without quotes"
    if isinstance(value, str) and value and "_target_" in allowed:
        return f"write {{_target_: {value}}}"
    if isinstance(value, str) and value and allowed == "a list of strings":
        return f"write [{value}]"
    if isinstance(value, str) and value and fault.entry is not None and not fault.field and not fault.data.get("match"):
        return f"write `- match: {value}`, and below it what the entry sets"
    return ""
