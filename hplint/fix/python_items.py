"""Comma-separated lists of a Python text (dicts, arguments, imported names): what goes out and what comes in."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from hplint.fix.edit import CannotRealise
from hplint.fix.python_lines import Lines
from hplint.fix.python_tree import Node, PythonTree
from hplint.lint.diagnostic import Edit
from hplint.text.span import Span

_LISTS = {"Dict": "elements", "Set": "elements", "List": "elements", "Tuple": "elements", "Call": "args",
          "ImportFrom": "names"}  # fmt: skip
_BRACKETS = (("lbrace", "rbrace"), ("lbracket", "rbracket"), ("innermost", "rpar"))
_BEFORE_CALL = re.compile(r"(?:\s|\\|#[^\n\r]*)*\(")


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One item. ``comma`` is the offset behind its comma, None where it has none."""

    node: Node
    start: int
    end: int
    comma: int | None

    @property
    def last(self) -> int:
        """The offset behind all that belongs to it on its line, comments left out."""
        return self.comma or self.end


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """A list. What stands between ``start`` and ``end`` is inside its brackets. ``wraps``: it has some, so that items
    may have lines of their own."""

    items: tuple[Item, ...]
    start: int
    end: int
    wraps: bool = True

    @property
    def closed(self) -> bool:
        """Whether the last item has a comma."""
        return bool(self.items) and self.items[-1].comma is not None


@dataclass(frozen=True, slots=True)
class New:
    """An item to come. ``text`` writes it: indentation of its line, column at which it starts -> text. It stands behind
    item ``after`` (-1: in front of all)."""

    text: Callable[[str, int], str]
    after: int
    comment: str = ""


def items_of(tree: PythonTree, node: Node) -> Items:
    """The items of a node that is a list. Raises CannotRealise for other nodes."""
    if node.kind not in _LISTS:
        raise CannotRealise("it is not written as a list of items")
    found = tuple(Item(n, n.outer.start, n.outer.end, n.comma) for n in node.all(_LISTS[node.kind]))
    if node.kind == "Call":
        function = node.part("func")
        assert function is not None
        opening = _BEFORE_CALL.match(tree.text, function.outer.end)
        assert opening is not None
        return Items(found, opening.end(), node.span.end - 1)
    for left, right in _BRACKETS:
        if left in node.marks and right in node.marks:
            return Items(found, node.marks[left].end, node.marks[right].start)
    if not found:
        raise CannotRealise("it has no items")
    return Items(found, found[0].start, found[-1].last, wraps=False)


class ItemChanges:
    """The changes of one list, worked out together: commas depend on all of them."""

    def __init__(self, lines: Lines, of: Items) -> None:
        self.lines = lines
        self.text = lines.text
        self.of = of
        self.gone: set[int] = set()
        self.new: list[New] = []
        self.replaced: dict[int, New] = {}

    def index(self, node: Node) -> int:
        """The position of an item by its node."""
        return next(i for i, item in enumerate(self.of.items) if item.node is node)

    def edits(self) -> list[Edit]:
        """All edits."""
        items = self.of.items
        kept = [i for i in range(len(items)) if i not in self.gone]
        if items and not kept and self.new:
            # The first new item takes the place of one that goes, so that commas and lines stay.
            first, *others = self.new
            self.gone.discard(0)
            self.replaced[0], self.new, kept = first, others, [0]
        if items and not kept:
            return [self._emptied()]
        edits = [e for i, new in self.replaced.items() for e in self._replacing(items[i], new)]
        if not items:
            return [*edits, *self._into_empty()] if self.new else edits
        anchored: dict[int, list[New]] = {}
        for new in self.new:
            anchored.setdefault(max((i for i in kept if i <= new.after), default=-1), []).append(new)
        if self._explodes(anchored):
            return [*edits, *self._exploded(anchored)]
        for after, news in anchored.items():
            edits += self._in_front(news) if after < 0 else self._behind(after, kept, news)
        return edits + self._removals(kept, grows=kept[-1] in anchored)

    # What comes

    def _column(self, at: int) -> int:
        return at - self.lines.start(at)

    def _line(self, new: New, indent: str, noted: str = "") -> str:
        """A new item with its comment lines, without indentation before the first line."""
        notes = [f"# {line}" for line in new.comment.splitlines()] if new.comment != noted else []
        return (self.lines.eol + indent).join([*notes, new.text(indent, len(indent))])

    def _run(self, news: Iterable[New], indent: str) -> list[str]:
        """New items as lines; a comment that several of them share stands above the first."""
        found, noted = [], ""
        for new in news:
            found.append(self._line(new, indent, noted))
            noted = new.comment
        return found

    def _replacing(self, item: Item, new: New) -> list[Edit]:
        indent = self.lines.indent(item.start)
        edits = [Edit(Span(item.start, item.end), new.text(indent, self._column(item.start)))]
        if new.comment and self.lines.begins(item.start):
            notes = "".join(f"# {line}{self.lines.eol}{indent}" for line in new.comment.splitlines())
            edits.append(Edit(Span(item.start, item.start), notes))
        return edits

    def _into_empty(self) -> list[Edit]:
        start, end = self.of.start, self.of.end
        inside = self.text[start:end]
        base = self.lines.indent(start)
        if not inside.strip() and "\n" not in inside and "\r" not in inside:
            line = ", ".join(new.text(base, self._column(start)) for new in self.new)
            fits = len(line) + self._column(start) < self.lines.width and not re.search(r"[\n\r]", line)
            if fits and not any(new.comment for new in self.new):
                return [Edit(Span(start, end), line)]
        indent = base + self.lines.step
        at = self.lines.rest(start + len(inside.rstrip()))
        at = at if at is not None and at <= end else start
        body = "".join(f"{self.lines.eol}{indent}{line}," for line in self._run(self.new, indent))
        tail = "" if re.search(r"[\n\r]", self.text[at:end]) else self.lines.eol + base
        return [Edit(Span(at, end if tail else at), body + tail)]

    def _in_front(self, news: list[New]) -> list[Edit]:
        first = self.of.items[0]
        if self.lines.begins(first.start) and self.of.wraps:
            indent = self.lines.indent(first.start)
            body = "".join(f"{line},{self.lines.eol}{indent}" for line in self._run(news, indent))
            return [Edit(Span(first.start, first.start), body)]
        indent, column = self.lines.indent(first.start), self._column(first.start)
        return [Edit(Span(first.start, first.start), "".join(f"{n.text(indent, column)}, " for n in news))]

    def _behind(self, after: int, kept: list[int], news: list[New]) -> list[Edit]:
        item = self.of.items[after]
        is_last = after == kept[-1]
        ends_open = is_last and not self.of.closed
        own_line = self.of.wraps and (self.lines.begins(item.start) or any(n.comment for n in news))
        if not own_line:
            return self._on_its_line(item, news, ends_open)
        indent = self._indent_of(item)
        at = self.lines.rest(item.last)
        runs = self._run(news, indent)
        body = "".join(f"{self.lines.eol}{indent}{run}," for run in runs)
        if ends_open:
            body = body[:-1]
        edits = [Edit(Span(item.last, item.last), ",")] if item.comma is None else []
        if at is None or at > self.of.end:
            # Something follows on the line: the closing bracket, or the next item.
            at = item.last
            if not is_last:
                body += self.lines.eol + indent
                at += len(self.text[at : self.of.end]) - len(self.text[at : self.of.end].lstrip(" \t"))
        return [*edits, Edit(Span(at, at), body)]

    def _indent_of(self, item: Item) -> str:
        """The indentation for lines beside an item."""
        if self.lines.begins(item.start):
            return self.lines.indent(item.start)
        return self.lines.indent(self.of.start) + self.lines.step

    def _on_its_line(self, item: Item, news: list[New], ends_open: bool) -> list[Edit]:
        indent = self.lines.indent(item.end)
        texts = []
        column = self._column(item.last) + 2
        for new in news:
            texts.append(new.text(indent, column))
            column += len(texts[-1]) + 2
        line = ", ".join(texts)
        if item.comma is None:
            return [Edit(Span(item.end, item.end), f", {line}")]
        return [Edit(Span(item.comma, item.comma), f" {line}" if ends_open else f" {line},")]

    def _explodes(self, anchored: Mapping[int, list[New]]) -> bool:
        """Whether a list on one line gets a line for each item: for a comment, or because it grows too long."""
        of = self.of
        inside = self.text[of.start : of.end]
        if not of.wraps or self.gone or self.replaced or re.search(r"[\n\r#]", inside) or not anchored:
            return False
        if any(n.comment for news in anchored.values() for n in news):
            return True
        start = self.lines.start(of.start)
        grown = sum(len(n.text("", 0)) + 2 for news in anchored.values() for n in news)
        return self.lines.end(of.start) - start + grown > self.lines.width

    def _exploded(self, anchored: Mapping[int, list[New]]) -> list[Edit]:
        base = self.lines.indent(self.of.start)
        indent = base + self.lines.step
        news = [new for after in sorted(anchored) if after < 0 for new in anchored[after]]
        parts = self._run(news, indent)
        for number, item in enumerate(self.of.items):
            parts.append(self.text[item.start : item.end])
            parts += self._run(anchored.get(number, ()), indent)
        body = "".join(f"{self.lines.eol}{indent}{part}," for part in parts)
        return [Edit(Span(self.of.start, self.of.end), body + self.lines.eol + base)]

    # What goes

    def _owns_lines(self, item: Item) -> bool:
        return self.of.wraps and self.lines.begins(item.start) and self.lines.rest(item.last) is not None

    def _emptied(self) -> Edit:
        """All items go; comments that belong to none of them stay."""
        items, of = self.of.items, self.of
        first = self.lines.own_comments(items[0].start, of.start) if self._owns_lines(items[0]) else items[0].start
        before = self.text[of.start : first]
        after = self.text[self.lines.rest(items[-1].last) or items[-1].last : of.end]
        if "#" not in before and "#" not in after:
            return Edit(Span(of.start, of.end), "")
        start = first if "#" in before else of.start
        if "#" not in after:
            return Edit(Span(start, of.end), self.lines.indent(of.end) if self.lines.begins(of.end) else "")
        return Edit(Span(start, of.end - len(after)), "" if start == of.start else self.lines.indent(items[-1].end))

    def _removals(self, kept: list[int], grows: bool) -> list[Edit]:
        edits: list[Edit] = []
        position = 0
        items = self.of.items
        while position < len(items):
            if position not in self.gone:
                position += 1
                continue
            first = position
            while position < len(items) and position in self.gone:
                position += 1
            run = range(first, position)
            if all(self._owns_lines(items[i]) for i in run):
                edits += [self._line_removed(items[i]) for i in run]
            else:
                edits.append(self._run_removed(first, position - 1, grows and first > kept[-1]))
        return edits

    def _line_removed(self, item: Item) -> Edit:
        start = self.lines.own_comments(item.start, self.of.start)
        return Edit(Span(start, self.lines.following(item.last)), "")

    def _run_removed(self, first: int, last: int, grows: bool) -> Edit:
        """Neighbours that share lines with other things."""
        items = self.of.items
        start, end = items[first].start, items[last].last
        if last + 1 < len(items):
            rest = self.lines.rest(end)
            if rest is None:
                return Edit(Span(start, items[last + 1].start), "")
            if first == 0 and not self.lines.begins(start):
                return Edit(Span(start, rest), "")
            before = items[first - 1].last if first and not self.lines.begins(start) else start
            return Edit(Span(before, end if first and before != start else rest), "")
        if first == 0:
            return Edit(Span(start, end), "")
        left = items[first - 1]
        assert left.comma is not None
        if "#" in self.text[left.comma : start]:
            return Edit(Span(self.lines.start(start) if self.lines.begins(start) else start, end), "")
        # The comma in front is the last one's to drop, unless that has one itself or more is to come.
        return Edit(Span(left.comma if self.of.closed or grows else left.end, end), "")
