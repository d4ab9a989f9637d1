"""Follows Python statements without running them."""

import ast
from collections.abc import Callable
from typing import Any

from hplint.front.python import assign as python_assign
from hplint.front.python import builtins as python_builtins
from hplint.front.python import eval as python_eval
from hplint.front.python import operators as python_operators
from hplint.front.python.machine import DEPTH, LOOP, Machine
from hplint.front.python.scope import Scope, absolute
from hplint.front.python.values import (
    ClassValue,
    Const,
    Function,
    Items,
    Reference,
    Table,
    Unknown,
    Value,
)
from hplint.front.torch import making as torch_making
from hplint.front.tp_plan import claims as tp_plan_claims
from hplint.text.span import Span

NEXT, BREAK, CONTINUE, LEAVE = range(4)
"""How a block ends: it goes on, or leaves a loop, a round of it, or the function."""

WHILE = 1_000
"""Rounds of a ``while`` loop."""

_TRANSPARENT = frozenset((
    "staticmethod", "classmethod", "property", "cache", "lru_cache", "cached_property", "override", "final", "no_grad",
    "typechecked",
))  # fmt: skip
"""Decorators that leave what a function gives as it is."""
_ENUMS = frozenset(("Enum", "StrEnum", "IntEnum", "Flag"))


def run(m: Machine, function: Function, scope: Scope, span: Span) -> Value:
    """The value that a function of the file gives, its parameters bound in ``scope``."""
    node = function.node
    if isinstance(node, ast.Lambda):
        return python_eval.value(m, node.body, scope)
    if _is_generator(m, node):
        block(m, node.body, scope)
        return Unknown(span, f"`{node.name}` is a generator, which is run only at run time")
    outer, m.result = m.result, None
    try:
        block(m, node.body, scope)
        return m.result if m.result is not None else Const(None, span)
    finally:
        m.result = outer


def block(m: Machine, body: list[ast.stmt], scope: Scope) -> int:
    """Follow statements in order; how they end."""
    if m.depth >= DEPTH:
        return NEXT
    m.depth += 1
    try:
        for node in body:
            m.step(node)
            follow = _KINDS.get(type(node))
            end = follow(m, node, scope) if follow else _other(m, node, scope)
            if end != NEXT:
                return end
        return NEXT
    finally:
        m.depth -= 1


def _is_generator(m: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    if id(node) not in m.generators:
        m.generators[id(node)] = False
        waiting: list[ast.AST] = list(node.body)
        while waiting:
            part = waiting.pop()
            if isinstance(part, (ast.Yield, ast.YieldFrom)):
                m.generators[id(node)] = True
            elif not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                waiting.extend(ast.iter_child_nodes(part))
    return m.generators[id(node)]


def _assigned(m: Machine, node: ast.expr, scope: Scope) -> tuple[Value, bool]:
    """A value, and whether it rests on a parameter's default."""
    before, m.assumed = m.assumed, False
    found = python_eval.value(m, node, scope)
    rests, m.assumed = m.assumed, before
    return found, rests


def _assign(m: Machine, node: ast.Assign, scope: Scope) -> int:
    found, rests = _assigned(m, node.value, scope)
    for target in node.targets:
        python_assign.assign(m, target, found, scope, rests)
    return NEXT


def _annotated(m: Machine, node: ast.AnnAssign, scope: Scope) -> int:
    if node.value is not None:
        found, rests = _assigned(m, node.value, scope)
        python_assign.assign(m, node.target, found, scope, rests)
    return NEXT


def _augmented(m: Machine, node: ast.AugAssign, scope: Scope) -> int:
    target: Any = node.target
    left = python_eval.value(m, target, scope)
    right, rests = _assigned(m, node.value, scope)
    if isinstance(node.op, ast.BitOr):
        left = python_assign.as_table(m, target, left, right, scope)
    if isinstance(left, Table) and isinstance(node.op, ast.BitOr):
        python_operators.pour(left, right, m.places.span(node.value))
        return NEXT
    if isinstance(left, Items) and left.kind == "list" and isinstance(node.op, ast.Add):
        found = python_builtins.items_of(right)
        if found and len(left.items) + len(found[0]) <= LOOP:
            left.items += found[0]
            left.rest = left.rest or found[1]
        else:
            left.rest = left.rest or Unknown(m.places.span(node.value), "its items are known only at run time")
        return NEXT
    result = python_operators.binary(m, node.op, left, right, m.places.span(node))
    python_assign.assign(m, target, result, scope, rests)
    return NEXT


def _expression(m: Machine, node: ast.Expr, scope: Scope) -> int:
    python_eval.value(m, node.value, scope)
    return NEXT


def _if(m: Machine, node: ast.If, scope: Scope) -> int:
    raises = isinstance(node.body[-1], ast.Raise)
    return block(m, node.body if python_eval.branch(m, node.test, scope, not raises) else node.orelse, scope)


def _for(m: Machine, node: ast.For | ast.AsyncFor, scope: Scope) -> int:
    iterable, rests = _assigned(m, node.iter, scope)
    found, rest = python_eval.items_of(m, iterable, node.iter)
    for item in (*found, *((rest,) if rest else ())):
        m.step(node.iter)
        python_assign.assign(m, node.target, item, scope, False if rest is None else rests)
        end = block(m, node.body, scope)
        if end == BREAK:
            return NEXT
        if end == LEAVE:
            return LEAVE
    return block(m, node.orelse, scope)


def _while(m: Machine, node: ast.While, scope: Scope) -> int:
    for _ in range(WHILE):
        known, _rests = python_eval.condition(m, node.test, scope)
        if known is False:
            return block(m, node.orelse, scope)
        end = block(m, node.body, scope)
        if end == LEAVE:
            return LEAVE
        if end == BREAK or known is None:
            break
    return NEXT


def _with(m: Machine, node: ast.With | ast.AsyncWith, scope: Scope) -> int:
    for part in node.items:
        found = python_eval.value(m, part.context_expr, scope)
        if part.optional_vars is not None:
            python_assign.assign(m, part.optional_vars, found, scope)
    return block(m, node.body, scope)


def _try(m: Machine, node: Any, scope: Scope) -> int:
    """The body, and in a run of its own each handler after it."""
    end = block(m, node.body, scope)
    for handler in node.handlers:
        # The handler's place is what tells two handlers for the same exception apart.
        if m.worlds.take(f"except {handler.lineno}:{handler.col_offset}", False):
            if handler.name:
                scope.bind(handler.name, Unknown(m.places.span(handler), "it is an exception"))
            end = block(m, handler.body, scope)
            break
    else:
        end = block(m, node.orelse, scope) if end == NEXT else end
    final = block(m, node.finalbody, scope)
    return final if final != NEXT else end


def _match(m: Machine, node: ast.Match, scope: Scope) -> int:
    subject = python_eval.value(m, node.subject, scope)
    for case in node.cases:
        holds = _fits(m, case.pattern, subject, scope)
        if case.guard is not None and holds is not False:
            known, _ = python_eval.condition(m, case.guard, scope)
            holds = False if known is False else holds if known else None
        if holds is None:
            holds = m.worlds.take(f"case {case.pattern.lineno}:{case.pattern.col_offset}", True)
        if holds:
            return block(m, case.body, scope)
    return NEXT


def _fits(m: Machine, pattern: ast.pattern, subject: Value, scope: Scope) -> bool | None:
    match pattern:
        case ast.MatchValue():
            return python_operators.compare(ast.Eq(), subject, python_eval.value(m, pattern.value, scope))
        case ast.MatchSingleton():
            return python_operators.compare(ast.Is(), subject, Const(pattern.value, Span(0, 0)))
        case ast.MatchOr():
            fits = [_fits(m, p, subject, scope) for p in pattern.patterns]
            return True if True in fits else None if None in fits else False
        case ast.MatchAs(pattern=inner, name=name):
            holds = True if inner is None else _fits(m, inner, subject, scope)
            if name is not None:
                scope.bind(name, subject)
            return holds
    for part in ast.walk(pattern):
        captured = getattr(part, "name", None) or getattr(part, "rest", None)
        if isinstance(captured, str):
            scope.bind(captured, Unknown(m.places.span(pattern), "it is matched only at run time"))
    return None


def _function(m: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> int:
    decorators = [python_eval.dotted(d.func if isinstance(d, ast.Call) else d) or "" for d in node.decorator_list]
    plain = all(name.rpartition(".")[2] in _TRANSPARENT for name in decorators)
    parts = [part for part in (_path(scope), node.name) if part]
    found = Function(
        node, scope, python_eval.defaults(m, node.args, scope), ".".join(parts), m.places.defined(node), plain
    )
    m.define(found)
    scope.bind(node.name, found)
    return NEXT


def _path(scope: Scope) -> str:
    """The names of the classes and functions around, joined by dots."""
    names: list[str] = []
    inner: Scope | None = scope
    while inner is not None:
        if inner.title:
            names.append(inner.title)
        inner = inner.parent
    return ".".join(reversed(names))


def _class(m: Machine, node: ast.ClassDef, scope: Scope) -> int:
    members = Scope(scope, "class", title=node.name)
    bases = {(python_eval.dotted(base) or "").rpartition(".")[2] for base in node.bases}
    block(m, node.body, members)
    is_enum = bool(bases & _ENUMS)
    path = ".".join(part for part in (_path(scope), node.name) if part)
    origins = [python_eval.value(m, base, scope) for base in node.bases]
    style = torch_making.base_style(origins)
    found = ClassValue(path, m.places.defined(node), members, is_enum, style, origins)
    m.classes[id(members)] = found
    if is_enum and "StrEnum" not in bases and "str" not in bases:
        for name, value in members.names.items():
            if isinstance(value, Const) and isinstance(value.value, str):
                reason = f"`{node.name}.{name}` is an enum member and no string"
                members.names[name] = Unknown(value.span, reason)
    scope.bind(node.name, found)
    return NEXT


def _return(m: Machine, node: ast.Return, scope: Scope) -> int:
    found = python_eval.value(m, node.value, scope) if node.value else None
    home = scope.function
    if isinstance(found, Table) and found.name is None and home.title:
        found.name, found.anchor = home.title, home.place
    if isinstance(found, Table):
        tp_plan_claims.note_returned(m, home, found)
    m.result = found
    return LEAVE


def _import(m: Machine, node: ast.Import, scope: Scope) -> int:
    for alias in node.names:
        span = m.places.span(alias)
        if alias.asname:
            scope.bind(alias.asname, Reference(alias.name, span))
        else:
            root = alias.name.partition(".")[0]
            scope.bind(root, Reference(root, span))
    return NEXT


def _import_from(m: Machine, node: ast.ImportFrom, scope: Scope) -> int:
    module = "." * node.level + (node.module or "")
    for alias in node.names:
        if alias.name == "*":
            continue
        span = m.places.span(alias)
        name = alias.asname or alias.name
        path = f"{module}{alias.name}" if module.endswith(".") else f"{module}.{alias.name}"
        if path == "typing.TYPE_CHECKING":
            scope.bind(name, Const(False, span))
            continue
        whole = absolute(path, m.source.path)
        if whole is None:
            scope.bind(name, Unknown(span, "the import leads out of the folders that are known"))
        else:
            scope.bind(name, Reference(whole, span, node.level == 0))
    return NEXT


def _delete(m: Machine, node: ast.Delete, scope: Scope) -> int:
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            owner, key = python_eval.value(m, target.value, scope), python_eval.value(m, target.slice, scope)
            python_operators.remove(owner, key)
        elif isinstance(target, ast.Name):
            scope.names.pop(target.id, None)
    return NEXT


def _global(m: Machine, node: ast.Global, scope: Scope) -> int:
    scope.elsewhere.update(dict.fromkeys(node.names, scope.module))
    return NEXT


def _nonlocal(m: Machine, node: ast.Nonlocal, scope: Scope) -> int:
    for name in node.names:
        home = scope.parent.home(name) if scope.parent else None
        if home is not None:
            scope.elsewhere[name] = home
    return NEXT


def _other(m: Machine, node: ast.stmt, scope: Scope) -> int:
    """``pass``, ``assert`` and whatever else changes nothing."""
    return NEXT


_KINDS: dict[type[ast.stmt], Callable[[Machine, Any, Scope], int]] = {
    ast.Assign: _assign, ast.AnnAssign: _annotated, ast.AugAssign: _augmented, ast.Expr: _expression, ast.If: _if,
    ast.For: _for, ast.AsyncFor: _for, ast.While: _while, ast.With: _with, ast.AsyncWith: _with, ast.Try: _try,
    ast.TryStar: _try, ast.Match: _match, ast.FunctionDef: _function, ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class, ast.Return: _return, ast.Import: _import, ast.ImportFrom: _import_from,
    ast.Delete: _delete, ast.Global: _global, ast.Nonlocal: _nonlocal, ast.Break: lambda m, node, scope: BREAK,
    ast.Continue: lambda m, node, scope: CONTINUE, ast.Raise: lambda m, node, scope: LEAVE,
}  # fmt: skip
