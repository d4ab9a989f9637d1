"""Which modules a glob hits: one automaton run down the module tree."""

from typing import NamedTuple

from hplint.model.tree import ModuleTree
from hplint.plan.pattern import Pattern

_Hits = tuple[int, ...]
_Key = tuple[int, int]
"""(shape, state set): what decides about the hits below a module."""


class _Shape(NamedTuple):
    """A subtree by its names alone; subtrees of equal names are one shape, whatever their classes."""

    kinds: frozenset[int]
    """The shapes of the children."""
    places: dict[str, tuple[int, int]]
    """Child name -> its position below the module (the first child has 0) and its shape."""
    size: int
    """Number of modules, this one included."""
    below: frozenset[str]
    """All segment names below the module."""


class _Step(NamedTuple):
    """One child that is still alive: its position, whether it is a hit, and how to go on below it."""

    position: int
    hit: bool
    below: _Key | None


class _Branch(NamedTuple):
    """How a pattern goes on at the children of a module: ``steps`` to those that it treats by name, and ``needs``, the
    pairs whose hits must be known. ``default``: all other children are alive alike; ``default_hits``: and hits."""

    steps: list[_Step]
    needs: set[_Key]
    default: bool
    default_hits: bool


class Matcher:
    """Finds the modules of one tree that globs hit, as ``fnmatch.fnmatchcase`` over all names would.

    What a pattern hits below a module depends only on the names there and on the automaton's state, and equal layers
    have equal names. So a pattern costs its distinct (shape, state) pairs plus its hits, not the number of modules.
    Branches without a live state, or without the last segment that the pattern spells out, are not entered.
    """

    def __init__(self, tree: ModuleTree) -> None:
        self.names = list(tree.modules)
        """All FQNs in module order: a subtree is a slice."""
        self._found: dict[str, tuple[str, ...]] = {}
        self._shapes: list[_Shape] = []
        self._root = self._read_shapes(tree)

    def hits(self, text: str) -> tuple[str, ...]:
        """FQNs of the modules that the glob matches, in module order, the root ``""`` included where it does."""
        found = self._found.get(text)
        if found is None:
            pattern = Pattern(text)
            names = self.names
            start = names[:1] if pattern.accepts(pattern.start) else []
            # A whole name starts where a segment starts, so the root's children go on from the very first state.
            below = self._below(pattern, (self._root, pattern.start)) if self._enters(pattern, self._root) else ()
            found = self._found[text] = (*start, *[names[1 + i] for i in below])
        return found

    def _below(self, pattern: Pattern, root: _Key) -> _Hits:
        """Positions of hits strictly below a module. An explicit stack: trees may be deeper than Python's."""
        memory: dict[_Key, _Hits] = {}
        branches: dict[_Key, _Branch] = {}
        stack = [root]
        while stack:
            key = stack[-1]
            branch = branches.get(key)
            if branch is None:
                branch = branches[key] = self._branch(pattern, *key)
                if needed := [k for k in branch.needs if k not in memory]:
                    stack.extend(needed)
                    continue
            stack.pop()
            if key not in memory:
                memory[key] = self._combined(pattern, key, branch, memory)
        return memory[root]

    def _combined(self, pattern: Pattern, key: _Key, branch: _Branch, memory: dict[_Key, _Hits]) -> _Hits:
        steps = branch.steps
        if branch.default and (branch.default_hits or any(memory.get(k) for k in branch.needs)):
            steps = self._steps(pattern, self._shapes[key[0]].places, key[1])
        found: list[int] = []
        for position, hit, below in steps:
            if hit:
                found.append(position)
            if below is not None and (inside := memory[below]):
                found.extend([position + 1 + i for i in inside])
        return tuple(found)

    def _branch(self, pattern: Pattern, index: int, states: int) -> _Branch:
        """The children of a module that are alive, before anything is known of what lies below them."""
        shape = self._shapes[index]
        known = pattern.segment(states)
        if known is None:
            steps = self._steps(pattern, shape.places, states)
            return _Branch(steps, {s.below for s in steps if s.below is not None}, False, False)
        default, expected = known
        there = {name: shape.places[name] for name in expected if name in shape.places}
        steps = self._steps(pattern, there, states)
        steps.sort()
        needs = {s.below for s in steps if s.below is not None}
        if inside := pattern.read(default, ".") if default else 0:
            needs.update((n, inside) for n in shape.kinds if self._enters(pattern, n))
        return _Branch(steps, needs, bool(default), pattern.accepts(default))

    def _steps(self, pattern: Pattern, places: dict[str, tuple[int, int]], states: int) -> list[_Step]:
        """The steps to these children, those that can hit nothing left out."""
        steps = []
        for name, (position, child) in places.items():
            there = pattern.read(states, name)
            if not there:
                continue
            below = None
            if self._enters(pattern, child) and (inside := pattern.read(there, ".")):
                below = (child, inside)
            hit = pattern.accepts(there)
            if hit or below:
                steps.append(_Step(position, hit, below))
        return steps

    def _enters(self, pattern: Pattern, shape: int) -> bool:
        below = self._shapes[shape].below
        return bool(below) if pattern.last is None else pattern.last in below

    def _read_shapes(self, tree: ModuleTree) -> int:
        """Fill ``_shapes`` bottom up, without recursion; the shape of the root."""
        shapes: dict[int, int] = {}
        known: dict[tuple[tuple[str, int], ...], int] = {}
        stack = [tree.root]
        while stack:
            children = tree.nodes[stack[-1]].children
            missing = [n for _, n in children if n not in shapes]
            if missing:
                stack.extend(set(missing))
                continue
            key = tuple([(name, shapes[n]) for name, n in children])
            if key not in known:
                known[key] = len(self._shapes)
                self._shapes.append(self._shape(key))
            shapes[stack.pop()] = known[key]
        return shapes[tree.root]

    def _shape(self, children: tuple[tuple[str, int], ...]) -> _Shape:
        places = {}
        position = 0
        for name, child in children:
            places[name] = (position, child)
            position += self._shapes[child].size
        names = frozenset(name for name, _ in children)
        kinds = frozenset(child for _, child in children)
        below = names.union(*(self._shapes[child].below for child in kinds))
        return _Shape(kinds, places, position + 1, below)
