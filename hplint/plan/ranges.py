"""Globs that hit some modules and no others: layers 3 to 60 as ``[3-9]``, ``[1-5][0-9]`` and ``60``."""

import re
from collections.abc import Iterable, Iterator

_NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")


def globs(names: Iterable[str]) -> list[str]:
    """Patterns that match these module names and nothing else but names that differ from one of them in the same
    number and are among them too. Names that share their other parts go together where one number alone differs."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in dict.fromkeys(names):
        # The first number counts the layers; what further numbers count (experts, say) stays as it is.
        first = _NUMBER.search(name)
        shape = (name[: first.start()], name[first.end() :]) if first else (name, "")
        groups.setdefault(shape, []).append(first[0] if first else "")
    found: list[str] = []
    for (head, tail), numbers in groups.items():
        spelled = _ranges(sorted(numbers, key=lambda n: (len(n), n))) if numbers[0] else numbers
        found += [f"{head}{number}{tail}" for number in spelled]
    return found


def _ranges(numbers: list[str]) -> Iterator[str]:
    """Numbers, sorted and written without leading zeros, as few globs. Each class stands for one digit."""
    by_head: dict[str, list[str]] = {}
    for number in numbers:
        by_head.setdefault(number[:-1], []).append(number[-1])
    # Heads of one length whose last digits are alike share a pattern.
    alike: dict[tuple[int, str], list[str]] = {}
    for head, digits in by_head.items():
        alike.setdefault((len(head), _digits(digits)), []).append(head)
    for (length, last), heads in alike.items():
        if length == 0:
            yield last
        elif len(heads) == 1:
            yield heads[0] + last
        else:
            yield from (head + last for head in _ranges(heads))


def _digits(digits: list[str]) -> str:
    """Sorted digits as one digit or a class of them, neighbours as a range."""
    if len(digits) == 1:
        return digits[0]
    runs: list[list[str]] = []
    for digit in digits:
        if runs and int(digit) == int(runs[-1][-1]) + 1:
            runs[-1].append(digit)
        else:
            runs.append([digit])
    return "[" + "".join(r[0] if len(r) == 1 else f"{r[0]}-{r[-1]}" if len(r) > 2 else "".join(r) for r in runs) + "]"
