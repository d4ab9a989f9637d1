"""Builtin functions, and the few library functions that plans are built with."""

from collections.abc import Callable
from typing import Any

from hplint.front.python import operators as python_operators
from hplint.front.python.machine import DEPTH, LOOP, TEXT, Machine
from hplint.front.python.values import (
    Arguments,
    ClassValue,
    Const,
    Items,
    Spec,
    Table,
    Unknown,
    Value,
    hashed,
    named,
    plain,
    truth,
)
from hplint.front.torch import paths as torch_paths
from hplint.text.span import Span

LIBRARY = frozenset((
    "copy.copy", "copy.deepcopy", "itertools.chain", "itertools.product", "itertools.chain.from_iterable",
    "collections.OrderedDict", "typing.cast", "types.MappingProxyType", "builtins.dict.fromkeys",
))  # fmt: skip


def call(m: Machine, path: str, arguments: Arguments, span: Span) -> Value:
    """A builtin (``builtins.range``) or a function of :data:`LIBRARY`."""
    if path in ("builtins.dict", "collections.OrderedDict"):
        return make_dict(m, arguments, span)
    if arguments.strange:
        return arguments.strange[0]
    if path == "typing.cast":
        return arguments.get(1, "val") or Unknown(span, "there is nothing to cast")
    known = arguments.positional
    if unknown := python_operators.first_unknown(*known, *arguments.keywords.values()):
        return torch_paths.iterated(path, known, span, unknown.reason)
    function = _FUNCTIONS.get(path.removeprefix("builtins."))
    if function is None or (not known and path not in _BARE):
        return Unknown(span, "it is called only at run time")
    return function(m, arguments, span)


def make_dict(m: Machine, arguments: Arguments, span: Span) -> Value:
    """``dict(mapping, key=value)``."""
    table = m.new_table(span)
    for other in arguments.positional[:1]:
        python_operators.pour(table, other, other.span)
        if isinstance(other, Table):
            table.twice = list(other.twice)
    for name, value in arguments.keywords.items():
        table.put(Const(name, arguments.names.get(name, span)), value)
    for unknown in arguments.strange:
        table.put(unknown, unknown)
    return table


def _from_keys(m: Machine, arguments: Arguments, span: Span) -> Value:
    found = items_of(arguments.positional[0])
    table = m.new_table(span)
    given = arguments.get(1, "value") or Const(None, span)
    for key in found[0] if found else ():
        table.put(key, given)
    if found is None or found[1]:
        rest = Unknown(span, "its keys are known only at run time")
        table.put(rest, given)
    return table


def copied(m: Machine, value: Value, deep: bool, depth: int = 0) -> Value:
    """A copy that can be changed without changing the original."""
    m.steps += 1
    if m.steps > m.limit or depth > DEPTH:
        return value
    match value:
        case Table():
            table = m.new_table(value.span)
            table.pour(value)
            table.twice = list(value.twice)
            if deep:
                table.entries = {k: (key, copied(m, v, True, depth + 1)) for k, (key, v) in table.entries.items()}
            return table
        case Items():
            return Items(
                value.kind, [copied(m, i, True, depth + 1) if deep else i for i in value.items], value.span, value.rest
            )
        case Spec():
            fields = {n: (s, copied(m, v, True, depth + 1) if deep else v) for n, (s, v) in value.fields.items()}
            return Spec(value.span, fields, list(value.twice), list(value.strange))
    return value


def items_of(value: Value) -> tuple[list[Value], Unknown | None] | None:
    """What a value holds, for functions that take any iterable; None where that is not known."""
    match value:
        case Items():
            return value.items, value.rest
        case Table() if value.is_whole:
            return [key for key, _ in value.entries.values()], None
        case Const(value=str() as text) if len(text) <= TEXT:
            return [Const(c, value.span) for c in text], None
        case ClassValue(is_enum=True):
            return list(value.members.names.values()), None
    return None


def _range(m: Machine, arguments: Arguments, span: Span) -> Value:
    numbers = [v.value if isinstance(v, Const) else None for v in arguments.positional]
    if len(numbers) > 3 or not all(isinstance(n, int) for n in numbers):
        return Unknown(span, "its bounds are no whole numbers")
    bounds: list[Any] = numbers
    if len(bounds) == 3 and bounds[2] == 0:
        return Unknown(span, "its step is 0")
    found = range(*bounds)
    try:
        count = len(found)
    except OverflowError:
        count = LOOP + 1
    if count > LOOP:
        return Unknown(span, f"it has {count:,} items, and loops of more than {LOOP:,} are not followed")
    return Items("range", [Const(i, span) for i in found], span)


def _len(m: Machine, arguments: Arguments, span: Span) -> Value:
    value = arguments.positional[0]
    found = items_of(value)
    if found is None or found[1]:
        return Unknown(span, f"the length of {named(value)} is known only at run time")
    return Const(len(found[0]), span)


def _collected(kind: str) -> Callable[[Machine, Arguments, Span], Value]:
    def collect(m: Machine, arguments: Arguments, span: Span) -> Value:
        if not arguments.positional:
            return Items(kind, [], span)
        found = items_of(arguments.positional[0])
        if found is None:
            return Unknown(span, "its items are known only at run time")
        items = list({hashed(i): i for i in found[0]}.values()) if kind == "set" else list(found[0])
        return Items(kind, items, span, found[1])

    return collect


def _sorted(m: Machine, arguments: Arguments, span: Span) -> Value:
    found = items_of(arguments.positional[0])
    if found is None or found[1] or "key" in arguments.keywords:
        return Unknown(span, "its order is known only at run time")
    back = arguments.keywords.get("reverse")
    try:
        items = sorted(found[0], key=plain, reverse=bool(back and truth(back)))
    except TypeError:
        return Unknown(span, "its items cannot be sorted")
    return Items("list", items, span)


def _reversed(m: Machine, arguments: Arguments, span: Span) -> Value:
    found = items_of(arguments.positional[0])
    if found is None or found[1]:
        return Unknown(span, "its items are known only at run time")
    return Items("list", found[0][::-1], span)


def _enumerate(m: Machine, arguments: Arguments, span: Span) -> Value:
    found = items_of(arguments.positional[0])
    start = arguments.get(1, "start")
    first = start.value if isinstance(start, Const) else 0
    if found is None or not isinstance(first, int):
        return Unknown(span, "its items are known only at run time")
    pairs: list[Value] = [Items("tuple", [Const(i, span), v], span) for i, v in enumerate(found[0], first)]
    return Items("list", pairs, span, found[1])


def _zip(m: Machine, arguments: Arguments, span: Span) -> Value:
    columns = [items_of(v) for v in arguments.positional]
    if any(c is None for c in columns):
        return Unknown(span, "its items are known only at run time")
    known = [c for c in columns if c]
    rows: list[Value] = [Items("tuple", list(row), span) for row in zip(*(c[0] for c in known), strict=False)]
    return Items("list", rows, span, next((c[1] for c in known if c[1]), None))


def _chain(m: Machine, arguments: Arguments, span: Span) -> Value:
    found = [items_of(v) for v in arguments.positional]
    if any(f is None for f in found) or sum(len(f[0]) for f in found if f) > LOOP:
        return Unknown(span, "its items are known only at run time")
    return Items("list", [i for f in found if f for i in f[0]], span, next((f[1] for f in found if f and f[1]), None))


def _chain_all(m: Machine, arguments: Arguments, span: Span) -> Value:
    found = items_of(arguments.positional[0])
    if found is None or found[1]:
        return Unknown(span, "its items are known only at run time")
    return _chain(m, Arguments(found[0]), span)


def _product(m: Machine, arguments: Arguments, span: Span) -> Value:
    rows: list[list[Value]] = [[]]
    for value in arguments.positional:
        found = items_of(value)
        if found is None or found[1] or len(rows) * len(found[0]) > LOOP or arguments.keywords:
            return Unknown(span, "its items are known only at run time")
        rows = [[*row, item] for row in rows for item in found[0]]
    return Items("list", [Items("tuple", row, span) for row in rows], span)


def _computed(function: Callable[..., Any]) -> Callable[[Machine, Arguments, Span], Value]:
    """A function of constants, and for all but texts of sequences of them."""

    def compute(m: Machine, arguments: Arguments, span: Span) -> Value:
        values = [plain(v) for v in arguments.positional]
        if arguments.keywords or (function in (str, repr) and not isinstance(arguments.positional[0], Const)):
            return Unknown(span, "it is called only at run time")
        try:
            result = function(*values)
        except (TypeError, ValueError, ArithmeticError):
            return Unknown(span, "it is called only at run time")
        fits = result is None or isinstance(result, (str, int, float))
        return Const(result, span) if fits else Unknown(span, "it is called only at run time")

    return compute


def _truths(stop: bool) -> Callable[[Machine, Arguments, Span], Value]:
    def fold(m: Machine, arguments: Arguments, span: Span) -> Value:
        found = items_of(arguments.positional[0])
        known = [truth(i) for i in found[0]] if found else [None]
        if stop in known:
            return Const(stop, span)
        if None in known or (found and found[1]):
            return Unknown(span, "it is known only at run time")
        return Const(not stop, span)

    return fold


def _bool(m: Machine, arguments: Arguments, span: Span) -> Value:
    known = truth(arguments.positional[0])
    return Unknown(span, "it is known only at run time") if known is None else Const(known, span)


def _same(m: Machine, arguments: Arguments, span: Span) -> Value:
    return arguments.positional[0]


_BARE = frozenset(("builtins.list", "builtins.tuple", "builtins.set", "builtins.frozenset", "builtins.zip"))
_FUNCTIONS: dict[str, Callable[[Machine, Arguments, Span], Value]] = {
    "range": _range, "len": _len, "list": _collected("list"), "tuple": _collected("tuple"), "set": _collected("set"),
    "frozenset": _collected("set"), "sorted": _sorted, "reversed": _reversed, "enumerate": _enumerate, "zip": _zip,
    "str": _computed(str), "repr": _computed(repr), "int": _computed(int), "float": _computed(float),
    "abs": _computed(abs), "min": _computed(min), "max": _computed(max), "sum": _computed(sum), "bool": _bool,
    "any": _truths(True), "all": _truths(False), "iter": _same, "types.MappingProxyType": _same,
    "dict.fromkeys": _from_keys,
    "copy.copy": lambda m, arguments, span: copied(m, arguments.positional[0], False),
    "copy.deepcopy": lambda m, arguments, span: copied(m, arguments.positional[0], True),
    "itertools.chain": _chain, "itertools.chain.from_iterable": _chain_all, "itertools.product": _product,
}  # fmt: skip
