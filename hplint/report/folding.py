"""Equal layers told once: names that differ in their numbers alone become one name with ranges."""

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

Content = TypeVar("Content", bound=Hashable)


def fold(items: Iterable[tuple[str, Content]]) -> list[tuple[str, Content, int]]:
    """(dotted name, content) -> (name with ranges, content, how many), in the order of first appearance.

    Names fold where they have the same content and differ in one number segment, the last number first:
    ``layers.0.experts.3`` folds over experts, then over layers.
    """
    rows = [(tuple(name.split(".")), content, 1) for name, content in items]
    depth = max((len(segments) for segments, _, _ in rows), default=0)
    for position in reversed(range(depth)):
        rows = _fold_at(rows, position)
    return [(".".join(segments), content, count) for segments, content, count in rows]


def _fold_at(
    rows: list[tuple[tuple[str, ...], Content, int]], position: int
) -> list[tuple[tuple[str, ...], Content, int]]:
    groups: dict[tuple[object, ...], tuple[list[str], int, tuple[str, ...], Content]] = {}
    for segments, content, count in rows:
        number = segments[position] if position < len(segments) and segments[position].isdecimal() else None
        key = (segments if number is None else (segments[:position], segments[position + 1 :]), content, number is None)
        numbers, total, _, _ = groups.get(key, ([], 0, segments, content))
        if number is not None:
            numbers.append(number)
        groups[key] = (numbers, total + count, segments, content)
    folded = []
    for numbers, count, segments, content in groups.values():
        if len(numbers) > 1:
            segments = (*segments[:position], f"{{{ranges(numbers)}}}", *segments[position + 1 :])
        folded.append((segments, content, count))
    return folded


def ranges(numbers: Sequence[str]) -> str:
    """``0-3,7`` for 0, 1, 2, 3, 7."""
    found: list[list[int]] = []
    for number in sorted(map(int, numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in found)
