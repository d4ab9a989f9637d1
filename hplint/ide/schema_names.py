"""Module names of a model as few regular expressions and globs: equal layers are folded, however many there are."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hplint.plan.ranges import globs

_NUMBER = re.compile(r"[0-9]+")
_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|/]")
Numbers = tuple[str, ...]
"""The number segments of one name, in order."""


class Shape(NamedTuple):
    """Names that differ in whole numbers alone: the glob with a star for each number, and the names."""

    glob: str
    names: tuple[str, ...]

    @property
    def is_folded(self) -> bool:
        return "*" in self.glob and len(self.names) > 1


def escaped(text: str) -> str:
    """A text as an expression. Only what must be is escaped: JavaScript refuses needless escapes."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def fold(names: Iterable[str]) -> list[Shape]:
    """Put names together by their shape, in the order of the first of each. The root ``""`` is left out."""
    found: dict[str, list[str]] = {}
    for name in names:
        if name:
            found.setdefault(".".join("*" if _NUMBER.fullmatch(s) else s for s in name.split(".")), []).append(name)
    return [Shape(glob if len(members) > 1 else members[0], tuple(members)) for glob, members in found.items()]


def regex(shape: Shape) -> str:
    """An expression, without anchors, that matches exactly the names of a shape, in Python and in JavaScript."""
    if not shape.is_folded:
        return "|".join(escaped(name) for name in shape.names)
    parts = shape.glob.split(".")
    places = [i for i, part in enumerate(parts) if part == "*"]
    rows = {tuple(name.split(".")[i] for i in places) for name in shape.names}
    return _joined(parts, places, sorted(rows, key=lambda r: [(len(n), n) for n in r]))


def anchored(expressions: Iterable[str]) -> str:
    """One anchored expression that matches whatever one of several does."""
    return f"^(?:{'|'.join(expressions)})$"


def _joined(parts: Sequence[str], places: Sequence[int], rows: Sequence[Numbers]) -> str:
    """The expression of some names from their first part on. Numbers that are followed by the same go together."""
    if not places:
        return r"\.".join(map(escaped, parts))
    first, rest = places[0], [p - places[0] - 1 for p in places[1:]]
    followers: dict[str, list[Numbers]] = {}
    for number, *others in rows:
        followers.setdefault(number, []).append(tuple(others))
    together: dict[tuple[Numbers, ...], list[str]] = {}
    for number, after in followers.items():
        together.setdefault(tuple(after), []).append(number)
    head = "".join(f"{escaped(part)}\\." for part in parts[:first])
    tail = parts[first + 1 :]
    choices = []
    for following, numbers in together.items():
        end = rf"\.{_joined(tail, rest, following)}" if tail else ""
        choices.append(f"(?:{'|'.join(globs(numbers))}){end}")
    return head + (choices[0] if len(choices) == 1 else f"(?:{'|'.join(choices)})")
