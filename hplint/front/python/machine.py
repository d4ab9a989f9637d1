"""The state of one static reading of a Python file, and its bounds."""

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hplint.front.python.bound import bound_names
from hplint.front.python.places import Places
from hplint.front.python.values import ClassValue, Const, Function, Origin, Table, Unknown, Value
from hplint.front.python.worlds import Worlds
from hplint.text.source import Source
from hplint.text.span import Span

if TYPE_CHECKING:
    from hplint.front.tp_plan.claims import Claim

STEPS = 400_000
"""Expressions and statements evaluated in one file, over all runs: a few seconds."""
LOOP = 20_000
"""Items of one loop, and of one sequence or dict made by an operation."""
TEXT = 20_000
"""Characters of one computed string."""
DEPTH = 60
"""Expressions, blocks and calls inside one another."""


class OutOfSteps(Exception):
    """The file needs more steps than are allowed: the run ends here, what was found stays."""


class Slip(NamedTuple):
    """A name that is read as the plan word ``meant``. ``certain``: nothing can define the name itself."""

    name: str
    meant: str
    certain: bool


@dataclass(slots=True)
class Applied:
    """A call of ``parallelize_module``: its module, mesh and plan as they were then. ``events``: how many of the run's
    events came before."""

    module: Value | None
    mesh: Value | None
    table: Table | None
    items: list[tuple[Value, Value]]
    span: Span
    events: int


@dataclass(slots=True)
class Run:
    """What one run of the file did to modules: plans applied, and calls (kind, how the module is reached, place) that
    matter to a plan applied later. Runs of the same code have the same ``code``; ``function`` is the id of the node of
    a function that was run by itself."""

    code: int = 0
    function: int | None = None
    applied: list[Applied] = field(default_factory=list)
    events: list[tuple[str, Origin, Span]] = field(default_factory=list)


class Machine:
    """Reads one file. ``tables`` are all dicts that were made, in order;

    ``assumed`` is set while an expression is evaluated that rests on the default of a parameter.
    """

    limit = STEPS

    def __init__(self, source: Source, tree: ast.Module) -> None:
        self.source = source
        self.tree = tree
        self.places = Places(source)
        self.worlds = Worlds()
        self.tables: list[Table] = []
        self.unread: list[Unknown] = []
        """Plans that were handed to a planner and cannot be read at all."""
        self.runs: list[Run] = []
        """What each run did to modules."""
        self.claims: list[Claim] = []
        """What was given to the name of a ``tp_plan``."""
        self.loaded: dict[int, Const] = {}
        """The model that is loaded with a distributed configuration, by the id of its dict."""
        self.classes: dict[int, ClassValue] = {}
        """Classes of the file, by the id of the scope of their body."""
        self.fresh: list[Function] = []
        """Functions that were defined and not looked at yet."""
        self._defined: set[int] = set()
        self.called: set[int] = set()
        self.running: set[int] = set()
        """Functions, by the id of their node: called from somewhere in the file, and being followed now."""
        self.generators: dict[int, bool] = {}
        """Whether a function is a generator, by the id of its node."""
        self.slips: dict[Span, Slip] = {}
        """Misspelt plan words, by the place of their use."""
        self.undefined: dict[str, str] = {}
        """Reason of an unknown value whose name nothing in the file defines -> the plan word that it may mean."""
        self._bound: frozenset[str] | bool | None = False
        self.assumed = False
        self.steps = 0
        self.depth = 0
        self.result: Value | None = None
        """What the last ``return`` gave."""
        self.stopped: Span | None = None
        """Where the steps ran out."""

    @property
    def run(self) -> "Run":
        """The run that goes on now."""
        if not self.runs:
            self.runs.append(Run())
        return self.runs[-1]

    def step(self, node: ast.expr | ast.stmt) -> None:
        """Count one evaluation."""
        self.steps += 1
        if self.steps > self.limit:
            self.stopped = self.stopped or self.places.span(node)
            raise OutOfSteps

    def may_be_bound(self, name: str) -> bool:
        """Whether anything in the file, or behind a star import of it, may give a name its value."""
        if self._bound is False:
            self._bound = bound_names(self.tree)
        return not isinstance(self._bound, frozenset) or name in self._bound

    def note_slip(self, span: Span, name: str, meant: str, certain: bool) -> None:
        """Remember that the name at a place is read as a plan word."""
        self.slips[span] = Slip(name, meant, certain)

    def define(self, function: Function) -> None:
        """Note a function, once however often its ``def`` is followed."""
        if id(function.node) not in self._defined:
            self._defined.add(id(function.node))
            self.fresh.append(function)

    def new_table(self, span: Span) -> Table:
        """A dict that may turn out to be a plan."""
        table = Table(span)
        self.tables.append(table)
        return table
