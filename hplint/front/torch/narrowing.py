"""Calls of ``parallelize_module`` that stand under a condition on the module of a loop: they are made for some of the
modules that the loop runs through, and which ones is known only at run time."""

import ast
from collections.abc import Iterable, Iterator

from hplint.front.python.places import Places
from hplint.text.span import Span

_LEAVING = (ast.Continue, ast.Break)
_CALL = "parallelize_module"


def narrowed_calls(tree: ast.Module, places: Places) -> frozenset[Span]:
    """The places of these calls."""
    return frozenset(places.span(call) for call in _calls(tree, frozenset(), False))


def _calls(node: ast.AST, targets: frozenset[str], narrowed: bool) -> Iterator[ast.Call]:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name == _CALL and narrowed:
            yield node
        case ast.For() | ast.AsyncFor():
            yield from _calls(node.iter, targets, narrowed)
            inside = targets | _names(node.target)
            for statement in node.body:
                yield from _calls(statement, inside, narrowed)
                if isinstance(statement, ast.If) and isinstance(statement.body[-1], _LEAVING):
                    narrowed = narrowed or _mentions(statement.test, inside)
            return
        case ast.If() | ast.IfExp():
            narrowed = narrowed or _mentions(node.test, targets)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            for loop in node.generators:
                targets = targets | _names(loop.target)
                narrowed = narrowed or any(_mentions(test, targets) for test in loop.ifs)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
            targets, narrowed = frozenset(), False
    yield from _all(ast.iter_child_nodes(node), targets, narrowed)


def _all(nodes: Iterable[ast.AST], targets: frozenset[str], narrowed: bool) -> Iterator[ast.Call]:
    for node in nodes:
        yield from _calls(node, targets, narrowed)


def _names(node: ast.AST) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def _mentions(node: ast.AST, targets: frozenset[str]) -> bool:
    return bool(targets) and not targets.isdisjoint(_names(node))
