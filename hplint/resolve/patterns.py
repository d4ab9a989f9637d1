"""Globs that hit some modules of a model and no others: how a new entry names the modules that it is about."""

import re
from collections.abc import Iterable

from hplint.plan.ranges import globs
from hplint.resolve.match import Matcher

_NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")


def exact_patterns(names: Iterable[str], matcher: Matcher) -> list[str]:
    """Patterns that together hit all of these modules of the matcher's tree and nothing else of it: a star for every
    number where that is exact (``*.name`` where it hits more of them), else ranges of numbers, else names. The root is
    left out: only a pattern that hits everything hits it."""
    wanted = set(names)
    shapes: dict[str, list[str]] = {}
    for name in matcher.names:
        if name in wanted and name:
            shapes.setdefault(_NUMBER.sub("*", name), []).append(name)
    found: list[str] = []
    covered: set[str] = set()
    for pattern, members in shapes.items():
        if covered.issuperset(members):
            continue
        choices = {p: matcher.hits(p) for p in (pattern, f"*.{pattern.rpartition('.')[2]}") if len(members) > 1}
        exact = [p for p, hits in choices.items() if wanted.issuperset(hits)]
        if exact:
            best = max(exact, key=lambda p: len(choices[p]))
            found.append(best)
            covered.update(choices[best])
        else:
            found += globs(members)
            covered.update(members)
    return found
