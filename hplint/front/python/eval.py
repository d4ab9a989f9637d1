"""Evaluates Python expressions without running them."""

import ast
from collections.abc import Callable, Iterator
from typing import Any

from hplint.front.python import assign as python_assign
from hplint.front.python import calls as python_calls
from hplint.front.python import operators as python_operators
from hplint.front.python.bound import undefined
from hplint.front.python.machine import DEPTH, LOOP, Machine
from hplint.front.python.scope import PLAN_WORDS, Scope, axis_shorthand
from hplint.front.python.values import (
    ClassValue,
    Const,
    Function,
    Items,
    Method,
    PlacementValue,
    Reference,
    Spec,
    Table,
    Unknown,
    Value,
    truth,
)
from hplint.front.torch import making as torch_making
from hplint.front.torch import paths as torch_paths
from hplint.front.tp_plan import claims as tp_plan_claims
from hplint.front.tp_plan.words import CARRIERS
from hplint.text.span import Span

BUILTINS = frozenset((
    "range", "len", "list", "tuple", "set", "frozenset", "sorted", "reversed", "enumerate", "zip", "dict", "str", "int",
    "bool", "float", "min", "max", "sum", "any", "all", "abs", "repr", "iter", "getattr", "setattr", "type",
    "AttributeError",
))  # fmt: skip
"""Builtin functions that are known."""


def value(m: Machine, node: ast.expr, scope: Scope) -> Value:
    """The value of an expression."""
    m.step(node)
    if m.depth >= DEPTH:
        return Unknown(m.places.span(node), "it is nested too deeply")
    m.depth += 1
    try:
        return _KINDS.get(type(node), _other)(m, node, scope)
    finally:
        m.depth -= 1


def condition(m: Machine, test: ast.expr, scope: Scope) -> tuple[bool | None, bool]:
    """Whether a condition holds (None: cannot be told), and whether that rests on a parameter's default."""
    before, m.assumed = m.assumed, False
    known = truth(value(m, test, scope))
    rests, m.assumed = m.assumed, before or m.assumed
    return known, rests


def branch(m: Machine, test: ast.expr, scope: Scope, likely: bool = True) -> bool:
    """The way that a condition goes in this run: see :class:`Worlds`."""
    known, rests = condition(m, test, scope)
    if known is not None and not rests:
        return known
    return m.worlds.decide(test, likely if known is None else known)


def items_of(m: Machine, iterable: Value, node: ast.expr) -> tuple[list[Value], Unknown | None]:
    """What a loop over a value runs through, and the unknown rest, pinned to the iterable."""
    span = m.places.span(node)
    match iterable:
        case Items():
            rest = iterable.rest and Unknown(iterable.rest.span, iterable.rest.reason, True)
            return list(iterable.items), rest
        case Table():
            found: list[Value] = [k for k, _ in iterable.entries.values() if not isinstance(k, Unknown)]
            loose = next((k for k, _ in iterable.entries.values() if isinstance(k, Unknown)), None)
            return found, loose and Unknown(loose.span, loose.reason, True)
        case Const(value=str() as text) if len(text) <= LOOP:
            return [Const(c, iterable.span) for c in text], None
        case Unknown(each=Items() | Unknown() as each):
            return [each], None
        case Unknown():
            return [], Unknown(span, iterable.reason, True, origin=torch_paths.item(iterable.origin))
        case ClassValue(is_enum=True):
            return list(iterable.members.names.values()), None
    return [], Unknown(span, "it is known only at run time what this loops over", True)


def dotted(node: ast.expr) -> str | None:
    """``self.plan`` as text; None for anything but names and attributes."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def each(m: Machine, generators: list[ast.comprehension], scope: Scope) -> Iterator[Scope]:
    """Run through the loops of a comprehension. Items whose condition cannot be told are kept."""
    return _loops(m, generators, Scope(scope, "comprehension"))


def _loops(m: Machine, generators: list[ast.comprehension], inner: Scope) -> Iterator[Scope]:
    if not generators:
        yield inner
        return
    first, *others = generators
    found, rest = items_of(m, value(m, first.iter, inner), first.iter)
    for item in (*found, *((rest,) if rest else ())):
        m.step(first.iter)
        python_assign.assign(m, first.target, item, inner)
        if all(condition(m, test, inner)[0] is not False for test in first.ifs):
            yield from _loops(m, others, inner)


def _constant(m: Machine, node: ast.Constant, scope: Scope) -> Value:
    if node.value is None or isinstance(node.value, (str, int, float)):
        return Const(node.value, m.places.span(node))
    return Unknown(m.places.span(node), f"a {type(node.value).__name__} is nothing that a plan holds")


def _name(m: Machine, node: ast.Name, scope: Scope) -> Value:
    return torch_paths.named(_looked_up(m, node, scope), node.id)


def _looked_up(m: Machine, node: ast.Name, scope: Scope) -> Value:
    span = m.places.span(node)
    home = scope.home(node.id)
    if home is None:
        if node.id in BUILTINS:
            return Reference(f"builtins.{node.id}", span)
        if node.id in PLAN_WORDS:
            found = Reference(node.id, span, False)
            return axis_shorthand(found) or found
        if node.id in torch_making.WORDS:
            return Reference(node.id, span, False)
        return undefined(m, node.id, span)
    if node.id in home.assumed:
        m.assumed = True
    return used(home.names[node.id], span)


def used(held: Value, span: Span) -> Value:
    """A value as it is used through a name: what is unknown or imported stands at its use, other things where they were
    made."""
    match held:
        case Unknown(pinned=False, reason=reason, parameter=parameter):
            return Unknown(span, reason, False, parameter, held.origin, held.glob)
        case Reference(path=path, found=known):
            reference = Reference(path, span, known)
            return axis_shorthand(reference) or reference
    return held


def _attribute(m: Machine, node: ast.Attribute, scope: Scope) -> Value:
    name = dotted(node)
    span = m.places.span(node)
    if name is not None and (stored := scope.find(name)) is not None:
        return torch_paths.named(used(stored, span), node.attr)
    owner = value(m, node.value, scope)
    if isinstance(owner, Unknown) and (own := tp_plan_claims.read_own(m, scope, owner, dotted(node.value), node.attr)):
        return own
    if node.attr in CARRIERS and (there := tp_plan_claims.read_attribute(owner, dotted(node.value), node.attr, span)):
        return there
    match owner:
        case Reference():
            reference = Reference(f"{owner.path}.{node.attr}", span, owner.found)
            if reference.path == "typing.TYPE_CHECKING":
                return Const(False, span)
            return axis_shorthand(reference) or reference
        case ClassValue():
            member = tp_plan_claims.member(owner, node.attr)
            return used(member, span) if member else Unknown(span, f"`{node.attr}` is not set in the class body")
        case Spec() if node.attr in owner.fields:
            return owner.fields[node.attr][1]
        case PlacementValue() if node.attr == "dim" and owner.placement.dim is not None:
            return Const(owner.placement.dim, span)
        case Unknown():
            return torch_paths.step(owner, node.attr, span)
        case Const() if node.attr == "value":
            return owner
    return Method(owner, node.attr, span)


def _joined(m: Machine, node: ast.JoinedStr, scope: Scope) -> Value:
    span = m.places.span(node)
    before = m.places.pin(span)
    try:
        parts = [value(m, part, scope) for part in node.values]
    finally:
        m.places.pin(before)
    return python_operators.concatenated(parts, span)


def _formatted(m: Machine, node: ast.FormattedValue, scope: Scope) -> Value:
    given = value(m, node.value, scope)
    spec = value(m, node.format_spec, scope) if node.format_spec else Const("", m.places.span(node))
    return python_operators.formatted(given, spec, node.conversion, m.places.span(node))


def _sequence(m: Machine, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> Value:
    result = Items(type(node).__name__.lower(), [], m.places.span(node))
    for part in node.elts:
        if isinstance(part, ast.Starred):
            found, rest = items_of(m, value(m, part.value, scope), part.value)
            result.items += found
            result.rest = result.rest or rest
        else:
            result.items.append(value(m, part, scope))
    return result


def _dict(m: Machine, node: ast.Dict, scope: Scope) -> Value:
    table = m.new_table(m.places.span(node))
    literal: set[object] = set()
    for key, part in zip(node.keys, node.values, strict=True):
        if key is None:
            python_operators.pour(table, value(m, part, scope), m.places.span(part))
            continue
        name = value(m, key, scope)
        given = value(m, part, scope)
        python_operators.put_literal(table, name, given, literal)
    return table


def _dict_comprehension(m: Machine, node: ast.DictComp, scope: Scope) -> Value:
    table = m.new_table(m.places.span(node))
    for inner in each(m, node.generators, scope):
        table.put(value(m, node.key, inner), value(m, node.value, inner))
    return table


def _comprehension(m: Machine, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, scope: Scope) -> Value:
    kind = "set" if isinstance(node, ast.SetComp) else "list"
    result = Items(kind, [], m.places.span(node))
    for inner in each(m, node.generators, scope):
        item = value(m, node.elt, inner)
        if isinstance(item, Unknown) and item.pinned:
            result.rest = item
        else:
            result.items.append(item)
    return result


def _either(m: Machine, node: ast.IfExp, scope: Scope) -> Value:
    return value(m, node.body if branch(m, node.test, scope) else node.orelse, scope)


def _bool(m: Machine, node: ast.BoolOp, scope: Scope) -> Value:
    stop = isinstance(node.op, ast.Or)
    found: Value = Unknown(m.places.span(node), "it is known only at run time")
    unknown: Unknown | None = None
    for part in node.values:
        found = value(m, part, scope)
        known = truth(found)
        if unknown is None and known is stop:
            return found
        if unknown is None and known is None:
            late = Unknown(m.places.span(part), "it is known only at run time")
            unknown = found if isinstance(found, Unknown) else late
    return unknown or found


def _unary(m: Machine, node: ast.UnaryOp, scope: Scope) -> Value:
    return python_operators.unary(node.op, value(m, node.operand, scope), m.places.span(node))


def _binary(m: Machine, node: ast.BinOp, scope: Scope) -> Value:
    left, right = value(m, node.left, scope), value(m, node.right, scope)
    return python_operators.binary(m, node.op, left, right, m.places.span(node))


def _compare(m: Machine, node: ast.Compare, scope: Scope) -> Value:
    left = value(m, node.left, scope)
    span = m.places.span(node)
    for op, part in zip(node.ops, node.comparators, strict=True):
        right = value(m, part, scope)
        holds = python_operators.compare(op, left, right)
        if holds is None:
            unknown = next((v for v in (left, right) if isinstance(v, Unknown)), None)
            return unknown or Unknown(span, "the comparison is decided at run time")
        if not holds:
            return Const(False, span)
        left = right
    return Const(True, span)


def _subscript(m: Machine, node: ast.Subscript, scope: Scope) -> Value:
    owner = value(m, node.value, scope)
    span = m.places.span(node)
    if isinstance(node.slice, ast.Slice):
        bounds = [
            None if part is None else value(m, part, scope)
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        if isinstance(owner, Unknown):
            return owner
        return python_operators.sliced(owner, bounds, span)
    key = value(m, node.slice, scope)
    return torch_paths.item_at(owner, key, span) or python_operators.item(owner, key, span)


def _named(m: Machine, node: ast.NamedExpr, scope: Scope) -> Value:
    found = value(m, node.value, scope)
    python_assign.assign(m, node.target, found, scope.function)
    return found


def _lambda(m: Machine, node: ast.Lambda, scope: Scope) -> Value:
    return Function(node, scope, defaults(m, node.args, scope), "<lambda>", m.places.span(node))


def defaults(m: Machine, arguments: ast.arguments, scope: Scope) -> dict[str, Value]:
    """The defaults of a function's parameters, evaluated where it is defined."""
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    keyword = [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    return {argument.arg: value(m, default, scope) for argument, default in (*pairs, *keyword)}


def _call(m: Machine, node: ast.Call, scope: Scope) -> Value:
    return python_calls.call(m, node, scope)


def _other(m: Machine, node: ast.expr, scope: Scope) -> Value:
    """Anything else is unknown; dicts inside are found all the same."""
    inner: Any = getattr(node, "value", None)
    if isinstance(inner, ast.expr):
        found = value(m, inner, scope)
        if isinstance(node, ast.Await):
            return found
    return Unknown(m.places.span(node), "this kind of expression is evaluated only at run time")


_KINDS: dict[type[ast.expr], Callable[[Machine, Any, Scope], Value]] = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.JoinedStr: _joined,
    ast.FormattedValue: _formatted, ast.List: _sequence, ast.Tuple: _sequence, ast.Set: _sequence, ast.Dict: _dict,
    ast.DictComp: _dict_comprehension, ast.ListComp: _comprehension, ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension, ast.IfExp: _either, ast.BoolOp: _bool, ast.UnaryOp: _unary, ast.BinOp: _binary,
    ast.Compare: _compare, ast.Subscript: _subscript, ast.NamedExpr: _named, ast.Lambda: _lambda, ast.Call: _call,
}  # fmt: skip
