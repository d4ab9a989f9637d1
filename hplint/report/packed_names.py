"""Names of many modules in little room: equal layers as ranges of numbers."""

from collections.abc import Iterable
from typing import Any

from hplint.report.folding import ranges

Numbers = tuple[str, ...]
Packed = list[list[Any]]
"""``[segments, numbers]`` pairs. A segment is None where a number stands; ``numbers`` is a list of
``[ranges, numbers of what follows]``, with 0 for the last one."""


def pack(names: Iterable[str]) -> Packed:
    """Dotted names, grouped by where they have numbers. No name is lost or made up; the order is not kept."""
    groups: dict[tuple[str | None, ...], list[Numbers]] = {}
    for name in names:
        segments = name.split(".")
        shape = tuple(None if _is_number(s) else s for s in segments)
        groups.setdefault(shape, []).append(tuple(s for s in segments if _is_number(s)))
    return [[list(shape), _packed(numbers)] for shape, numbers in groups.items()]


def unpack(packed: Packed) -> list[str]:
    """The names again: what the page does in the browser."""
    return [
        ".".join(next(rest) if s is None else s for s in shape)
        for shape, numbers in packed
        for rest in map(iter, _unpacked(numbers))
    ]


def _is_number(segment: str) -> bool:
    # A name such as 007 or ٣ must come back as it was.
    return segment.isdecimal() and segment.isascii() and (segment == "0" or segment[0] != "0")


def _packed(numbers: list[Numbers]) -> Any:
    if not numbers[0]:
        return 0
    below: dict[str, list[Numbers]] = {}
    for first, *rest in numbers:
        below.setdefault(first, []).append(tuple(rest))
    alike: dict[str, tuple[list[str], Any]] = {}
    for first, rests in below.items():
        inner = _packed(rests)
        alike.setdefault(repr(inner), ([], inner))[0].append(first)
    return [[ranges(firsts), inner] for firsts, inner in alike.values()]


def _unpacked(numbers: Any) -> Iterable[Numbers]:
    if numbers == 0:
        yield ()
        return
    for spelled, inner in numbers:
        rests = list(_unpacked(inner))
        for part in spelled.split(","):
            first, _, last = part.partition("-")
            for number in range(int(first), int(last or first) + 1):
                yield from ((str(number), *rest) for rest in rests)
