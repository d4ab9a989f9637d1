"""What Python code gives to the names of ``tp_plan``s: class attributes, attributes of objects, arguments of calls.

The static machine tells this module of each such binding while it follows a file; tp_plan/plan.py makes plans of them.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hplint.front.python.values import (
    Arguments,
    ClassValue,
    Const,
    Function,
    Method,
    Origin,
    Reference,
    StyleValue,
    Table,
    Unknown,
    Value,
)
from hplint.front.tp_plan.words import CARRIERS, CONFIG, CONFIG_ARGUMENT, SIZES, is_word
from hplint.plan.style import Carrier
from hplint.text.span import Span

if TYPE_CHECKING:
    from hplint.front.python.machine import Machine
    from hplint.front.python.scope import Scope

LOADERS = frozenset(("from_pretrained", "from_config", "from_dict", CONFIG, CONFIG_ARGUMENT))
"""Callables whose plan arguments are those of the library, whatever they look like."""
REMOVED = "builtins.AttributeError"
"""What the library writes where a class takes an attribute of its base away."""
_SELF = ("self", "cls")
_COMPUTED = frozenset(("property", "cached_property"))
_MODEL = "pretrained_model_name_or_path"


@dataclass(slots=True)
class Claim:
    """A value that stands under the name of a plan. ``place`` is the token of that name, ``sure``: nothing else can be
    meant, ``sizes`` the arguments beside it, ``model`` what the same call loads, ``body`` the class body that it stands
    in, where a later one has ``replaced`` it or not."""

    carrier: Carrier
    name: str
    place: Span
    value: Value
    sure: bool = False
    sizes: dict[str, Value] = field(default_factory=dict)
    model: Const | None = None
    body: "Scope | None" = None
    replaced: bool = False


def note_member(m: "Machine", scope: "Scope", name: str, place: Span, given: Value) -> None:
    """An assignment in a class body; it takes the place of an earlier one."""
    carrier = CARRIERS[name]._replace(owner=scope.title)
    for earlier in m.claims:
        earlier.replaced |= earlier.body is scope and earlier.name == name
    _claim(m, Claim(carrier, name, place, given, carrier.kind != "argument", body=scope))


def note_attribute(
    m: "Machine", scope: "Scope", path: str | None, owner: Value | None, name: str, place: Span, given: Value
) -> None:
    """``owner.name = given``; ``path`` is the owner as it is written."""
    carrier = _carried(CARRIERS[name], scope, path, owner)
    _claim(m, Claim(carrier, name, place, given, carrier.kind == "config"))


def _claim(m: "Machine", claim: Claim) -> None:
    if isinstance(claim.value, Reference) and claim.value.path != REMOVED:
        claim.value = elsewhere(claim.value)
    if isinstance(claim.value, (Table, Unknown)):
        m.claims.append(claim)


def elsewhere(value: Reference) -> Unknown:
    """Something imported, as a value that cannot be read."""
    return Unknown(value.span, f"`{value.path}` comes from another module", origin=Origin(value.word))


def note_item(m: "Machine", scope: "Scope", owner: Value, key: Value, given: Value) -> None:
    """``owner["base_model_tp_plan"] = given``, the owner being no dict of this file."""
    if isinstance(owner, Unknown) and isinstance(key, Const) and key.value in CARRIERS:
        note_attribute(m, scope, _path(owner), owner, str(key.value), key.span, given)


def note_returned(m: "Machine", scope: "Scope", given: Table) -> None:
    """A property that is called like a plan and gives one."""
    name = scope.title or ""
    if name in CARRIERS and scope.place is not None:
        m.claims.append(Claim(CARRIERS[name]._replace(owner=_class_around(scope)), name, scope.place, given))


def note_call(m: "Machine", scope: "Scope", function: Value, arguments: Arguments) -> None:
    """The plans among the arguments of a call, and the plans that ``setattr`` sets."""
    word = _word(function)
    given = arguments.positional
    if word in ("setattr", "__setattr__") and len(given) == 3 and isinstance(given[1], Const):
        name = str(given[1].value)
        if name in CARRIERS:
            note_attribute(m, scope, _path(given[0]), given[0], name, given[1].span, given[2])
        return
    if config := arguments.keywords.get(CONFIG_ARGUMENT):
        loaded = _loaded(word, arguments)
        if isinstance(config, Table) and loaded:
            m.loaded[id(config)] = loaded
    if word == CONFIG and isinstance(function, Reference):
        return  # It becomes a dict, in which its plans are found.
    for name, value in arguments.keywords.items():
        if name in CARRIERS and isinstance(value, Table):
            sizes = {n: v for n, v in arguments.keywords.items() if n in SIZES}
            place, sure = arguments.names.get(name, value.span), word in LOADERS
            m.claims.append(Claim(CARRIERS[name], name, place, value, sure, sizes, _loaded(word, arguments)))


def note_tables(m: "Machine") -> None:
    """Plans under a key of a dict: ``{"tp_size": 2, "tp_plan": {…}}``, the arguments of a DistributedConfig."""
    parents = {id(v): (t, k) for t in m.tables for k, v in t.entries.values() if isinstance(v, Table)}
    for table in m.tables:
        for key, value in table.entries.values():
            if not isinstance(key, Const) or not isinstance(value, Table) or key.value not in CARRIERS:
                continue
            carrier = CARRIERS[str(key.value)]
            if carrier.kind == "config":
                carrier = carrier._replace(steps=tuple(_steps(table, parents)))
            sizes = {str(k.value): v for k, v in table.entries.values() if isinstance(k, Const) and k.value in SIZES}
            sure = table.name in LOADERS or bool(sizes)
            m.claims.append(
                Claim(carrier, str(key.value), key.span, value, sure, sizes, m.loaded.get(id(table)))
            )  # fmt: skip


def make_config(m: "Machine", arguments: Arguments, span: Span) -> Table:
    """``DistributedConfig(tp_size, tp_plan, …)`` as the dict of what it is given."""
    table = m.new_table(span)
    table.name = CONFIG
    for name, value in zip(("tp_size", "tp_plan"), arguments.positional, strict=False):
        table.put(Const(name, value.span), value)
    for name, value in arguments.keywords.items():
        table.put(Const(name, arguments.names.get(name, span)), value)
    return table


def read_attribute(owner: Value, path: str | None, name: str, span: Span) -> Value | None:
    """``owner.name`` where the name is that of a plan and nothing in the file gives it: it stands in another file."""
    origin = _origin(owner)
    if CARRIERS[name].kind == "argument" and origin and not origin.variable[:1].isupper():
        return None  # So are plans of torch called.
    if isinstance(owner, (Reference, Unknown)):
        variable, steps = (origin.variable, origin.steps) if origin else ("", ())
        return Unknown(
            span, f"`{path or variable}.{name}` stands in another file", origin=Origin(variable, (*steps, name))
        )
    return None


def read_own(m: "Machine", scope: "Scope", owner: Value, path: str | None, name: str) -> Value | None:
    """``self.name``: a dict of the class around, or a method of it that is about plans. Plain values are left unknown:
    objects may have others."""
    inside = _scope_around(scope) if path in _SELF else None
    found = member(m.classes.get(id(inside)), name) if inside else None
    if isinstance(found, Function) and "plan" in name.lower() and isinstance(found.node, ast.FunctionDef):
        marks = {d.id for d in found.node.decorator_list if isinstance(d, ast.Name)}
        return found if "staticmethod" in marks else replace(found, owner=owner) if not marks & _COMPUTED else None
    return found if isinstance(found, Table) else None


def member(owner: ClassValue | None, name: str, depth: int = 0) -> Value | None:
    """An attribute of a class of this file, its own or inherited."""
    if owner is None or depth > 20:
        return None
    found = owner.members.names.get(name)
    if found is not None:
        return found
    for base in owner.bases:
        if isinstance(base, ClassValue):
            found = member(base, name, depth + 1)
        elif isinstance(base, Reference) and name in CARRIERS:
            found = Unknown(
                base.span, f"`{base.word}.{name}` stands in another file", origin=Origin(base.word, (name,))
            )
        if found is not None:
            return found
    return None


def is_elsewhere(value: Value) -> bool:
    """Whether a value comes from outside the file, as a plan that is there already: a parameter, a plan of an imported
    class. Nobody wrote it here, so that nothing is to be told of it."""
    if not isinstance(value, Unknown):
        return False
    origin = value.origin
    return value.parameter or (origin is not None and not CARRIERS.keys().isdisjoint((origin.variable, *origin.steps)))


def may_write(name: str, given: Value) -> bool:
    """Whether what is written to a dict of this (dotted) name, which came from elsewhere, is part of a plan."""
    last = name.rpartition(".")[2]
    if "plan" not in last.lower():
        return False
    values = [given] if not isinstance(given, Table) else [v for _, v in given.entries.values()]
    if any(isinstance(v, StyleValue) for v in values):
        return False
    texts = [v.value for v in values if isinstance(v, Const) and isinstance(v.value, str)]
    return bool(texts) and (last in CARRIERS or any(map(is_word, texts)))


def _carried(carrier: Carrier, scope: "Scope", path: str | None, owner: Value | None) -> Carrier:
    parts = path.split(".") if path else [""]
    name: str | None = None
    match owner:
        case ClassValue():
            return carrier._replace(owner=owner.path.rpartition(".")[2])
        case Reference() if owner.word[:1].isupper():
            return carrier._replace(owner=owner.word)
    if parts[-1][:1].isupper():
        return carrier._replace(owner=parts[-1])
    if parts[0] in _SELF and all(p.endswith("_config") for p in parts[1:]):
        name = _class_around(scope)
    if carrier.kind == "model" and name is None:
        # The plan of one model, as put together already: its keys count from there.
        return carrier._replace(kind="argument")
    steps = tuple(p for p in parts[1:] if p.endswith("_config")) if carrier.kind == "config" else ()
    return carrier._replace(owner=name, steps=steps)


def _steps(table: Table, parents: dict[int, tuple[Table, Value]]) -> list[str]:
    """The keys of nested configurations that lead to a dict."""
    found: list[str] = []
    for _ in range(10):
        if id(table) not in parents:
            break
        table, key = parents[id(table)]
        if isinstance(key, Const) and str(key.value).endswith("_config") and key.value != CONFIG_ARGUMENT:
            found.insert(0, str(key.value))
    return found


def _loaded(word: str, arguments: Arguments) -> Const | None:
    """The model that a call loads."""
    name = arguments.get(0, _MODEL) if word == "from_pretrained" else None
    return name if isinstance(name, Const) and isinstance(name.value, str) and name.value else None


def _word(function: Value) -> str:
    match function:
        case Reference():
            return function.word
        case Function():
            return function.path.rpartition(".")[2]
        case Method():
            return function.name
        case Unknown(origin=Origin(variable=variable, steps=steps)):
            return steps[-1] if steps else variable
    return ""


def _origin(value: Value) -> Origin | None:
    match value:
        case Unknown():
            return value.origin
        case Reference():
            return Origin(value.word)
    return None


def _path(value: Value) -> str | None:
    origin = _origin(value)
    return ".".join((origin.variable, *origin.steps)) if origin else None


def _scopes(scope: "Scope | None") -> Iterator["Scope"]:
    while scope is not None:
        yield scope
        scope = scope.parent


def _scope_around(scope: "Scope") -> "Scope | None":
    return next((s for s in _scopes(scope) if s.kind == "class"), None)


def _class_around(scope: "Scope") -> str | None:
    found = _scope_around(scope)
    return found.title if found else None
