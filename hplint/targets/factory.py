"""The functions that a factory returns."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from hplint.targets.definition import Definition
from hplint.targets.lookup import Absent, Lookup
from hplint.targets.signature import Signature, bind, signature_of

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class Returned:
    """One thing that a factory may return. ``signature`` is None where it cannot be told; ``value`` is the spelling of
    something that is certainly no callable ("" otherwise)."""

    signature: Signature | None
    value: str = ""
    line: int = 0


def returned_by(definition: Definition, lookup: Lookup) -> tuple[Returned, ...]:
    """Everything that a factory may return, in the order of its return statements.

    One ``None`` value for a body that never returns; a name that is bound several times gives one item for each; empty
    where the factory cannot be read.
    """
    node = definition.node
    if isinstance(node, ast.Lambda):
        return tuple(_Reader(definition, lookup).read(node.body, node.lineno))
    if not isinstance(node, ast.FunctionDef):
        return ()
    own = list(own_nodes(node))
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in own):
        return ()
    returns = sorted((n for n in own if isinstance(n, ast.Return)), key=lambda n: n.lineno)
    if not returns:
        raises = isinstance(node.body[-1], ast.Raise)
        return () if raises else (Returned(None, "None", node.lineno),)
    reader = _Reader(definition, lookup)
    return tuple(r for n in returns for r in reader.read(n.value, n.lineno))


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, in reading order, the bodies of nested functions and classes left out."""
    stack = list(ast.iter_child_nodes(node))[::-1]
    while stack:
        item = stack.pop()
        yield item
        if not isinstance(item, (*FUNCTION, ast.ClassDef)):
            stack.extend(list(ast.iter_child_nodes(item))[::-1])


class _Reader:
    """What expressions in one factory's return statements give."""

    def __init__(self, factory: Definition, lookup: Lookup) -> None:
        self.factory = factory
        self.lookup = lookup
        self.arguments = argument_names(factory.node)
        self.bound = _bound_in(factory.node)
        self.left = 200
        """Expressions that are still followed: aliases of aliases may be many."""

    def read(self, value: ast.expr | None, line: int, depth: int = 0) -> list[Returned]:
        unknown = [Returned(None, "", line)]
        home = self.factory.home
        self.left -= 1
        if home is None or depth > 8 or self.left < 0:
            return unknown
        match value:
            case None | ast.Constant():
                return [Returned(None, "None" if value is None else repr(value.value), line)]
            case ast.Lambda():
                return [self._nested("<lambda>", value, line)]
            case ast.IfExp(body=body, orelse=other):
                return self.read(body, line, depth + 1) + self.read(other, line, depth + 1)
            case ast.Name(id=name):
                if name in self.arguments:
                    return unknown
                if name in self.bound:
                    return [r for node in self.bound[name] for r in self._local(name, node, line, depth)]
                found = self.lookup.name(home, name)
                if not isinstance(found, Absent):
                    return [Returned(signature_of(d, self.lookup), "", line) for d in found]
            case ast.Call(func=func, args=[first, *_]) if self.lookup.dotted(func, home) == "functools.partial":
                return [self._partial(r, value) for r in self.read(first, line, depth + 1)]
        return unknown

    def _local(self, name: str, node: ast.AST | None, line: int, depth: int) -> list[Returned]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return [self._nested(name, node, line)]
        if isinstance(node, ast.expr):
            return self.read(node, line, depth + 1)
        return [Returned(None, "", line)]

    def _nested(self, name: str, node: ast.AST, line: int) -> Returned:
        outer = (self.factory.node,) if self.factory.node else ()
        nested = Definition("function", name, self.factory.home, node, outer=outer)
        return Returned(signature_of(nested, self.lookup), "", line)

    @staticmethod
    def _partial(inner: Returned, call: ast.Call) -> Returned:
        left = bind(inner.signature.parameters, call) if inner.signature else None
        if inner.signature is None or left is None:
            return Returned(None, "", inner.line)
        return Returned(Signature(inner.signature.name, left, None, inner.signature.definition), "", inner.line)


def _bound_in(node: ast.AST | None) -> dict[str, list[ast.AST | None]]:
    """Every binding of every local name, whatever branch it stands in; None for what cannot be followed."""
    bound: dict[str, list[ast.AST | None]] = {}
    simple: set[int] = set()
    for item in own_nodes(node) if node else ():
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.setdefault(item.name, []).append(None if isinstance(item, ast.ClassDef) else item)
        elif isinstance(item, ast.Assign | ast.AnnAssign) and item.value is not None:
            for target in item.targets if isinstance(item, ast.Assign) else [item.target]:
                if isinstance(target, ast.Name):
                    bound.setdefault(target.id, []).append(item.value)
                    simple.add(id(target))
        elif isinstance(item, ast.Import | ast.ImportFrom):
            for alias in item.names:
                bound.setdefault((alias.asname or alias.name).partition(".")[0], []).append(None)
    for item in own_nodes(node) if node else ():
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store) and id(item) not in simple:
            bound.setdefault(item.id, []).append(None)
    return bound


def argument_names(node: ast.AST | None) -> set[str]:
    if not isinstance(node, FUNCTION):
        return set()
    a = node.args
    return {x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, *([a.vararg] if a.vararg else []),
                            *([a.kwarg] if a.kwarg else []))}  # fmt: skip


def calls_itself(signature: Signature) -> int | None:
    """The line on which a compute function calls the module that it stands in for, which would run the region again
    without end (S25): ``module(…)`` or ``module.forward(…)`` on its first parameter, or on the factory's ``module``."""
    node = signature.definition.node if signature.definition else None
    if not isinstance(node, FUNCTION):
        return None
    first = [p.name for p in signature.parameters[:1] if p.kind in ("positional_only", "positional")]
    names = set(first)
    for outer in signature.definition.outer if signature.definition else ():
        names |= {"module"} & argument_names(outer) - argument_names(node)
    rebound = {n.id for n in own_nodes(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for item in own_nodes(node):
        if isinstance(item, ast.Call):
            called = item.func
            if isinstance(called, ast.Attribute) and called.attr in ("forward", "__call__"):
                called = called.value
            if isinstance(called, ast.Name) and called.id in names - rebound:
                return item.lineno
    return None
