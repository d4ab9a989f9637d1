"""Which way conditions go that cannot be decided statically."""

import ast

RUNS = 24
"""Runs of one piece of code at most."""


class Worlds:
    """Walks through the branches of undecidable conditions, one consistent choice a run.

    The code is run again and again, until each branch was taken in some run (not each combination: with n conditions
    there are at most n + 1 runs). Within one run a condition that is written the same goes the same way everywhere.
    A run first repeats the choices that lead to a branch not taken yet; there it turns off, and from there on it takes
    each condition's likelier side.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[tuple[str, bool], ...]] = [()]
        self._seen: set[tuple[str, bool]] = set()
        self._forced: dict[str, bool] = {}
        self._path: dict[str, bool] = {}
        self._runs = 0

    def begin(self) -> bool:
        """Start the next run; False when every branch was taken (or there were too many runs)."""
        if not self._waiting or self._runs >= RUNS:
            return False
        self._runs += 1
        self._forced = dict(self._waiting.pop(0))
        self._path = {}
        return True

    def decide(self, test: ast.expr, likely: bool) -> bool:
        """The way that an undecidable condition goes in this run."""
        turned = False
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, turned = test.operand, not turned
        return self.take(ast.dump(test), likely != turned) != turned

    def take(self, key: str, likely: bool) -> bool:
        """The same for anything that goes one way or the other; ``key`` tells it from other such things."""
        if key not in self._path:
            self._choose(key, likely)
        return self._path[key]

    def _choose(self, key: str, likely: bool) -> None:
        choice = self._forced.get(key, likely)
        self._seen.add((key, choice))
        if (key, not choice) not in self._seen:
            self._seen.add((key, not choice))
            self._waiting.append((*self._path.items(), (key, not choice)))
        self._path[key] = choice
