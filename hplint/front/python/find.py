"""Finds the plan dicts of a Python file."""

import ast
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

from hplint.front.keys import PLAN_OVERRIDES
from hplint.front.nodes import Mapping, Node, PlacementNode, Scalar, Sequence, TargetNode
from hplint.front.python import blocks as python_blocks
from hplint.front.python.machine import Machine, OutOfSteps, Run
from hplint.front.python.nodes import Converter
from hplint.front.python.scope import PLANNER, SPEC, Scope
from hplint.front.python.values import NO_DEFAULT, Const, Function, Items, Planner, Table, Unknown, Value
from hplint.front.python.worlds import Worlds
from hplint.text.span import START, Span

Call = tuple[Span, dict[str, Value]]


@dataclass(slots=True)
class Candidate:
    """A dict that is a plan, its items as nodes, and the planner and the ``plan`` call that use it."""

    table: Table
    converter: Converter
    items: list[tuple[Node | None, Node]]
    planner: Planner | None
    call: Call | None

    @property
    def place(self) -> Span:
        """Where it stands: the name that holds it, else the dict."""
        return self.table.anchor or self.table.span


def run_file(m: Machine, whole: bool = True) -> None:
    """Follow the whole file: its own statements, then every function that none of them called, those that name a plan
    first. Without ``whole`` only these are followed, and those that call them: nothing else can make a ``tp_plan``.

    Parameters of such functions have their defaults, and are unknown without one.
    """
    module: Scope | None = None
    for scope in _runs(m, lambda: Scope(names={"__name__": Const("__main__", START)})):
        module = module or scope
        _guarded(m, m.tree.body, scope)
    concerned = None if whole else _concerned(m)
    telling: deque[Function] = deque()
    others: deque[Function] = deque()
    while m.fresh or telling or others:
        for function in m.fresh:
            if concerned is None:
                (telling if _names_plan(m, function) else others).append(function)
            elif id(function.node) in concerned:
                telling.append(function)
        m.fresh = []
        if not telling and not others:
            break
        function = (telling or others).popleft()
        if id(function.node) not in m.called:
            _stand_alone(m, function)


def _names_plan(m: Machine, function: Function) -> bool:
    assert not isinstance(function.node, ast.Lambda)
    text = m.source.cut(m.places.span(function.node))
    return any(word in text for word in (SPEC, PLANNER, PLAN_OVERRIDES, "parallelize_module"))


def _concerned(m: Machine) -> set[int]:
    """The functions that name a ``tp_plan``, or call one that does, by the id of their node. Of methods only those that
    are about plans by their own name are followed from where they are called."""
    found: set[int] = set()
    methods = {id(part) for node in ast.walk(m.tree) if isinstance(node, ast.ClassDef) for part in node.body}
    waiting = [
        (node, m.source.cut(m.places.span(node)))
        for node in ast.walk(m.tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    named = "p_plan"
    while named:
        word = re.compile(named)
        called = [node for node, text in waiting if id(node) not in found and word.search(text)]
        found.update(map(id, called))
        named = "|".join(rf"\b{n.name}\b" for n in called if id(n) not in methods or "plan" in n.name)
    return found


def _runs(m: Machine, new: Callable[[], Scope], function: int | None = None) -> Iterator[Scope]:
    m.worlds = Worlds()
    code = len(m.runs)
    while m.stopped is None and m.worlds.begin():
        m.runs.append(Run(code, function))
        yield new()


def _stand_alone(m: Machine, function: Function) -> None:
    node = function.node
    assert not isinstance(node, ast.Lambda)
    name = node.name
    for scope in _runs(m, lambda: Scope(function.scope, "function", title=name, place=function.span), id(node)):
        parameters = node.args
        for part in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs):
            unknown = Unknown(m.places.span(part), f"`{part.arg}` {NO_DEFAULT}", False, True)
            scope.bind(part.arg, function.defaults.get(part.arg, unknown), part.arg in function.defaults)
        for extra in (parameters.vararg, parameters.kwarg):
            if extra is not None:
                reason = f"`{extra.arg}` is what a caller gives"
                scope.bind(extra.arg, Unknown(m.places.span(extra), reason, False, True))
        m.result = None
        _guarded(m, node.body, scope)
        if m.result is not None:
            _give_back(m.result)


def _give_back(value: Value, depth: int = 0) -> None:
    """Note that a value leaves the file."""
    if isinstance(value, Table):
        value.returned = True
    elif isinstance(value, Items) and depth < 3:
        for item in value.items:
            _give_back(item, depth + 1)


def _guarded(m: Machine, body: list[ast.stmt], scope: Scope) -> None:
    try:
        python_blocks.block(m, body, scope)
    except OutOfSteps:
        pass
    except RecursionError:
        m.stopped = m.stopped or (m.places.span(body[0]) if body else START)
    m.depth = 0
    m.running.clear()
    m.places.pin(None)


def candidates(m: Machine) -> list[Candidate]:
    """The plans of the file, in reading order, each once.

    A dict that is poured into another counts only inside that one, unless a planner is given it or it is returned to
    a caller outside the file. Runs in which conditions went other ways make further variants of a dict: those that
    hold nothing new are dropped.
    """
    found: list[Candidate] = []
    for table in m.tables:
        kept = table.handed or table.returned or not table.flowed
        if kept and (table.handed or table.holds_specs):
            found += _of(m, table)
    found = _without_repeats(found) if len(found) > 1 else found
    return sorted(found, key=lambda c: c.place)


def _of(m: Machine, table: Table) -> Iterator[Candidate]:
    converter = Converter(m.source)
    items = converter.items(table)
    for planner in table.planners:
        for call in planner.calls:
            yield Candidate(table, converter, items, planner, call)
        if not planner.calls:
            yield Candidate(table, converter, items, planner, None)
    if not table.planners:
        yield Candidate(table, converter, items, None, None)


def _without_repeats(found: list[Candidate]) -> list[Candidate]:
    marks = [_mark(c) for c in found]
    kept: list[int] = []
    # Larger ones first, so that what they hold is known when the smaller ones are looked at.
    for index in sorted(range(len(found)), key=lambda i: -len(marks[i].entries)):
        if not any(_covers(marks[k], marks[index]) for k in kept):
            kept.append(index)
    return [found[i] for i in sorted(kept)]


@dataclass(slots=True)
class _Mark:
    """What tells two plans apart: their entries by place and value, and the run that they are made for."""

    entries: frozenset[Hashable]
    values: frozenset[Hashable]
    loose: frozenset[Hashable]
    run: Hashable
    bound: bool


def _covers(larger: _Mark, smaller: _Mark) -> bool:
    if smaller.bound and larger.run != smaller.run:
        return False
    return smaller.entries <= larger.entries and smaller.loose <= larger.values


def _mark(candidate: Candidate) -> _Mark:
    known: set[Hashable] = set()
    values: set[Hashable] = set()
    loose: set[Hashable] = set()
    for key, value in candidate.items:
        spec = _sign(value)
        values.add(spec)
        if isinstance(key, Scalar):
            known.add((key.value, key.span, spec))
        else:
            loose.add(spec)
    planner, call = candidate.planner, candidate.call
    settings = [(n, v.value if isinstance(v, Const) else None, v.span) for n, v in call[1].items()] if call else []
    run = (
        planner and (planner.span, planner.derive, planner.allow_uncovered_params),
        call and call[0],
        tuple(settings),
    )
    bound = candidate.table.handed or candidate.table.returned
    return _Mark(frozenset(known), frozenset(values), frozenset(loose), run, bound)


def _sign(node: Node) -> Hashable:
    match node:
        case Mapping():
            return (node.span, *((_sign(k), _sign(v)) for k, v in node.items))
        case Sequence():
            return (node.span, *(_sign(i) for i in node.items))
        case Scalar():
            return (node.span, node.value)
        case PlacementNode():
            return (node.span, node.placement)
        case TargetNode():
            return (node.span, node.target.path)
    return node.span


def unread(m: Machine) -> list[Unknown]:
    """What a planner was given as its plan and cannot be read at all, each place once."""
    return list({u.span: u for u in m.unread}.values())
