"""Near names: what somebody probably meant to write."""

import re
from collections.abc import Iterable


def distance(a: str, b: str, limit: int) -> int:
    """Optimal-string-alignment distance (insert, delete, replace, swap of neighbours); ``limit + 1`` once it must
    exceed ``limit``."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]


def near(word: str, names: Iterable[str], most: int = 3) -> list[str]:
    """The names that lie near ``word``, nearest first, at most ``most``. About a third of the letters may differ."""
    limit = max(1, min(3, len(word) // 3))
    folded = word.lower()
    found: list[tuple[int, str]] = []
    for name in dict.fromkeys(names):
        if name == word:
            continue
        gap = 0 if name.lower() == folded else distance(folded, name.lower(), limit)
        if gap <= limit:
            found.append((gap, name))
    found.sort()
    return [name for _, name in found[:most]]


def one_near(word: str, names: Iterable[str]) -> str | None:
    """The one name that is clearly meant: nearer than every other, and a slip away. None when there is none, or a
    tie."""
    found = near(word, names, 2)
    if len(found) == 2:
        first, second = (distance(word.lower(), n.lower(), 9) for n in found)
        if first == second:
            return None
    return found[0] if found and is_slip(word, found[0]) else None


def is_slip(word: str, name: str) -> bool:
    """Whether one may be the other misspelt. What differs in a number, in a part of one letter or by a whole part is
    another name, however near: ``fc1`` and ``fc2``, ``q_proj`` and ``o_proj``, ``kv_proj`` and ``kv_b_proj``."""
    if re.findall(r"\d+", word) != re.findall(r"\d+", name):
        return False
    here, there = (re.split(r"[._]", text.lower()) for text in (word, name))
    if len(here) == len(there):
        return all(a == b or min(len(a), len(b)) > 1 for a, b in zip(here, there, strict=True))
    fewer, more = sorted((here, there), key=len)
    return not set(fewer) <= set(more)
