"""Modules of a model that the file does not build: followed as paths from a name, by attributes, indexes and loops.

``for i, block in enumerate(model.layers)`` makes ``block`` the path ``model``, ``layers``, ``*``. The values stay
unknown in every other respect.
"""

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hplint.front.python.values import Arguments, Const, Items, MeshValue, Origin, Reference, Unknown, Value
from hplint.plan.style import ANY
from hplint.text.span import Span

if TYPE_CHECKING:
    from hplint.front.python.machine import Machine

_SAME = frozenset((
    "values", "children", "to", "cuda", "cpu", "eval", "train", "half", "bfloat16", "float", "double", "requires_grad_",
    "to_empty", "type", "xpu", "copy",
))  # fmt: skip
"""Methods that give the module itself, or what iterating it gives too."""
_PAIRS = frozenset(("items", "named_children"))
_DEEP = {"modules": "modules", "named_modules": "named modules"}
_KEEPING = frozenset((
    "builtins.list", "builtins.tuple", "builtins.iter", "builtins.reversed", "typing.cast", "copy.copy",
    "copy.deepcopy",
))  # fmt: skip


def named(value: Value, name: str) -> Value:
    """An unknown value as it is read through a name: the name is where its path begins."""
    if isinstance(value, Unknown) and value.origin is None and value.glob is None:
        return replace(value, origin=Origin(name))
    return value


def origin_of(value: Value | None) -> Origin | None:
    """How a value is reached; an imported name is the beginning of a path too."""
    match value:
        case Unknown():
            return value.origin
        case Reference():
            return Origin(value.word)
    return None


def item(origin: Origin | None) -> Origin | None:
    """What a loop over a value runs through."""
    if origin is None or origin.shape == "pair":
        return None
    if origin.shape in _DEEP.values():
        return origin.to(ANY)._replace(shape="pair" if origin.shape == _DEEP["named_modules"] else "")
    found = origin.to("*")
    return found._replace(shape="pair") if origin.shape == "pairs" else found


def step(owner: Unknown, name: str, span: Span) -> Unknown:
    """``owner.name``."""
    origin = owner.origin.to(name) if owner.origin and not owner.origin.shape else None
    if owner.pinned:
        return replace(owner, origin=origin, glob=None)
    return Unknown(span, owner.reason, origin=origin)


def item_at(owner: Value, key: Value, span: Span) -> Value | None:
    """``owner[key]`` of a mesh or of a value that is followed as a path; None for anything else."""
    if isinstance(owner, MeshValue):
        return _picked(owner, key, span)
    if not isinstance(owner, Unknown) or owner.origin is None or owner.origin.shape:
        return None
    match key:
        case Const(value=bool()):
            return None
        case Const(value=int() as number) if number >= 0:
            return replace(owner, origin=owner.origin.to(str(number)))
        case Const(value=str() as text):
            return replace(owner, origin=owner.origin.to(text, key))
    return replace(owner, origin=owner.origin.to("*"))


def unpack_pair(
    m: "Machine", target: ast.Tuple | ast.List, given: Unknown, bind: Callable[[ast.expr, Value], None]
) -> bool:
    """Bind the key and the module of a pair to two targets; whether ``given`` is one."""
    if given.origin is None or given.origin.shape != "pair" or len(target.elts) != 2:
        return False
    key, module = target.elts
    # Names of modules at any depth are no pattern of one segment.
    glob = None if given.origin.steps[-1:] == (ANY,) else Const("*", m.places.span(key))
    bind(key, replace(given, origin=None, glob=glob))
    bind(module, replace(given, origin=given.origin._replace(shape="")))
    return True


def called(m: "Machine", function: Unknown, arguments: Arguments, span: Span) -> Unknown:
    """What calling an unknown value gives."""
    origin = _after_call(m, function.origin, arguments, span)
    if function.pinned:
        return replace(function, origin=origin, glob=None)
    return Unknown(span, function.reason, False, function.parameter, origin)


def _after_call(m: "Machine", origin: Origin | None, arguments: Arguments, span: Span) -> Origin | None:
    if origin is None or not origin.steps:
        return None
    owner, method = origin._replace(steps=origin.steps[:-1], picked=None), origin.steps[-1]
    given = arguments.positional
    if method in _SAME:
        return owner
    if method in _PAIRS:
        return owner._replace(shape="pairs")
    if method in _DEEP:
        return owner._replace(shape=_DEEP[method])
    if method == "get_submodule" and given and isinstance(given[0], Const):
        return owner._replace(steps=(*owner.steps, *str(given[0].value).split(".")))
    if method in ("register_module", "add_module") and len(given) == 2:
        _note_wrapped(m, owner.to(_step_of(given[0])), given[1])
    return None


def iterated(path: str, arguments: list[Value], span: Span, reason: str) -> Value:
    """What a builtin function gives for arguments of which some are unknown."""
    first = arguments[0] if arguments else None
    each: Value | None = first.each if isinstance(first, Unknown) and path in _KEEPING else None
    if path == "builtins.zip":
        each = Items("tuple", [each_of(v) for v in arguments], span)
    elif path == "builtins.enumerate" and isinstance(first, Unknown) and first.each is not None:
        number = Unknown(span, reason, True, glob=Const("*", span))
        each = Items("tuple", [number, first.each], span)
    elif path == "itertools.chain" and all(isinstance(v, Unknown) and v.origin for v in arguments):
        return Items("list", [each_of(v) for v in arguments], span)
    return Unknown(span, reason, origin=through(path, arguments), each=each)


def each_of(value: Value) -> Value:
    """What stands for all that a loop over a value runs through."""
    if isinstance(value, Unknown):
        return value.each or Unknown(value.span, value.reason, True, origin=item(value.origin))
    numbers = isinstance(value, Items) and all(isinstance(i, Const) and isinstance(i.value, int) for i in value.items)
    glob = Const("*", value.span) if numbers else None
    return Unknown(value.span, "which item it is is known only at run time", True, glob=glob)


def through(path: str, arguments: list[Value]) -> Origin | None:
    """The path of what a builtin function gives for an unknown argument."""
    origin = origin_of(arguments[0]) if arguments else None
    if path == "builtins.enumerate" and origin and not origin.shape:
        return origin._replace(shape="pairs")
    if path == "builtins.getattr" and origin and len(arguments) > 1 and isinstance(arguments[1], Const):
        return origin.to(str(arguments[1].value))
    return origin if path in _KEEPING else None


def note_store(m: "Machine", owner: Value, key: Value, given: Value) -> None:
    """``owner[key] = given``: a module of the model may be replaced by one that wraps it."""
    if isinstance(owner, Unknown) and owner.origin and not owner.origin.shape:
        _note_wrapped(m, owner.origin.to(_step_of(key)), given)


def _step_of(key: Value) -> str:
    return str(key.value) if isinstance(key, Const) else "*"


def _note_wrapped(m: "Machine", place: Origin, given: Value) -> None:
    if isinstance(given, Unknown) and given.origin:
        m.run.events += [(kind, place, span) for kind, span in given.origin.wrapped]


def _picked(mesh: MeshValue, key: Value, span: Span) -> MeshValue:
    whole = mesh.axes
    match key:
        case Const(value=str() as name):
            return MeshValue(span, (name,), 1, key, whole)
        case Items(items=items, rest=None) if all(isinstance(i, Const) for i in items):
            names = tuple(str(i.value) for i in items if isinstance(i, Const))
            return MeshValue(span, names, len(names), None, whole)
    return MeshValue(span, None, None)
