"""Names that a Python file does not bind where it uses them: misspelt plan words, and certain NameErrors."""

import ast
import builtins
from typing import TYPE_CHECKING

from hplint.front.python.scope import AXES, SPEC, axis_shorthand, near_word
from hplint.front.python.values import Reference, Unknown, Value
from hplint.text.span import Span

if TYPE_CHECKING:
    from hplint.front.python.machine import Machine

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


def undefined(m: "Machine", name: str, span: Span) -> Value:
    """The value of a name that is not bound where it is used: that of the plan word which it misspells, where nothing
    else can give it one."""
    reason = f"`{name}` is not defined in this file"
    meant = near_word(name)
    if meant is None:
        return Unknown(span, reason)
    certain = not m.may_be_bound(name)
    # Nothing else is called nearly like a spec: were it not read as one, a whole plan might go unseen.
    # `tp` and `cp` in small letters may be anything, a size or a flag.
    if (not certain and meant != SPEC) or (meant in AXES and name.islower()):
        m.undefined[reason] = meant
        return Unknown(span, reason)
    m.note_slip(span, name, meant, certain)
    found = Reference(meant, span, False)
    return axis_shorthand(found) or found
