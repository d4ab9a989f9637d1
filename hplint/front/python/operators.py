"""Operators on known values: what ``+``, ``|``, ``[…]`` and comparisons give, within bounds."""

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hplint.front.python.machine import LOOP, TEXT, Machine
from hplint.front.python.values import (
    NOT_PLAIN,
    Const,
    Items,
    Origin,
    Reference,
    Spec,
    Table,
    Unknown,
    Value,
    hashed,
    named,
    plain,
    truth,
)
from hplint.text.span import Span

_BITS = 256
_WIDE = re.compile(r"\d{4}|\*")
"""Widths and precisions that could make a text of any size."""

_NUMBERS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitOr: operator.or_, ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor, ast.RShift: operator.rshift,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.eq, ast.IsNot: operator.ne,
}  # fmt: skip


def _as_is(value: Any) -> Any:
    return value


_CONVERSIONS: dict[int, Callable[[Any], Any]] = {ord("r"): repr, ord("s"): str, ord("a"): ascii}


def first_unknown(*values: Value) -> Unknown | None:
    """The first of the values that is unknown."""
    return next((v for v in values if isinstance(v, Unknown)), None)


def concatenated(parts: list[Value], span: Span) -> Value:
    """The parts of an f-string put together."""
    if unknown := first_unknown(*parts):
        return globbed(unknown, parts, span)
    texts = [str(p.value) for p in parts if isinstance(p, Const)]
    if sum(map(len, texts)) > TEXT:
        return Unknown(span, "the text is too long")
    return Const("".join(texts), span)


def globbed(unknown: Unknown, parts: list[Value], span: Span) -> Unknown:
    """A text of which some parts are unknown, these as ``*``."""
    texts: list[str] = []
    for part in parts:
        match part:
            case Unknown(glob=Const(value=text)):
                texts.append(str(text))
            case Const(value=text):
                texts.append(str(text))
            case _:
                texts.append("*")
    whole = "".join(texts)
    return replace(unknown, origin=None, glob=Const(whole, span) if len(whole) <= TEXT else None)


def formatted(given: Value, spec: Value, conversion: int, span: Span) -> Value:
    """``{given!conversion:spec}`` of an f-string."""
    if unknown := first_unknown(given, spec):
        return unknown
    if not isinstance(given, Const) or not isinstance(spec, Const) or _WIDE.search(str(spec.value)):
        return Unknown(span, f"the text of {named(given)} is known only at run time")
    convert: Callable[[Any], Any] = _CONVERSIONS.get(conversion, _as_is)
    try:
        return Const(format(convert(given.value), str(spec.value)), span)
    except (ValueError, TypeError):
        return Unknown(span, "the format does not fit the value")


def pour(table: Table, other: Value, place: Span) -> None:
    """``{**other}``, ``update(other)``: the items of a dict, or a mark that more may be there."""
    if isinstance(other, Table):
        table.pour(other)
        return
    if isinstance(other, Items) and other.rest is None:
        pairs = [p.items for p in other.items if isinstance(p, Items) and len(p.items) == 2]
        if len(pairs) == len(other.items):
            for key, value in pairs:
                table.put(key, value)
            return
    match other:
        case Unknown():
            rest = Unknown(other.span, other.reason, parameter=other.parameter, origin=other.origin)
        case Reference():
            rest = Unknown(place, f"`{other.path}` comes from another module", origin=Origin(other.word))
        case _:
            rest = Unknown(place, f"{named(other)} cannot be read as a dict")
    table.put(rest, rest)


def put_literal(table: Table, key: Value, value: Value, literal: set[object]) -> None:
    """One ``key: value`` of a literal; ``literal`` are the keys that it wrote before."""
    mark = hashed(key)
    if mark in literal:
        table.twice.append(table.entries[mark])
    literal.add(mark)
    table.put(key, value)


def store(owner: Value, key: Value, value: Value) -> None:
    """``owner[key] = value``."""
    if isinstance(owner, Table):
        owner.put(key, value)
    elif isinstance(owner, Items) and isinstance(key, Const) and isinstance(key.value, int):
        if -len(owner.items) <= key.value < len(owner.items):
            owner.items[key.value] = value
    elif isinstance(owner, Items):
        owner.rest = owner.rest or Unknown(key.span, "it is known only at run time which item is replaced")


def remove(owner: Value, key: Value) -> None:
    """``del owner[key]``."""
    if isinstance(owner, Table):
        owner.entries.pop(hashed(key), None)
    elif isinstance(owner, Items):
        owner.rest = owner.rest or Unknown(key.span, "items are deleted only at run time")


def item(owner: Value, key: Value, span: Span) -> Value:
    """``owner[key]``."""
    if unknown := first_unknown(owner, key):
        return unknown
    match owner, key:
        case Table(), _:
            found = owner.find(key)
            if found is not None:
                return found
            return Unknown(span, "the dict has no such key" if owner.is_whole else "not all keys of the dict are known")
        case Items(), Const(value=int() as at) if owner.kind != "set":
            if -len(owner.items) <= at < len(owner.items) and (owner.rest is None or at >= 0):
                return owner.items[at]
            return owner.rest or Unknown(span, "the index is out of range")
        case Const(value=str() as text), Const(value=int() as at) if -len(text) <= at < len(text):
            return Const(text[at], span)
    return Unknown(span, f"an item of {named(owner)} is known only at run time")


def sliced(owner: Value, bounds: list[Value | None], span: Span) -> Value:
    """``owner[a:b:c]``."""
    if unknown := first_unknown(owner, *(b for b in bounds if b is not None)):
        return unknown
    numbers: list[Any] = [b.value if isinstance(b, Const) else None for b in bounds]
    if any(n is not None and not isinstance(n, int) for n in numbers) or numbers[2] == 0:
        return Unknown(span, "the slice is known only at run time")
    cut = slice(*numbers)
    if isinstance(owner, Items) and owner.rest is None:
        return Items(owner.kind, owner.items[cut], span)
    if isinstance(owner, Const) and isinstance(owner.value, str):
        return Const(owner.value[cut], span)
    return Unknown(span, f"a slice of {named(owner)} is known only at run time")


def unary(op: ast.unaryop, value: Value, span: Span) -> Value:
    """``-x``, ``not x`` and their like."""
    if isinstance(op, ast.Not):
        known = truth(value)
        if known is not None:
            return Const(not known, span)
    elif isinstance(value, Const) and isinstance(value.value, (int, float)):
        if isinstance(op, ast.USub):
            return Const(-value.value, span)
        if isinstance(op, ast.UAdd):
            return Const(+value.value, span)
        if isinstance(value.value, int):
            return Const(~int(value.value), span)
    return value if isinstance(value, Unknown) else Unknown(span, "it is known only at run time")


def binary(m: Machine, op: ast.operator, left: Value, right: Value, span: Span) -> Value:
    """``left op right``."""
    if isinstance(op, ast.BitOr) and (isinstance(left, Table) or isinstance(right, Table)):
        table = m.new_table(span)
        pour(table, left, left.span)
        pour(table, right, right.span)
        return table
    if isinstance(op, ast.Mod) and isinstance(left, Const) and isinstance(left.value, str):
        return percent(left.value, right, span)
    if unknown := first_unknown(left, right):
        if isinstance(op, ast.Add) and any(
            (isinstance(p, Const) and isinstance(p.value, str)) or _is_glob(p) for p in (left, right)
        ):
            return globbed(unknown, [left, right], span)
        return unknown
    match left, right:
        case Items(), Items() if isinstance(op, (ast.Add, ast.BitOr)) and len(left.items) + len(right.items) <= LOOP:
            return Items(left.kind, _united(op, left, right), span, left.rest or right.rest)
        case Items(), Items() if isinstance(op, (ast.Sub, ast.BitAnd)) and not (left.rest or right.rest):
            others = {hashed(i) for i in right.items}
            keep = isinstance(op, ast.BitAnd)
            return Items(left.kind, [i for i in left.items if (hashed(i) in others) is keep], span)
        case (Items() as part, Const(value=int() as times)) | (Const(value=int() as times), Items() as part):
            if isinstance(op, ast.Mult) and len(part.items) * max(times, 0) <= LOOP:
                return Items(part.kind, part.items * times, span, part.rest)
        case Const(), Const():
            return _arithmetic(op, left.value, right.value, span)
    return Unknown(span, f"{named(left)} and {named(right)} cannot be combined here")


def _is_glob(value: Value) -> bool:
    return isinstance(value, Unknown) and value.glob is not None


def _united(op: ast.operator, left: Items, right: Items) -> list[Value]:
    both = [*left.items, *right.items]
    return both if isinstance(op, ast.Add) else list({hashed(i): i for i in both}.values())


def _arithmetic(op: ast.operator, left: Any, right: Any, span: Span) -> Value:
    too_large = Unknown(span, "the result is too large")
    for text, times in ((left, right), (right, left)):
        if isinstance(text, str) and isinstance(times, int) and len(text) * max(times, 0) > TEXT:
            return too_large
    try:
        if isinstance(op, (ast.Pow, ast.LShift)):
            if not isinstance(left, int) or not isinstance(right, int) or not 0 <= right <= 64 or abs(left) > 2**32:
                return too_large
            result: Any = left**right if isinstance(op, ast.Pow) else left << right
        elif type(op) in _NUMBERS:
            result = _NUMBERS[type(op)](left, right)
        else:
            return Unknown(span, "this operator is evaluated only at run time")
    except (ArithmeticError, TypeError, ValueError):
        return Unknown(span, "the operation fails")
    if isinstance(result, str) and len(result) > TEXT:
        return too_large
    if isinstance(result, int) and result.bit_length() > _BITS:
        return too_large
    return Const(result, span)


def percent(text: str, right: Value, span: Span) -> Value:
    """``text % values``."""
    values = right.items if isinstance(right, Items) and right.kind == "tuple" else [right]
    if unknown := first_unknown(*values):
        return unknown
    if isinstance(right, Items) and right.rest:
        return right.rest
    if _WIDE.search(text) or not all(isinstance(v, Const) for v in values):
        return Unknown(span, "the text is known only at run time")
    shown = tuple(v.value for v in values if isinstance(v, Const))
    try:
        return Const(text % shown, span)
    except (TypeError, ValueError, KeyError, OverflowError):
        return Unknown(span, "the format does not fit the values")


def compare(op: ast.cmpop, left: Value, right: Value) -> bool | None:
    """Whether a comparison holds; None when it cannot be told."""
    if isinstance(op, (ast.In, ast.NotIn)):
        inside = _contains(right, left)
        return inside if inside is None or isinstance(op, ast.In) else not inside
    if first_unknown(left, right):
        return None
    if isinstance(op, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)) and _is_none(left) != _is_none(right):
        other = right if _is_none(left) else left
        if isinstance(other, (Const, Items, Table, Spec)):
            return isinstance(op, (ast.IsNot, ast.NotEq))
    a, b = plain(left), plain(right)
    if a is NOT_PLAIN or b is NOT_PLAIN:
        return None
    if isinstance(op, (ast.Is, ast.IsNot)) and not (a is None or isinstance(a, bool)):
        return None
    try:
        return bool(_COMPARISONS[type(op)](a, b))
    except TypeError:
        return None


def _is_none(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


def _contains(box: Value, what: Value) -> bool | None:
    if isinstance(what, Unknown):
        return None
    match box:
        case Const(value=str() as text) if isinstance(what, Const) and isinstance(what.value, str):
            return what.value in text
        case Items():
            marks = [hashed(i) for i in box.items]
            sure = box.rest is None and not first_unknown(*box.items)
            return True if hashed(what) in marks else False if sure else None
        case Table():
            return True if hashed(what) in box.entries else False if box.is_whole else None
    return None
