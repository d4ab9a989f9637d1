"""Changes of a Python plan -> edits of its text. Nothing is printed anew: every edit stands next to what it changes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hplint.fix.edit import CannotRealise, smallest
from hplint.fix.python_homes import SHARED, Home, Homes, subscript_key
from hplint.fix.python_items import ItemChanges, Items, New, items_of
from hplint.fix.python_lines import Lines
from hplint.fix.python_names import PLACEMENT_MODULE, TORCH_PLACEMENTS, Names
from hplint.fix.python_tree import Node, read_tree
from hplint.fix.python_write import Writer, Written, laid_out
from hplint.front.keys import PYTHON_ORDER
from hplint.lint.diagnostic import Edit
from hplint.lint.proposal import (
    AddEntries,
    AddItem,
    Change,
    Remove,
    RemoveEntry,
    Rename,
    Rewrite,
    SetArgument,
    SetField,
    SetStyle,
)
from hplint.plan.entry import Entry
from hplint.plan.fault import Fault
from hplint.plan.plan import Plan
from hplint.plan.style import TORCH
from hplint.text.source import Source
from hplint.text.span import Span

_LITERAL = re.compile(r"([rRuU]?)('''|\"\"\"|'|\")(.*)\2", re.S)
_ITEM_KINDS = ("DictElement", "Arg", "Element", "ImportAlias")


def realise(source: Source, plan: Plan, changes: Sequence[Change], faults: Iterable[Fault] = ()) -> tuple[Edit, ...]:
    """The edits that make these changes together. Raises CannotRealise.

    A token that several entries read is changed only where it is at fault in each of them: rounds of one loop, or a
    place of ``faults``.
    """
    editor = _Editor(source, plan, changes, faults)
    for change in changes:
        editor.take(change)
    return smallest(source.text, editor.edits())


class _Editor:
    """Gathers the changes per list first: what goes and what comes decides together about commas and lines."""

    def __init__(self, source: Source, plan: Plan, changes: Sequence[Change], faults: Iterable[Fault]) -> None:
        self.tree = read_tree(source.text)
        self.lines = Lines(source.text)
        self.names = Names(self.tree, self.lines, TORCH_PLACEMENTS if plan.dialect == TORCH else PLACEMENT_MODULE)
        self.homes = Homes(self.tree, self.names, plan)
        self.writer = Writer(self.tree, self.lines, self.names, plan)
        self.plan = plan
        self.changes = changes
        self.faulty = frozenset(f.span for f in faults)
        self.taken: list[Change] = []
        self.made: list[Edit] = []
        self.lists: dict[Span, ItemChanges] = {}
        self.set: dict[tuple[Span, str], Any] = {}
        """(spec call, field or item) -> the value that it gets: rounds of a loop ask for the same one."""

    def take(self, change: Change) -> None:
        """Note one change; the same one a second time adds nothing. Raises CannotRealise."""
        if change in self.taken:
            return
        self.taken.append(change)
        match change:
            case Rename(span, value):
                self._rename(span, value)
            case Rewrite(span, value):
                self._rewrite(span, value)
            case Remove(span):
                self._remove(span)
            case SetField(entry, field, value, comment):
                self._set_field(entry, field, value, comment)
            case SetArgument():
                self._set_argument(change)
            case SetStyle():
                self._set_style(change)
            case AddItem(entry, field, key, value):
                self._add_item(entry, field, key, value)
            case RemoveEntry(entry):
                self._remove_entry(entry)
            case AddEntries():
                self._add_entries(change)
            case _:
                raise CannotRealise("the change is not worked out")

    def edits(self) -> list[Edit]:
        """All edits, those of imports that the new text takes included."""
        into, fresh = self.names.needed()
        made = list(self.made)
        for changed in self.lists.values():
            made += changed.edits()
        for items, news in into.items():
            imports = ItemChanges(self.lines, items)
            imports.new += news
            made += imports.edits()
        if fresh:
            at = self.names.place_of_imports()
            made.append(Edit(Span(at, at), "".join(line + self.lines.eol for line in fresh)))
        return made

    # Tokens

    def _rename(self, span: Span, value: str) -> None:
        self.homes.check_token(span, self.faulty)
        node = self.tree.expression(span)
        text = self.tree.cut(span)
        if node.kind == "SimpleString":
            self.made.append(Edit(span, _requoted(text, value)))
        elif node.kind == "Name" and node.slot == "keyword":
            if not value.isidentifier():
                raise CannotRealise(f"`{value}` is no keyword of a call")
            self.made.append(Edit(span, value))
        elif node.kind in ("Name", "Attribute") and self.names.axis(text, span.start) is not None:
            self.made.append(Edit(span, self.writer.axis(value, span.start, beside=text)))
        else:
            raise CannotRealise("the name is put together, or hangs on an import")

    def _rewrite(self, span: Span, value: Any) -> None:
        self.homes.check_token(span, self.faulty)
        self.tree.expression(span)
        self.made.append(Edit(span, self._laid_out(self.writer.value(value, span.start), span.start)))

    def _remove(self, span: Span) -> None:
        self.homes.check_token(span, self.faulty)
        for node in self.tree.at(span):
            if item := _item_with_key(node):
                self._drop(item)
                return
        raise CannotRealise("it is no item of a list that is written out")

    # Fields of an entry

    def _set_field(self, entry: Entry, field: str, value: Any, comment: str) -> None:
        alike = {
            c.entry.index for c in self.changes if isinstance(c, SetField | AddItem) and self._asks(c, field, value)
        }
        call = self.homes.check_spec(entry, alike)
        if self._asked(call.span, field, value):
            return
        written = self.writer.field(field, value, call.span.start)
        if (argument := _argument(call, field)) is not None:
            self._replace(argument.part("value") or argument, written)
            return
        if any(a.word or not a.part("value") for a in call.all("args")):
            raise CannotRealise("the entry's fields are not all written out")
        self._grow(items_of(self.tree, call), call.span, f"{field}=", written, comment)

    def _asks(self, change: SetField | AddItem, field: str, value: Any) -> bool:
        """Whether a change gives its entry this field."""
        if isinstance(change, AddItem):
            return change.field == field and self._items_for(change.entry, field) == value
        return (change.field, change.value) == (field, value)

    def _set_argument(self, change: SetArgument) -> None:
        alike = {
            c.entry.index
            for c in self.changes
            if isinstance(c, SetArgument) and (c.name, c.value) == (change.name, change.value)
        }
        call = self.homes.check_style(change.entry, alike)
        if self._asked(call.span, change.name, change.value):
            return
        written = self.writer.value(change.value, call.span.start)
        argument = next((a for a in call.all("args") if (k := a.part("keyword")) and k.word == change.name), None)
        if argument is not None:
            self._replace(argument.part("value") or argument, written)
            return
        self._grow(items_of(self.tree, call), call.span, f"{change.name}=", written)

    def _set_style(self, change: SetStyle) -> None:
        alike = {c.entry.index for c in self.changes if isinstance(c, SetStyle) and c.name == change.name}
        call = self.homes.check_style(change.entry, alike)
        function = call.part("func")
        style = change.entry.style
        known = self.names.path(self.tree.cut(function.outer), call.span.start) if function else None
        if function is None or style is None or known is None or known.rpartition(".")[2] != style.name:
            raise CannotRealise("the style is not named where it is made")
        if not self._asked(call.span, "", change.name):
            self.made.append(Edit(function.outer, self.names.beside(known, change.name, call.span.start)))

    def _add_item(self, entry: Entry, field: str, key: str, value: Any) -> None:
        span = entry.values.get(field)
        node = self.tree.expression(span) if span else None
        if span is None or node is None or node.kind in ("SimpleString", "Name"):
            # Nothing, a sentinel or None: the items make a dict of their own.
            self._set_field(entry, field, self._items_for(entry, field), "")
            return
        alike = {
            c.entry.index
            for c in self.changes
            if isinstance(c, AddItem) and (c.field, c.key, c.value) == (field, key, value)
        }
        if not self.homes.readers(span) <= alike:
            raise CannotRealise(SHARED)
        if node.kind != "Dict":
            raise CannotRealise("the field is not written as a dict")
        if not self._asked(span, key, value):
            before = f"{self.writer.string(key)}: "
            self._grow(items_of(self.tree, node), span, before, self.writer.value(value, span.start))

    def _items_for(self, entry: Entry, field: str) -> dict[str, Any]:
        return {
            c.key: c.value
            for c in self.changes
            if isinstance(c, AddItem) and c.entry.index == entry.index and c.field == field
        }

    # Entries

    def _remove_entry(self, entry: Entry) -> None:
        going = {c.entry.index for c in self.changes if isinstance(c, RemoveEntry)}
        if not {e.index for e in self.homes.sharing_key(entry)} <= going:
            raise CannotRealise("other entries are made at the same place")
        home = self.homes.of(entry)
        if not self._asked(home.node.span, "", None):
            self._drop_home(home)

    def _add_entries(self, change: AddEntries) -> None:
        last = self.homes.end_of_plan()
        if change.after is not None:
            home = self.homes.of(change.after)
            if change.replacing and len(self.homes.sharing_key(change.after)) > 1:
                raise CannotRealise("other entries are made at the same place")
        elif last is not None:
            home = last[1]
        else:
            raise CannotRealise("it cannot be told where the plan ends")
        if home.kind == "statement":
            self._add_statements(home, change)
        elif home.kind == "item" and home.node.kind == "DictElement" and home.node.parent is not None:
            changes = self._list(home.node.parent)
            position = changes.index(home.node)
            for number, fields in enumerate(change.entries):
                written = self.writer.spec(fields, home.node.span.start)
                before = f"{self.writer.string(_key_of(fields))}: "
                changes.new.append(New(self._text(before, written), position, "" if number else change.comment))
            if change.replacing:
                changes.gone.add(position)
        else:
            raise CannotRealise("the entries of this plan are made by code")

    def _add_statements(self, home: Home, change: AddEntries) -> None:
        """New ``plan[key] = …`` statements behind one, or in its place."""
        statement = _statement_line(home.node)
        target = next((t.part("target") for t in home.node.all("targets")), None) or home.node.part("target")
        if target is None or subscript_key(target) is None or statement is None:
            raise CannotRealise("the entries of this plan are made by code")
        value = target.part("value")
        assert value is not None
        indent = self.lines.indent(statement.span.start)
        parts = [f"# {line}" for line in change.comment.splitlines()]
        for fields in change.entries:
            before = f"{self.tree.cut(value.outer)}[{self.writer.string(_key_of(fields))}] = "
            written = self.writer.spec(fields, home.node.span.start)
            parts.append(before + laid_out(written, indent, len(indent) + len(before), self.lines, 0))
        body = (self.lines.eol + indent).join(parts)
        if change.replacing:
            self.made.append(Edit(home.node.span, body))
            return
        end = self.lines.rest(home.node.span.end)
        if end is None:
            raise CannotRealise("another statement stands on its line")
        self.made.append(Edit(Span(end, end), f"{self.lines.eol}{indent}{body}"))

    def _drop_home(self, home: Home) -> None:
        if home.kind == "item":
            self._drop(home.node)
            return
        statement = _statement_line(home.node)
        if home.kind != "statement" or statement is None or statement.parent is None:
            raise CannotRealise("the entries of this plan are made by code")
        if len(statement.parent.all("body")) == 1 and statement.parent.kind != "Module":
            self.made.append(Edit(home.node.span, "pass"))
            return
        start = self.lines.own_comments(home.node.span.start)
        first, last = self.lines.block(start, home.node.span.end)
        self.made.append(Edit(Span(first, last), ""))

    # Lists

    def _list(self, node: Node) -> ItemChanges:
        if node.span not in self.lists:
            self.lists[node.span] = ItemChanges(self.lines, items_of(self.tree, node))
        return self.lists[node.span]

    def _drop(self, item: Node) -> None:
        if item.kind not in _ITEM_KINDS or item.parent is None:
            raise CannotRealise("it is made by code")
        changes = self._list(item.parent)
        changes.gone.add(changes.index(item))

    def _grow(self, items: Items, span: Span, before: str, written: Written, comment: str = "") -> None:
        if span not in self.lists:
            self.lists[span] = ItemChanges(self.lines, items)
        changes = self.lists[span]
        changes.new.append(New(self._text(before, written), len(changes.of.items) - 1, comment))

    def _text(self, before: str, written: Written) -> "Any":
        return lambda indent, column: before + laid_out(written, indent, column + len(before), self.lines)

    def _replace(self, node: Node, written: Written) -> None:
        self.made.append(Edit(node.outer, self._laid_out(written, node.outer.start)))

    def _laid_out(self, written: Written, at: int) -> str:
        return laid_out(written, self.lines.indent(at), at - self.lines.start(at), self.lines)

    def _asked(self, span: Span, key: str, value: Any) -> bool:
        """Whether the same was asked for already. Raises CannotRealise where something else was."""
        if (span, key) in self.set:
            if self.set[span, key] != value:
                raise CannotRealise("the rounds of a loop need different values")
            return True
        self.set[span, key] = value
        return False


def _item_with_key(node: Node) -> Node | None:
    """The item that goes with its key, or that a value is by itself."""
    parent = node.parent
    if parent is None:
        return None
    if (node.slot == "key" and parent.kind == "DictElement") or (node.slot == "keyword" and parent.kind == "Arg"):
        return parent
    if node.slot == "value" and parent.kind == "Element":
        return parent
    return None


def _argument(call: Node, field: str) -> Node | None:
    """The argument of a spec call that gives a field, by name or by position."""
    arguments = call.all("args")
    named = (a for a in arguments if (k := a.part("keyword")) is not None and k.word == field)
    if (found := next(named, None)) is not None:
        return found
    place = PYTHON_ORDER.index(field) if field in PYTHON_ORDER else len(PYTHON_ORDER)
    positional = [a for a in arguments if a.part("keyword") is None]
    return positional[place] if place < len(positional) and _is_spec(call) else None


def _is_spec(call: Node) -> bool:
    """Whether a call is that of the class; ``replace(spec, …)`` has its fields behind the spec."""
    function = call.part("func")
    name = function.part("attr") if function and function.kind == "Attribute" else function
    return name is None or name.word != "replace"


def _statement_line(node: Node) -> Node | None:
    """The line of a small statement that stands alone on it."""
    line = node.parent
    if line is None or line.kind != "SimpleStatementLine" or len(line.all("body")) != 1:
        return None
    return line


def _key_of(fields: Mapping[str, Any]) -> str:
    match = fields.get("match")
    if not isinstance(match, str):
        raise CannotRealise("a Python plan has one match per entry")
    return match


def _requoted(text: str, value: str) -> str:
    """A string literal that says something else in the same quotes."""
    found = _LITERAL.fullmatch(text)
    if not found or not value.isprintable() or "\\" in value:
        raise CannotRealise("the string is not a plain literal")
    prefix, quote, _ = found.groups()
    if quote[0] in value:
        if prefix in ("r", "R"):
            raise CannotRealise("the name does not fit into a raw string")
        value = value.replace(quote[0], "\\" + quote[0])
    return f"{prefix}{quote}{value}{quote}"
