"""Methods of dicts, lists and strings, and ``ShardingPlanner(…).plan(…)``."""

import re
from collections.abc import Callable
from typing import Any

from hplint.front.python import builtins as python_builtins
from hplint.front.python import operators as python_operators
from hplint.front.python.machine import LOOP, TEXT, Machine
from hplint.front.python.making import PLAN_PARAMETERS
from hplint.front.python.values import Arguments, Const, Items, Method, Planner, Table, Unknown, Value, hashed, named
from hplint.text.span import Span


def call(m: Machine, method: Method, arguments: Arguments, span: Span) -> Value:
    """``owner.name(…)``."""
    match method.owner:
        case Table():
            return _table(m, method.owner, method.name, arguments, span)
        case Items():
            return _items(method.owner, method.name, arguments, span)
        case Const(value=str() as text):
            return _text(text, method.name, arguments, span)
        case Planner() if method.name == "plan":
            given = dict(zip(PLAN_PARAMETERS, arguments.positional, strict=False))
            method.owner.calls.append((span, {**given, **arguments.keywords}))
    return Unknown(span, f"`{method.name}` of {named(method.owner)} is called only at run time")


def _table(m: Machine, table: Table, name: str, arguments: Arguments, span: Span) -> Value:
    function = _TABLE.get(name)
    if function is None:
        return Unknown(span, f"`{name}` of a dict is called only at run time")
    return function(m, table, arguments, span)


def _update(m: Machine, table: Table, arguments: Arguments, span: Span) -> Value:
    for other in arguments.positional[:1]:
        python_operators.pour(table, other, other.span)
    for name, value in arguments.keywords.items():
        table.put(Const(name, arguments.names.get(name, span)), value)
    for unknown in arguments.strange:
        table.put(unknown, unknown)
    return Const(None, span)


def _setdefault(m: Machine, table: Table, arguments: Arguments, span: Span) -> Value:
    key = arguments.get(0, "key")
    if key is None:
        return Unknown(span, "it has no key")
    found = table.find(key)
    if found is None:
        found = arguments.get(1, "default") or Const(None, span)
        table.put(key, found)
    return found


def _get(m: Machine, table: Table, arguments: Arguments, span: Span) -> Value:
    key = arguments.get(0, "key")
    if key is None or isinstance(key, Unknown):
        return key or Unknown(span, "it has no key")
    found = table.find(key)
    if found is None and not table.is_whole:
        return Unknown(span, "not all keys of the dict are known")
    return found or arguments.get(1, "default") or Const(None, span)


def _pop(m: Machine, table: Table, arguments: Arguments, span: Span) -> Value:
    found = _get(m, table, arguments, span)
    if key := arguments.get(0, "key"):
        table.entries.pop(hashed(key), None)
    return found


def _clear(m: Machine, table: Table, arguments: Arguments, span: Span) -> Value:
    table.entries.clear()
    table.twice.clear()
    return Const(None, span)


def _loose(table: Table) -> Unknown | None:
    return next((k for k, _ in table.entries.values() if isinstance(k, Unknown)), None)


def _listed(which: str) -> Callable[[Machine, Table, Arguments, Span], Value]:
    def listed(m: Machine, table: Table, arguments: Arguments, span: Span) -> Value:
        found: list[Value] = []
        for key, value in table.entries.values():
            if isinstance(key, Unknown) and which != "values":
                continue
            if which == "items":
                found.append(Items("tuple", [key, value], span))
            else:
                found.append(key if which == "keys" else value)
        return Items("list", found, span, None if which == "values" else _loose(table))

    return listed


def _copy(m: Machine, table: Table, arguments: Arguments, span: Span) -> Value:
    return python_builtins.copied(m, table, False)


_TABLE: dict[str, Callable[[Machine, Table, Arguments, Span], Value]] = {
    "update": _update, "setdefault": _setdefault, "get": _get, "pop": _pop, "clear": _clear, "copy": _copy,
    "keys": _listed("keys"), "values": _listed("values"), "items": _listed("items"),
}  # fmt: skip


def _items(owner: Items, name: str, arguments: Arguments, span: Span) -> Value:
    given = arguments.positional
    nothing = Const(None, span)
    if name in ("append", "add") and len(given) == 1:
        if len(owner.items) < LOOP and (name == "append" or hashed(given[0]) not in map(hashed, owner.items)):
            owner.items.append(given[0])
        return nothing
    if name in ("extend", "update") and len(given) == 1:
        found = python_builtins.items_of(given[0])
        if found is None or len(owner.items) + len(found[0]) > LOOP:
            unknown = (
                given[0] if isinstance(given[0], Unknown) else Unknown(span, "its items are known only at run time")
            )
            owner.rest = owner.rest or unknown
        else:
            owner.items += found[0]
            owner.rest = owner.rest or found[1]
        return nothing
    if name == "copy" and not given:
        return Items(owner.kind, list(owner.items), owner.span, owner.rest)
    if name == "insert" and len(given) == 2 and isinstance(given[0], Const) and isinstance(given[0].value, int):
        owner.items.insert(given[0].value, given[1])
        return nothing
    if name in ("index", "count", "pop", "remove", "reverse", "sort", "discard", "clear"):
        owner.rest = owner.rest or Unknown(span, f"`{name}` of a {owner.kind} is called only at run time")
    return Unknown(span, f"`{name}` of a {owner.kind} is called only at run time")


_SIMPLE = frozenset((
    "lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "startswith", "endswith", "removeprefix",
    "removesuffix", "replace", "split", "rsplit", "splitlines", "partition", "rpartition", "isdigit", "isidentifier",
    "count", "find", "rfind",
))  # fmt: skip
_FIELD = re.compile(r"\{([^{}]*)\}")
_PLAIN_FIELD = re.compile(r"\w*(![rsa])?(:[^{}]*)?")
_WIDE = re.compile(r"\d{4}")


def _text(text: str, name: str, arguments: Arguments, span: Span) -> Value:
    late = Unknown(span, f"`{name}` of a string is called only at run time")
    given = [*arguments.positional, *arguments.keywords.values()]
    if unknown := python_operators.first_unknown(*arguments.strange, *given):
        return unknown
    if name == "join" and len(given) == 1:
        return _joined(text, given[0], span) or late
    plain = [v.value for v in arguments.positional if isinstance(v, Const)]
    named_values = {n: v.value for n, v in arguments.keywords.items() if isinstance(v, Const)}
    if len(plain) + len(named_values) != len(given):
        return late
    if name == "format":
        return _formatted(text, plain, named_values, span) or late
    if name == "zfill" and len(plain) == 1 and isinstance(plain[0], int) and plain[0] < 1000:
        return Const(text.zfill(plain[0]), span)
    if name not in _SIMPLE or named_values or len(text) * max((len(str(p)) for p in plain), default=1) > TEXT * 10:
        return late
    try:
        result: Any = getattr(text, name)(*plain)
    except (TypeError, ValueError, OverflowError):
        return late
    if isinstance(result, (list, tuple)):
        return Items(type(result).__name__, [Const(part, span) for part in result], span)
    return Const(result, span)


def _joined(text: str, parts: Value, span: Span) -> Value | None:
    found = python_builtins.items_of(parts)
    if found is None:
        return None
    if unknown := python_operators.first_unknown(*found[0], *((found[1],) if found[1] else ())):
        return unknown
    texts = [p.value for p in found[0] if isinstance(p, Const) and isinstance(p.value, str)]
    if len(texts) != len(found[0]) or sum(map(len, texts)) + len(text) * len(texts) > TEXT:
        return None
    return Const(text.join(texts), span)


def _formatted(text: str, plain: list[Any], names: dict[str, Any], span: Span) -> Value | None:
    """``str.format``; fields that reach into their values are left alone."""
    fields = _FIELD.findall(text.replace("{{", "").replace("}}", ""))
    if not all(_PLAIN_FIELD.fullmatch(f) for f in fields) or _WIDE.search("".join(f.partition(":")[2] for f in fields)):
        return None
    if text.count("{") > len(fields) + 2 * text.count("{{"):
        return None
    try:
        return Const(text.format(*plain, **names), span)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError):
        return None
