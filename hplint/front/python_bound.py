"""Which names a Python file binds anywhere: a name that is not among them, and no builtin, is a certain NameError."""

import ast
import builtins

_ANYTHING = frozenset(("globals", "locals", "vars", "exec", "eval", "setattr", "__builtins__", "__dict__"))
"""Names by way of which others can be bound unseen."""
_MODULE = frozenset((
    "__name__", "__file__", "__doc__", "__package__", "__spec__", "__loader__", "__path__", "__annotations__",
    "__class__", "__qualname__", "__module__", "__debug__",
))  # fmt: skip


def bound_names(tree: ast.Module) -> frozenset[str] | None:
    """All names that may have a value somewhere in the file; None where that cannot be told: a star import, or code
    that binds names by way of strings."""
    found = set(dir(builtins)) | _MODULE
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                if name in _ANYTHING:
                    return None
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.alias(name="*"):
                return None
            case ast.alias(name=name, asname=asname):
                found.add(asname or name.partition(".")[0])
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(names)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.MatchMapping(rest=str(name)):
                found.add(name)
            case ast.Attribute(attr="__dict__" | "modules"):
                return None
    return frozenset(found)
