"""Calls: functions of the same file, the names that plans are written with, and what a planner is given."""

import ast

from hplint.front.python import assign as python_assign
from hplint.front.python import blocks as python_blocks
from hplint.front.python import builtins as python_builtins
from hplint.front.python import eval as python_eval
from hplint.front.python import methods as python_methods
from hplint.front.python.machine import Machine
from hplint.front.python.making import MAKERS
from hplint.front.python.scope import PLAN_WORDS, ROOTS, SPEC, Scope
from hplint.front.python.values import (
    Arguments,
    Bound,
    ClassValue,
    Const,
    Function,
    Items,
    Method,
    Reference,
    Spec,
    Table,
    Unknown,
    Value,
)
from hplint.front.torch import making as torch_making
from hplint.front.torch import paths as torch_paths
from hplint.front.tp_plan import claims as tp_plan_claims
from hplint.front.tp_plan.words import CONFIG
from hplint.text.near import one_near
from hplint.text.span import Span

PLAN_ARGUMENT = "plan_overrides"
_FIELDS = frozenset(("field", "Field", "attrib"))


def call(m: Machine, node: ast.Call, scope: Scope) -> Value:
    """The value of a call. A dict that goes to a ``plan_overrides`` argument is a plan, whatever is called."""
    function = python_eval.value(m, node.func, scope)
    arguments = _arguments(m, node, scope)
    _hand_over(m, function, arguments)
    tp_plan_claims.note_call(m, scope, function, arguments)
    if isinstance(function, Method) and isinstance(function.owner, Unknown):
        function = function.owner
    made: Value | None = None
    if isinstance(node.func, ast.Attribute) and isinstance(function, Unknown):
        made = _write_elsewhere(m, node.func, arguments, scope)
    return made if made is not None else apply(m, function, arguments, m.places.span(node))


def apply(m: Machine, function: Value, arguments: Arguments, span: Span) -> Value:
    """What a callable value gives for evaluated arguments."""
    match function:
        case Reference():
            return _reference(m, function, arguments, span)
        case Function():
            return _own(m, function, arguments, span)
        case Method():
            return python_methods.call(m, function, arguments, span)
        case Bound():
            return apply(m, function.function, _joined(function.arguments, arguments), span)
        case ClassValue(is_enum=True) if arguments.positional:
            return arguments.positional[0]
        case ClassValue(style=str()):
            return torch_making.styled(m, function.path.rpartition(".")[2], arguments, span, function.style)
        case ClassValue():
            return Unknown(span, f"an object of `{function.path.rpartition('.')[2]}` is made only at run time")
        case Unknown():
            return torch_paths.called(m, function, arguments, span)
    return Unknown(span, "it is called only at run time")


def bind(function: Function, arguments: Arguments, scope: Scope, span: Span) -> str | None:
    """Bind the parameters of a function in ``scope``; what does not fit, or None."""
    parameters = function.node.args
    given = ([function.owner] if function.owner is not None else []) + arguments.positional
    names = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
    keywords = dict(arguments.keywords)
    for name, value in zip(names, given, strict=False):
        scope.bind(name, value, arguments.assumed)
    if parameters.vararg:
        scope.bind(parameters.vararg.arg, Items("tuple", given[len(names) :], span))
    elif len(given) > len(names):
        return "too many arguments"
    for name in (*names[len(given) :], *(a.arg for a in parameters.kwonlyargs)):
        if name in keywords:
            scope.bind(name, keywords.pop(name), arguments.assumed)
        elif name in function.defaults:
            scope.bind(name, function.defaults[name])
        elif arguments.strange:
            scope.bind(name, arguments.strange[0])
        else:
            return f"`{name}` is missing"
    if parameters.kwarg:
        rest = Table(span)
        for name, value in keywords.items():
            rest.put(Const(name, arguments.names.get(name, span)), value)
        for unknown in arguments.strange:
            rest.put(unknown, unknown)
        scope.bind(parameters.kwarg.arg, rest)
    elif keywords:
        return f"it has no parameter `{next(iter(keywords))}`"
    return None


def _arguments(m: Machine, node: ast.Call, scope: Scope) -> Arguments:
    found = Arguments()
    before, m.assumed = m.assumed, False
    for part in node.args:
        if isinstance(part, ast.Starred):
            items, rest = python_eval.items_of(m, python_eval.value(m, part.value, scope), part.value)
            found.positional += items
            found.strange += [Unknown(rest.span, rest.reason)] if rest else []
        else:
            found.positional.append(python_eval.value(m, part, scope))
    for keyword in node.keywords:
        value = python_eval.value(m, keyword.value, scope)
        if keyword.arg is None:
            _spread(m, value, found, m.places.span(keyword.value))
        else:
            _keyword(found, keyword.arg, m.places.word(keyword), value)
    found.assumed, m.assumed = m.assumed, before or m.assumed
    return found


def _keyword(found: Arguments, name: str, place: Span, value: Value) -> None:
    if name in found.keywords:
        found.twice.append((name, found.names[name], found.keywords[name]))
    found.keywords[name], found.names[name] = value, place


def _spread(m: Machine, value: Value, found: Arguments, place: Span) -> None:
    """``**value`` in a call."""
    if isinstance(value, Table):
        for key, item in value.entries.values():
            if isinstance(key, Const) and isinstance(key.value, str):
                _keyword(found, key.value, key.span, item)
            else:
                found.strange.append(key if isinstance(key, Unknown) else Unknown(key.span, "it is no keyword"))
        return
    found.strange.append(value if isinstance(value, Unknown) else Unknown(place, "it cannot be read as a dict"))


def _hand_over(m: Machine, function: Value, arguments: Arguments) -> None:
    given = arguments.keywords.get(PLAN_ARGUMENT)
    if given is not None and not isinstance(function, Function):
        hand(m, given, arguments.names[PLAN_ARGUMENT])


def hand(m: Machine, given: Value, place: Span) -> None:
    """Note that a planner was given a value as its plan."""
    match given:
        case Table():
            given.handed = True
            if given.name is None:
                given.name, given.anchor = PLAN_ARGUMENT, place
        case Unknown(parameter=False):
            m.unread.append(given)


def _write_elsewhere(m: Machine, node: ast.Attribute, arguments: Arguments, scope: Scope) -> Value | None:
    """``plan.update({…})`` on a dict that came from elsewhere: its new items are a plan all the same."""
    if node.attr not in ("update", "setdefault") or not arguments.positional:
        return None
    owner = python_eval.value(m, node.value, scope)
    table = python_assign.as_table(m, node.value, owner, arguments.positional[-1], scope)
    if not isinstance(table, Table):
        return None
    return python_methods.call(m, Method(table, node.attr, table.span), arguments, table.span)


def _reference(m: Machine, function: Reference, arguments: Arguments, span: Span) -> Value:
    module, _, word = function.path.rpartition(".")
    if function.path == tp_plan_claims.REMOVED:
        return function
    if word == CONFIG:
        return tp_plan_claims.make_config(m, arguments, span)
    if word in _FIELDS and (given := _default(m, arguments, span)) is not None:
        return given
    if module == "builtins" or function.path in python_builtins.LIBRARY:
        return python_builtins.call(m, function.path, arguments, span)
    if (made := torch_making.call(m, function, arguments, span)) is not None:
        return made
    if word in MAKERS and word in PLAN_WORDS:
        return MAKERS[word](m, arguments, span)
    if module.partition(".")[0] in ROOTS and one_near(word, (SPEC,)):
        # Nothing else there is called nearly so: were it not read, a whole plan might go unseen.
        m.note_slip(function.span, word, SPEC, False)
        return MAKERS[SPEC](m, arguments, span)
    if function.path == "functools.partial" and arguments.positional:
        first, *others = arguments.positional
        held = Arguments(others, arguments.keywords, arguments.names, arguments.twice, arguments.strange)
        return Bound(first, held, span)
    if function.path in ("dataclasses.replace", "copy.replace") and arguments.positional:
        return _replaced(arguments, span)
    if not function.found:
        return Unknown(span, f"`{word}` is not defined in this file")
    return Unknown(span, f"`{word}` comes from another module and is called only at run time")


def _default(m: Machine, arguments: Arguments, span: Span) -> Value | None:
    """The dict that a field of a dataclass begins with."""
    made = arguments.keywords.get("default") or arguments.keywords.get("default_factory")
    if isinstance(made, Function):
        made = apply(m, made, Arguments(), span)
    return made if isinstance(made, Table) else None


def _replaced(arguments: Arguments, span: Span) -> Value:
    """``dataclasses.replace(spec, field=…)``."""
    spec = arguments.positional[0]
    if not isinstance(spec, Spec):
        return spec if isinstance(spec, Unknown) else Unknown(span, "only a ModuleShardingSpec can be replaced here")
    fields = {**spec.fields, **{n: (arguments.names[n], v) for n, v in arguments.keywords.items()}}
    return Spec(span, fields, list(arguments.twice), [*spec.strange, *arguments.strange])


def _joined(first: Arguments, then: Arguments) -> Arguments:
    """The arguments of a partial and those of its call; the call's keywords win."""
    return Arguments(
        [*first.positional, *then.positional],
        {**first.keywords, **then.keywords},
        {**first.names, **then.names},
        [*first.twice, *then.twice],
        [*first.strange, *then.strange],
        first.assumed or then.assumed,
    )


def _own(m: Machine, function: Function, arguments: Arguments, span: Span) -> Value:
    """Call a function of this file."""
    name = function.path.rpartition(".")[2]
    if not function.plain:
        return Unknown(span, f"a decorator decides at run time what `{name}` gives")
    if id(function.node) in m.running:
        return Unknown(span, f"`{name}` calls itself")
    scope = Scope(function.scope, "function", title=name, place=function.span)
    if problem := bind(function, arguments, scope, span):
        return Unknown(span, f"`{name}` is called with other arguments than it takes: {problem}")
    m.called.add(id(function.node))
    m.running.add(id(function.node))
    try:
        return python_blocks.run(m, function, scope, span)
    finally:
        m.running.discard(id(function.node))
