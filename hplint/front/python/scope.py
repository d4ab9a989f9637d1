"""Names of a Python file: scopes, imports, and the names that plans are written with."""

from dataclasses import dataclass, field

from hplint.front.python.values import Const, Reference, Value
from hplint.text.near import one_near
from hplint.text.span import Span

SPEC = "ModuleShardingSpec"
PLANNER = "ShardingPlanner"
TARGET = "Target"
MESH_AXIS = "MeshAxisName"
PLACEMENTS = ("Shard", "Replicate", "Partial")
AXES = {"TP": "tp", "CP": "cp", "EP": "ep", "DP": "dp"}
"""Importable shorthands, and what they are equal to."""
ROOTS = ("hyper_parallel", "hyper_models")
"""Packages whose TP, CP, EP and DP are the shorthands. Another package's may be anything."""

PLAN_WORDS = (SPEC, PLANNER, TARGET, MESH_AXIS, *PLACEMENTS, *AXES)
"""Names that are known by themselves, where a star import may have brought them."""


def near_word(name: str) -> str | None:
    """The plan word that a name misspells. Of two letters only the case may differ, or one may be too many: all short
    names are near one another."""
    meant = one_near(name, PLAN_WORDS)
    if meant not in AXES:
        return meant
    letters = name.upper()
    shorter = {letters[:i] + letters[i + 1 :] for i in range(len(letters))}
    return meant if meant == letters or meant in shorter else None


@dataclass(slots=True, eq=False)
class Scope:
    """Names bound in one module, class, function or comprehension. Dotted names hold attributes that were assigned
    (``self.plan``)."""

    parent: "Scope | None" = None
    kind: str = "module"
    names: dict[str, Value] = field(default_factory=dict)
    elsewhere: "dict[str, Scope]" = field(default_factory=dict)
    """Names declared global or nonlocal, and where they live."""
    assumed: set[str] = field(default_factory=set)
    """Names whose value rests on the default of a parameter, which a caller may replace."""
    title: str | None = None
    """The function's name, for what it returns, and the place of it."""
    place: Span | None = None

    def home(self, name: str) -> "Scope | None":
        """The scope that binds a name, looked up outwards. Class bodies are not seen from the functions in them."""
        scope: Scope | None = self
        while scope is not None:
            home = scope.elsewhere.get(name, scope)
            if name in home.names and (scope is self or scope.kind != "class"):
                return home
            scope = scope.parent
        return None

    def find(self, name: str) -> Value | None:
        """The value of a name."""
        home = self.home(name)
        return home.names[name] if home else None

    def bind(self, name: str, value: Value, assumed: bool = False) -> None:
        """Assign to a name."""
        home = self.elsewhere.get(name, self)
        home.names[name] = value
        if assumed:
            home.assumed.add(name)
        else:
            home.assumed.discard(name)

    @property
    def module(self) -> "Scope":
        """The file's own scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    @property
    def function(self) -> "Scope":
        """The function (or module) around comprehensions and class bodies."""
        scope = self
        while scope.parent is not None and scope.kind in ("comprehension", "class"):
            scope = scope.parent
        return scope


def axis_shorthand(reference: Reference) -> Const | None:
    """TP, CP, EP and DP as the strings that they are equal to, and ``MeshAxisName.TP``. A member that the enum lacks
    reads as its lower-case name: an axis that no mesh has."""
    head, _, word = reference.path.rpartition(".")
    if head.rpartition(".")[2] == MESH_AXIS:
        return Const(word.lower(), reference.span)
    root = head.partition(".")[0]
    if word in AXES and (not reference.found or root in ROOTS):
        return Const(AXES[word], reference.span)
    return None


def absolute(path: str, file: str) -> str | None:
    """A relative import path (leading dots) as a dotted path that can be looked up.

    One dot means the plan's own folder, which is always searched; more dots need the folders' names, so that the
    file's path must be relative. None where it leads out of it.
    """
    level = len(path) - len(path.lstrip("."))
    rest = path[level:]
    if level <= 1:
        return rest
    folders = file.split("/")[:-1]
    if file.startswith("/") or ".." in folders or len(folders) < level - 1:
        return None
    kept = [f for f in folders[: len(folders) - level + 1] if f != "."]
    return ".".join([*kept, rest])
