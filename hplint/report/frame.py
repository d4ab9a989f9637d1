"""Code frames: the lines of a file around the places of a finding, with markers below them.

3 │   params:
4 │     up_proj.weight: {tp: shrd(0)}
  │                          ^^^^^^^
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hplint.report.style import Style
from hplint.report.visible import cells, printable, width, wrap
from hplint.text.source import Source
from hplint.text.span import Span

CONTEXT = 1
"""Lines shown above and below the main place."""
TALL = 6
"""Places of more lines than this are shown by their first and last lines."""


class Mark(NamedTuple):
    """A place to mark, and what stands there. ``main`` is the place of the finding itself."""

    span: Span
    label: str = ""
    main: bool = True


class _Place(NamedTuple):
    """A mark in lines (1-based) and offsets into them (0-based); ``end`` is exclusive."""

    mark: Mark
    line: int
    start: int
    end_line: int
    end: int

    @property
    def is_tall(self) -> bool:
        return self.end_line > self.line


def frame(source: Source, marks: Iterable[Mark], style: Style, role: str = "error") -> list[str]:
    """The frame of a finding: all its places in file order, far ones parted by a gap. Empty for an empty file.

    ``role`` colours the main place; see style.py.
    """
    if not source.text:
        return []
    places = [_place(source, mark._replace(label=printable(mark.label, style))) for mark in marks]
    numbers = _shown(places, source)
    gutter = len(str(max(numbers)))
    tall = sorted((p for p in places if p.is_tall), key=lambda p: (p.line, -p.end_line))
    return list(_Frame(source, style, role, gutter, tall).render(numbers, places))


class _Frame:
    """The layout that all lines of one frame share: the width of line numbers and of the bars of tall places."""

    def __init__(self, source: Source, style: Style, role: str, gutter: int, tall: list[_Place]) -> None:
        self.source = source
        self.role = role
        self.style = style
        self.gutter = gutter
        self.tall = tall
        self.room = max(20, style.width - gutter - 4 - 2 * len(tall))

    def render(self, numbers: list[int], places: list[_Place]) -> Iterator[str]:
        before = numbers[0]
        for number in numbers:
            if number > before + 1:
                yield self._line(self.style.glyph("…", "..."), self._bars(before, True), "", "")
            before = number
            here = [p for p in places if not p.is_tall and p.line == number]
            for group in self._groups(here) or [[]]:
                yield from self._annotated(number, group)
            for place in self.tall:
                if place.end_line == number:
                    yield from self._closing(place, number)

    def _annotated(self, number: int, places: list[_Place]) -> Iterator[str]:
        shown, columns = self._cut(number, places)
        yield self._line(str(number), self._bars(number, False), shown, "")
        for layer in _layers(places, columns):
            yield from (self._line("", self._bars(number, True), "", text) for text in self._markers(layer))

    def _markers(self, layer: list[tuple[int, int, Mark]]) -> Iterator[str]:
        """Underlines from left to right; the last one's label beside it, the others' below, each under its own."""
        _, last_end, last = layer[-1]
        inline = last.label if last_end + 1 + width(last.label) <= self.room else ""
        yield self._underlines(layer) + (f" {self._label(inline, last)}" if inline else "")
        waiting = [m for m in layer if m[2].label and (m is not layer[-1] or not inline)]
        if waiting and waiting[-1][0] <= self.room - 40:
            yield self._connectors(waiting)
        while waiting:
            start, _, mark = waiting.pop()
            indent = min(start, max(0, self.room - 40))
            for text in wrap(mark.label, max(20, self.room - indent), self.style):
                rest = self._connectors([w for w in waiting if w[0] < indent])
                used = width(rest) if not self.style.color else _plain_width(rest)
                yield rest + " " * (indent - used) + self._label(text, mark)

    def _underlines(self, layer: list[tuple[int, int, Mark]]) -> str:
        text, at = "", 0
        for start, end, mark in layer:
            sign = "^" if mark.main else "-"
            text += " " * (start - at) + self._label(sign * (end - start), mark)
            at = end
        return text

    def _connectors(self, waiting: list[tuple[int, int, Mark]]) -> str:
        text, at = "", 0
        for start, _, mark in waiting:
            text += " " * (start - at) + self._label(self.style.glyph("│", "|"), mark)
            at = start + 1
        return text

    def _closing(self, place: _Place, number: int) -> Iterator[str]:
        """The line below the last line of a tall place, where its bar ends in its label."""
        if not place.mark.label:
            return
        index = self.tall.index(place)
        corner = self.style.glyph("╰─", "\\-")
        bars = self._bars(number, True)[: 2 * index]
        for text in wrap(place.mark.label, self.room, self.style):
            yield self._line("", "", "", "".join(bars) + self._label(f"{corner} {text}", place.mark))
            corner = "  "

    def _bars(self, number: int, below: bool) -> list[str]:
        """One bar and one space for each tall place that a line (or the space below it) lies in."""
        bars = []
        for place in self.tall:
            bar = " "
            if place.line == number and not below:
                bar = self.style.glyph("╭", "/")
            elif number == place.end_line and not below and not place.mark.label:
                bar = self.style.glyph("╰", "\\")
            elif place.line <= number and (number < place.end_line or (number == place.end_line and not below)):
                bar = self.style.glyph("│", "|")
            bars += [self._label(bar, place.mark) if bar != " " else bar, " "]
        return bars

    def _label(self, text: str, mark: Mark) -> str:
        return self.style.paint(text, self.role if mark.main else "related")

    def _line(self, number: str, bars: "list[str] | str", code: str, markers: str) -> str:
        edge = self.style.paint(f"{number:>{self.gutter}} {self.style.glyph('│', '|')}", "dim")
        return f"{edge} {''.join(bars)}{code}{markers}".rstrip()

    def _groups(self, places: list[_Place]) -> list[list[_Place]]:
        """Places of one line that can be shown together: a line too long for that is shown again."""
        groups: list[list[_Place]] = []
        for place in sorted(places, key=lambda p: (p.start, p.end)):
            is_short = len(_line(self.source, place.line)) <= self.room
            if groups and (is_short or place.end - groups[-1][0].start <= self.room * 2 // 3):
                groups[-1].append(place)
            else:
                groups.append([place])
        return groups

    def _cut(self, number: int, places: list[_Place]) -> tuple[str, dict[int, int]]:
        """The line as shown, cut around its places, and offset -> display column for the ends of the places."""
        line = _line(self.source, number)
        first = places[0].start if places else 0
        # Only what could be shown is measured: one line may be a whole file.
        low = max(0, first - self.room) if len(line) > 2 * self.room else 0
        high = min(len(line), low + 4 * self.room)
        shown = cells(line[low:high], self.style)
        edges = [0]
        for cell in shown:
            edges.append(edges[-1] + width(cell))
        left, right = self._window(edges, first - low, low > 0, high < len(line))
        more = self.style.glyph("…", "...")
        before = more if left > 0 or low > 0 else ""
        after = more if right < len(shown) or high < len(line) else ""
        shift = edges[left] - width(before)
        columns = {}
        for offset in {o for p in places for o in (p.start, p.end)}:
            index = min(max(offset - low, left), right)
            columns[offset] = edges[index] - shift + max(0, min(offset - low - len(shown), 1))
        return before + "".join(shown[left:right]) + after, columns

    def _window(self, edges: list[int], first: int, more_left: bool, more_right: bool) -> tuple[int, int]:
        """Indexes of the first cell shown and of the one past the last, so that the first place is well inside."""
        room = self.room - 6
        if edges[-1] <= room and not more_left and not more_right:
            return 0, len(edges) - 1
        first = min(first, len(edges) - 1)
        left = 0
        if edges[first] > room * 2 // 3 or more_left:
            left = next(i for i, edge in enumerate(edges) if edge >= edges[first] - room // 3)
        right = left
        while right < len(edges) - 1 and edges[right + 1] - edges[left] <= room:
            right += 1
        return left, right


def _place(source: Source, mark: Mark) -> _Place:
    span = mark.span
    start = source.position(span.start)
    end = source.position(max(span.start, span.end))
    end_line, end_offset = end.line, end.column - 1
    # Blocks reach up to what follows them: the line ends and blank lines before it are not worth showing.
    while end_line > start.line and not _line(source, end_line)[:end_offset].strip():
        end_line -= 1
        end_offset = len(_line(source, end_line))
    return _Place(mark, start.line, start.column - 1, end_line, end_offset)


def _shown(places: list[_Place], source: Source) -> list[int]:
    """The numbers of the lines to show, in order; single hidden lines are shown rather than parted by a gap."""
    numbers: set[int] = set()
    for place in places:
        lines = range(place.line, place.end_line + 1)
        numbers.update(lines if len(lines) <= TALL else (*lines[:3], *lines[-2:]))
        if place.mark.main:
            numbers.update(_context(source, place))
    ordered = sorted(numbers)
    filled: list[int] = []
    for number in ordered:
        if filled and number == filled[-1] + 2:
            filled.append(number - 1)
        filled.append(number)
    return filled


def _context(source: Source, place: _Place) -> Iterator[int]:
    last = len(source.starts)
    for number in (place.line - CONTEXT, place.end_line + CONTEXT):
        if 1 <= number <= last and _line(source, number).strip():
            yield number


def _layers(places: list[_Place], columns: dict[int, int]) -> list[list[tuple[int, int, Mark]]]:
    """(start column, end column, mark) from left to right, in as few rows as let no two overlap. Empty places get one
    column."""
    layers: list[list[tuple[int, int, Mark]]] = []
    for place in sorted(places, key=lambda p: (not p.mark.main, p.start)):
        start = columns[place.start]
        item = (start, max(columns[place.end], start + 1), place.mark)
        for layer in layers:
            if all(item[1] <= other[0] or item[0] >= other[1] for other in layer):
                layer.append(item)
                layer.sort(key=lambda i: i[:2])
                break
        else:
            layers.append([item])
    return layers


def _line(source: Source, number: int) -> str:
    return source.line(number)


def _plain_width(painted: str) -> int:
    size, skip = 0, False
    for char in painted:
        if char == "\x1b":
            skip = True
        elif not skip:
            size += 1
        elif char == "m":
            skip = False
    return size
