"""What a forward returns, read from its source: how many outputs, and how they may be called."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hplint.targets.find import Found

if TYPE_CHECKING:
    from hplint.targets.find import TargetFinder


def output_names(finder: "TargetFinder", class_name: str) -> tuple[str, ...]:
    """Names for the outputs of a class's forward, in order, where every return of it is a tuple of the same length as
    written; () where it returns one thing, or where that cannot be told."""
    found = finder.find(f"{class_name}.forward")
    definitions = found.definitions if isinstance(found, Found) else ()
    if len(definitions) != 1 or not isinstance(definitions[0].node, ast.FunctionDef):
        return ()
    returned = [r.value for r in _returns(definitions[0].node)]
    tuples = [v for v in returned if isinstance(v, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in v.elts)]
    if not tuples or len(tuples) < len(returned) or len({len(t.elts) for t in tuples}) > 1 or len(tuples[0].elts) < 2:
        return ()
    return _distinct([_name(e, i) for i, e in enumerate(tuples[-1].elts)])


def _returns(function: ast.FunctionDef) -> Iterator[ast.Return]:
    """The function's own returns; those of functions inside it are not its."""
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop(0)
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            stack[:0] = ast.iter_child_nodes(node)


def _name(value: ast.expr, index: int) -> str:
    """The variable that is returned, or one that a method is called on (``cos.to(…)``); else a number."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        value = value.func.value
    return value.id if isinstance(value, ast.Name) else f"output_{index}"


def _distinct(names: list[str]) -> tuple[str, ...]:
    return tuple(n if names.count(n) == 1 else f"output_{i}" for i, n in enumerate(names))
