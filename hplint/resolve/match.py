"""Which modules a glob hits: one automaton run down the module tree."""

from hplint.model.tree import ModuleTree
from hplint.plan.pattern import Pattern

_Hits = tuple[int, ...]


class Matcher:
    """Finds the modules of one tree that globs hit, as ``fnmatch.fnmatchcase`` over all names would.

    Equal subtrees share a node, and what a pattern hits below a node depends only on the node and on the automaton's
    state there. So a pattern costs its distinct (node, state) pairs plus its hits, not the number of modules. Branches
    without a live state, or without the last segment that the pattern spells out, are not entered.
    """

    def __init__(self, tree: ModuleTree) -> None:
        self.tree = tree
        self.names = list(tree.modules)
        """All FQNs in module order: a subtree is a slice."""
        self._found: dict[str, tuple[str, ...]] = {}
        self._sizes, self._below = _measure(tree)

    def hits(self, text: str) -> tuple[str, ...]:
        """FQNs of the modules that the glob matches, in module order, the root ``""`` included where it does."""
        found = self._found.get(text)
        if found is None:
            pattern = Pattern(text)
            names = self.names
            found = self._found[text] = tuple([names[i] for i in self._positions(pattern)])
        return found

    def _positions(self, pattern: Pattern) -> list[int]:
        root = self.tree.root
        start = [0] if pattern.accepts(pattern.start) else []
        below = self._below_root(pattern, (root, pattern.start)) if self._enters(pattern, root) else ()
        return start + [1 + i for i in below]

    def _below_root(self, pattern: Pattern, root: tuple[int, int]) -> _Hits:
        """Positions of hits strictly below a node, the first child being 0. An explicit stack: trees may be deep."""
        memory: dict[tuple[int, int], _Hits] = {}
        stack = [root]
        while stack:
            key = stack[-1]
            if key in memory:
                stack.pop()
                continue
            steps = self._steps(pattern, *key)
            missing = {k for _, _, k in steps if k is not None and k not in memory}
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            found: list[int] = []
            for at, hit, below in steps:
                if hit:
                    found.append(at)
                if below is not None:
                    found.extend([at + 1 + i for i in memory[below]])
            memory[key] = tuple(found)
        return memory[root]

    def _steps(self, pattern: Pattern, index: int, states: int) -> list[tuple[int, bool, tuple[int, int] | None]]:
        """For each live child: its position, whether it is a hit, and the (node, state) to go on with below it."""
        steps: list[tuple[int, bool, tuple[int, int] | None]] = []
        position = 0
        sizes = self._sizes
        for name, child in self.tree.nodes[index].children:
            there = pattern.read(states, name)
            if there:
                hit = pattern.accepts(there) and (pattern.last is None or pattern.last == name)
                below = None
                if self._enters(pattern, child):
                    inside = pattern.read(there, ".")
                    below = (child, inside) if inside else None
                if hit or below:
                    steps.append((position, hit, below))
            position += sizes[child]
        return steps

    def _enters(self, pattern: Pattern, index: int) -> bool:
        below = self._below[index]
        return bool(below) if pattern.last is None else pattern.last in below


def _measure(tree: ModuleTree) -> tuple[dict[int, int], dict[int, frozenset[str]]]:
    """Per node: the number of modules in its subtree, itself included, and all segment names below it."""
    sizes: dict[int, int] = {}
    below: dict[int, frozenset[str]] = {}
    stack = [tree.root]
    while stack:
        index = stack[-1]
        children = tree.nodes[index].children
        missing = {n for _, n in children if n not in sizes}
        if index in sizes or not missing:
            stack.pop()
            sizes[index] = 1 + sum(sizes[n] for _, n in children)
            parts = {n: below[n] for _, n in children}
            below[index] = frozenset(name for name, _ in children).union(*parts.values())
        else:
            stack.extend(missing)
    return sizes, below
