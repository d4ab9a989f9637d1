"""What a Python expression is known to be without running it.

Every value remembers the place where it was made: the literal, or the expression that computed it. A constant that is
used through a name keeps the place of its literal, which is where a typo in it must be repaired.
"""

import ast
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from hplint.plan.placement import Placement
from hplint.text.span import Span

if TYPE_CHECKING:
    from hplint.front.python.scope import Scope

Constant = str | int | float | bool | None
NO_DEFAULT = "is a parameter without a default"
"""How the reason of an unknown value ends that a caller outside the file gives, or that is reached from such a one."""


@dataclass(slots=True)
class Const:
    """A string, number, bool or None."""

    value: Constant
    span: Span


@dataclass(slots=True)
class Items:
    """A list, tuple or set (``kind``), in order. ``rest`` is set when further items may follow that nobody knows."""

    kind: str
    items: "list[Value]"
    span: Span
    rest: "Unknown | None" = None


class Origin(NamedTuple):
    """How an unknown value is reached from a name: ``steps`` are attributes and items, ``*`` where a loop or an unknown
    number leads on. ``shape`` is "pairs" where iterating gives (key, item), "pair" for such a pair, "modules" and
    "named modules" where it gives all modules below. ``picked`` is the last step as a text that was written in
    brackets. ``wrapped`` are calls around the value, with their places."""

    variable: str
    steps: tuple[str, ...] = ()
    shape: str = ""
    picked: Const | None = None
    wrapped: tuple[tuple[str, Span], ...] = ()

    def to(self, step: str, picked: Const | None = None) -> "Origin":
        """What an attribute, an index or a loop leads to."""
        return Origin(self.variable, (*self.steps, step), "", picked, self.wrapped)


@dataclass(slots=True)
class Unknown:
    """An expression that cannot be read statically; ``reason`` finishes the sentence "not evaluated: …".

    ``pinned`` ones keep their place when they are used through a name: one loop over something unknown is one fault,
    however often its variable is used. ``parameter``: it is what a caller outside the file gives.
    """

    span: Span
    reason: str
    pinned: bool = False
    parameter: bool = False
    origin: Origin | None = None
    """How it is reached, where that is a path from a name."""
    glob: Const | None = None
    """A text of which parts are unknown, these as ``*``."""
    each: "Value | None" = None
    """What stands for all that a loop over it runs through, where that is known in part: the row of a ``zip``."""


@dataclass(slots=True, eq=False)
class Table:
    """A dict. ``entries`` maps the hashable form of a key to key and value; items under keys that nobody knows (or
    whole unknown mappings poured in) stand there under keys of their own. ``twice`` holds what a literal wrote under
    a key that it writes again.

    ``name`` and ``anchor``: the variable, keyword or function that holds it, and that token. ``flowed``: it was poured
    into another dict. ``handed``: a planner was given it. ``returned``: a function nobody in the file calls returns it.
    ``applied``: parallelize_module was given it.
    """

    span: Span
    entries: "dict[Hashable, tuple[Value, Value]]" = field(default_factory=dict)
    twice: "list[tuple[Value, Value]]" = field(default_factory=list)
    name: str | None = None
    anchor: Span | None = None
    flowed: bool = False
    handed: bool = False
    returned: bool = False
    applied: bool = False
    planners: "list[Planner]" = field(default_factory=list)

    def put(self, key: "Value", value: "Value") -> None:
        """``table[key] = value``: an equal key keeps its position, but the new token is the one that counts."""
        self.entries[object() if isinstance(key, Unknown) else hashed(key)] = (key, value)

    def find(self, key: "Value") -> "Value | None":
        """The value under an equal key; None when there is none, or when the key is unknown."""
        found = self.entries.get(hashed(key))
        return found[1] if found else None

    def pour(self, other: "Table") -> None:
        """``{**other}``: all items of another table, in its order."""
        self.entries.update(other.entries)
        other.flowed = True

    def written(self) -> "list[tuple[Value, Value]]":
        """The items, each after those that the literal wrote under the same key before."""
        if not self.twice:
            return list(self.entries.values())
        found: list[tuple[Value, Value]] = []
        for mark, item in self.entries.items():
            found += [earlier for earlier in self.twice if hashed(earlier[0]) == mark]
            found.append(item)
        return found

    @property
    def holds_specs(self) -> bool:
        """Whether some value is a ModuleShardingSpec."""
        return any(isinstance(value, Spec) for _, value in self.entries.values())

    @property
    def holds_styles(self) -> bool:
        """Whether some value is a parallel style."""
        return any(isinstance(value, StyleValue) for _, value in self.entries.values())

    @property
    def is_whole(self) -> bool:
        """Whether all keys are known."""
        return not any(isinstance(key, Unknown) for key, _ in self.entries.values())


@dataclass(slots=True)
class Spec:
    """``ModuleShardingSpec(…)``. A field given by position has the value's place as its key's.

    ``strange`` are arguments that no field can be found for: unknown ``**kwargs``, too many by position.
    """

    span: Span
    fields: "dict[str, tuple[Span, Value]]" = field(default_factory=dict)
    twice: "list[tuple[str, Span, Value]]" = field(default_factory=list)
    strange: "list[Unknown]" = field(default_factory=list)


@dataclass(slots=True)
class PlacementValue:
    """``Shard(0)``, ``Replicate()``, ``Partial()``."""

    placement: Placement
    span: Span


@dataclass(slots=True)
class TargetValue:
    """``Target(…)``. ``path`` is None when it was not written."""

    span: Span
    path: "Value | None" = None
    keywords: "dict[str, tuple[Span, Value]]" = field(default_factory=dict)
    strange: "list[Unknown]" = field(default_factory=list)


@dataclass(slots=True)
class Reference:
    """Something that an import (or the interpreter) brings in, by its dotted path. ``found`` is false where the
    package is not known: for names that nothing in the file defines (a star import may bring them) and relative
    imports."""

    path: str
    span: Span
    found: bool = True

    @property
    def word(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


@dataclass(slots=True)
class Function:
    """A function or lambda of this file, with its defaults as they were evaluated. ``plain``: no decorator changes
    what it gives. ``owner`` is bound as first argument."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: "Scope"
    defaults: "dict[str, Value]"
    path: str
    span: Span
    plain: bool = True
    owner: "Value | None" = None


@dataclass(slots=True)
class ClassValue:
    """A class of this file; ``members`` is what its body binds."""

    path: str
    span: Span
    members: "Scope"
    is_enum: bool = False
    style: str | None = None
    """The parallel style that it derives from."""
    bases: "list[Value]" = field(default_factory=list)


@dataclass(slots=True)
class Planner:
    """``ShardingPlanner(…)`` and what its ``plan`` was called with."""

    span: Span
    derive: bool = True
    allow_uncovered_params: bool = False
    calls: "list[tuple[Span, dict[str, Value]]]" = field(default_factory=list)


@dataclass(slots=True, eq=False)
class StyleValue:
    """``ColwiseParallel(…)`` and its like. ``base``: the known style that its class derives from. ``strange``: further
    arguments that cannot be read."""

    span: Span
    name: str
    base: str | None = None
    arguments: "dict[str, tuple[Span, Value]]" = field(default_factory=dict)
    strange: bool = False


@dataclass(slots=True)
class MeshValue:
    """A device mesh: the names of its axes (None: unknown) and how many; the axis that was picked out of another mesh,
    and the axes of that one."""

    span: Span
    axes: tuple[str, ...] | None
    size: int | None
    picked: Const | None = None
    whole: tuple[str, ...] | None = None


@dataclass(slots=True)
class Method:
    """``owner.name`` of a value of this file's own making, about to be called."""

    owner: "Value"
    name: str
    span: Span


@dataclass(slots=True)
class Bound:
    """``functools.partial(function, …)``: arguments that go in front."""

    function: "Value"
    arguments: "Arguments"
    span: Span


@dataclass(slots=True)
class Arguments:
    """Evaluated arguments of one call. ``names`` are the places of the keyword tokens; ``strange`` holds ``*`` and
    ``**`` arguments that cannot be taken apart. ``assumed``: some of it rests on a parameter's default."""

    positional: "list[Value]" = field(default_factory=list)
    keywords: "dict[str, Value]" = field(default_factory=dict)
    names: dict[str, Span] = field(default_factory=dict)
    twice: "list[tuple[str, Span, Value]]" = field(default_factory=list)
    strange: "list[Unknown]" = field(default_factory=list)
    assumed: bool = False

    def get(self, position: int, name: str) -> "Value | None":
        """The argument at a position or under a name."""
        if position < len(self.positional):
            return self.positional[position]
        return self.keywords.get(name)


Value = (
    Const | Items | Unknown | Table | Spec | PlacementValue | TargetValue | Reference | Function | ClassValue | Planner
    | StyleValue | MeshValue | Method | Bound
)  # fmt: skip


_KEY_ITEMS = 64
_KEY_DEPTH = 3


def hashed(key: Value, depth: int = 0) -> Hashable:
    """What makes two keys the same key, as Python's dict sees it; unknown keys are never the same."""
    match key:
        case Const():
            return ("const", key.value)
        case Items(kind="tuple", items=items) if len(items) <= _KEY_ITEMS and depth < _KEY_DEPTH:
            return ("tuple", *(hashed(i, depth + 1) for i in items))
        case Reference():
            return ("reference", key.path)
        case Function() | ClassValue():
            return ("own", key.path)
        case PlacementValue():
            return ("placement", key.placement)
    return ("unknown", id(key))


NOT_PLAIN: Any = type("NotPlain", (), {"__slots__": ()})()
"""Stands for what is no constant and no sequence of them; compare with ``is``."""


def plain(value: Value, room: int = 10_000) -> Any:
    """A constant, or a list, tuple or set of them, as itself; NOT_PLAIN for everything else and for what is larger."""
    found, _ = _plain(value, room)
    return found


def _plain(value: Value, room: int) -> tuple[Any, int]:
    if isinstance(value, Const):
        return value.value, room - 1
    if not isinstance(value, Items) or value.rest is not None:
        return NOT_PLAIN, room
    parts: list[Any] = []
    for item in value.items:
        part, room = _plain(item, room - 1) if room > 0 else (NOT_PLAIN, 0)
        if part is NOT_PLAIN:
            return NOT_PLAIN, room
        parts.append(part)
    if value.kind == "set":
        return (NOT_PLAIN if any(isinstance(p, list) for p in parts) else frozenset(parts)), room
    return (tuple(parts) if value.kind == "tuple" else parts), room


def truth(value: Value) -> bool | None:
    """Whether a value counts as true; None when that cannot be told."""
    match value:
        case Unknown() | Method():
            return None
        case Const():
            return bool(value.value)
        case Items():
            return True if value.items else None if value.rest else False
        case Table():
            return bool(value.entries) and (True if value.is_whole else None)
        case Reference():
            return None
    return True


def named(value: Value) -> str:
    """What a value is, for reasons."""
    match value:
        case Const():
            return "None" if value.value is None else f"a {type(value.value).__name__}"
        case Items():
            return f"a {value.kind}"
    words = {
        Table: "a dict", Spec: "a ModuleShardingSpec", PlacementValue: "a placement", TargetValue: "a Target",
        Function: "a function", ClassValue: "a class", Planner: "a planner", StyleValue: "a parallel style",
        MeshValue: "a device mesh",
    }  # fmt: skip
    return words.get(type(value), "a value")
