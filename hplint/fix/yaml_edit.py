"""Changes of a YAML or JSON plan -> edits of its text. Nothing is dumped: every edit stands next to what it changes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hplint.fix.edit import CannotRealise, smallest
from hplint.fix.yaml_items import NewItem, change_items, merge_lines, replace_block
from hplint.fix.yaml_places import Places
from hplint.fix.yaml_style import PlanStyle
from hplint.fix.yaml_tree import Item, Piece, YamlTree
from hplint.fix.yaml_write import inline, is_plain, manner_of, pair, quoted, string
from hplint.lint.diagnostic import Edit
from hplint.lint.proposal import (
    AddEntries,
    AddItem,
    Change,
    Remove,
    RemoveEntry,
    Rename,
    Rewrite,
    SetField,
)
from hplint.plan.entry import Entry
from hplint.plan.fault import Fault
from hplint.plan.layout import CONTRACT_FIELDS
from hplint.plan.placement import Placement
from hplint.plan.plan import Plan
from hplint.text.source import Source
from hplint.text.span import Span


def realise(source: Source, plan: Plan, changes: Sequence[Change]) -> tuple[Edit, ...]:
    """The edits that make these changes together. Raises CannotRealise."""
    return realise_in(read_plan(source, plan), changes, plan.faults)


def read_plan(source: Source, plan: Plan) -> PlanStyle:
    """A plan as it is written, to be edited. Raises CannotRealise."""
    tree = YamlTree(source.text, source.path.endswith(".json"))
    return PlanStyle(tree, Places(tree, plan))


def realise_in(style: PlanStyle, changes: Sequence[Change], faults: Iterable[Fault] = ()) -> tuple[Edit, ...]:
    """As :func:`realise`, over a plan that was read before. ``faults`` are those of the plan and of its resolution: a
    token that an anchor shares may be changed where it is at fault in every entry that has it."""
    editor = _Editor(style, faults)
    for change in changes:
        editor.take(change)
    return smallest(style.tree.text, editor.edits())


class _Editor:
    """Gathers the changes per collection first: what goes and what comes decides together about commas and braces."""

    def __init__(self, style: PlanStyle, faults: Iterable[Fault]) -> None:
        self.style = style
        self.tree = style.tree
        self.places = style.places
        self.faults = faults
        self.taken: list[Change] = []
        self.made: list[Edit] = []
        self.removed: dict[Piece, set[Item]] = {}
        self.added: dict[Piece, list[NewItem]] = {}
        self.fields: dict[tuple[int, str], tuple[Entry, Any, str]] = {}
        """(entry, field) -> what the field shall be."""

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
                self._remove(self._item_at(span))
            case SetField(entry, field, value, comment):
                self.fields[entry.index, field] = (entry, value, comment)
            case AddItem(entry, field, key, value):
                self._add_item(entry, field, key, value)
            case RemoveEntry(entry):
                self._remove_entry(entry)
            case AddEntries():
                self._add_entries(change)
            case _:
                raise CannotRealise(f"a {type(change).__name__} must be worked out first")

    def edits(self) -> list[Edit]:
        """All edits of the changes taken so far."""
        self._place_fields()
        found = list(self.made)
        # Lines put in at one place: those of an entry come before those of the entry that follows.
        for parent in sorted({**self.removed, **self.added}, key=_depth, reverse=True):
            if not self._goes(parent):
                found += change_items(self.tree, parent, self.removed.get(parent, set()), self.added.get(parent, []))
        return merge_lines(self.tree, found)

    def _goes(self, piece: Piece) -> bool:
        """Whether something around the piece is taken out as a whole."""
        here = piece.item
        while here is not None:
            if here in self.removed.get(here.parent, ()):
                return True
            here = here.parent.item
        return False

    # Tokens

    def _check_token(self, piece: Piece) -> None:
        """Raise CannotRealise where other entries share a token that is right for them."""
        try:
            self.tree.check_own(piece)
        except CannotRealise:
            at_fault = {f.entry for f in self.faults if f.span == piece.span}
            if not self.places.readers(piece) <= at_fault:
                raise

    def _rename(self, span: Span, value: str) -> None:
        piece = self.tree.at(span)
        if piece is None and (piece := self.tree.around(span)) is not None:
            value = self._with_part(piece, span, value)
        if piece is None:
            self._rename_in_comment(span, value)
            return
        self._check_token(piece)
        item = piece.item
        if (
            item
            and item.key is piece
            and any(i.key and i.key.text == value for i in item.parent.items if i is not item)
        ):
            raise CannotRealise(f"`{value}` is written there already")
        self.made.append(Edit(piece.span, self._respelled(piece, value)))

    def _with_part(self, piece: Piece, span: Span, value: str) -> str:
        """The whole text of a scalar, a part of which is renamed."""
        mark = len(piece.style)
        written = self.tree.text[piece.token + mark : piece.end - mark]
        if piece.style in ("|", ">") or written != piece.text:
            raise CannotRealise("the text is spelled with escapes or over several lines")
        start = piece.token + mark
        return written[: span.start - start] + value + written[span.end - start :]

    def _rename_in_comment(self, span: Span, value: str) -> None:
        line = self.tree.line_start(span.start)
        if "#" not in self.tree.text[line : span.start + 1]:
            raise CannotRealise("nothing stands there that could be renamed")
        self.made.append(Edit(span, value))

    def _respelled(self, piece: Piece, value: str) -> str:
        """Another string in the place of a scalar, quoted as that one is."""
        if piece.kind != "scalar" or piece.style in ("|", ">") or piece.tag is not None:
            raise CannotRealise("it is no plain or quoted text")
        lead = " " if piece.is_empty else ""
        if piece.style:
            return quoted(value, piece.style)
        if is_plain(value, self._in_flow(piece)) and not self.tree.is_json:
            return lead + value
        return lead + quoted(value, self.style.manner.quote)

    @staticmethod
    def _in_flow(piece: Piece) -> bool:
        return bool(piece.item and piece.item.parent.flow)

    def _rewrite(self, span: Span, value: Any) -> None:
        piece = self.tree.at(span)
        if piece is None:
            raise CannotRealise("the value does not stand there")
        self._replace(piece, value)

    def _replace(self, piece: Piece, value: Any) -> None:
        """Write another value in the place of a piece; what both have alike stays as it is."""
        self._check_token(piece)
        if isinstance(value, Placement):
            value = str(value)
        if isinstance(value, str) and piece.kind == "scalar" and not piece.tag and piece.style not in ("|", ">"):
            self.made.append(Edit(piece.span, self._respelled(piece, value)))
            return
        if isinstance(value, Mapping) and piece.kind == "mapping" and self._merge(piece, value):
            return
        self.tree.check_removable(piece)
        if piece.tag is not None and piece.anchor is not None:
            raise CannotRealise("an anchor and a tag stand before it")
        flow = self._in_flow(piece)
        if piece.kind in ("mapping", "sequence") and not piece.flow:
            indent = self.tree.eol + " " * self.tree.column(piece.token)
            if isinstance(value, Mapping) and value and piece.kind == "mapping":
                self.made.append(Edit(piece.span, indent.join(self.style.lines(value, indent=0))))
            else:
                self.made += replace_block(self.tree, piece, inline(value, self.style.manner))
        elif piece.is_empty and not flow and isinstance(value, Mapping) and self.style.wants_block(value):
            self._fill(piece, value)
        else:
            start = piece.start if piece.tag is not None else piece.token
            lead = " " if piece.is_empty and not self.tree.text[start - 1 : start].isspace() else ""
            self.made.append(Edit(Span(start, piece.end), lead + inline(value, self.style.manner, flow)))

    def _fill(self, piece: Piece, value: Mapping[str, Any]) -> None:
        """Write lines below a key that has no value yet."""
        key_column = self.tree.column(piece.item.start) if piece.item else 0
        indent = self.tree.eol + " " * (key_column + self.style.step)
        end = self.tree.line_end(piece.end)
        lines = self.style.lines(value, indent=0)
        self.made.append(Edit(Span(end, end), "".join(indent + line for line in lines)))

    def _merge(self, piece: Piece, value: Mapping[str, Any]) -> bool:
        """Change a written mapping item by item; False where the order of its keys would change."""
        keys = [i.key.text if i.key and i.key.kind == "scalar" else None for i in piece.items]
        wanted = [str(k) for k in value]
        if not keys or not wanted or None in keys or "<<" in keys or len(set(keys)) < len(keys):
            return False
        kept = [k for k in keys if k in wanted]
        if not kept or wanted[: len(kept)] != kept:
            return False
        for item in piece.items:
            assert item.key is not None
            if item.key.text not in wanted:
                self._remove(item, cascade=False)
            elif not self._says(item.value, value[item.key.text]):
                self._replace(item.value, value[item.key.text])
        for key in wanted[len(kept) :]:
            self._add(piece, key, value[key])
        return True

    def _says(self, piece: Piece, value: Any) -> bool:
        """Whether a piece says this value already."""
        if isinstance(value, Mapping) and piece.kind == "mapping":
            keys = [i.key.text if i.key else "" for i in piece.items]
            return keys == [str(k) for k in value] and all(
                self._says(i.value, v) for i, v in zip(piece.items, value.values(), strict=True)
            )
        return piece.kind == "scalar" and isinstance(value, str | Placement) and piece.text == str(value)

    # Items

    def _item_at(self, span: Span) -> Item:
        piece = self.tree.at(span)
        item = piece.item if piece else None
        if item is None or (item.key is not None and item.key is not piece):
            raise CannotRealise("no item starts there")
        self.tree.check_own(item.parent)
        return item

    def _remove(self, item: Item, cascade: bool = True) -> None:
        self.tree.check_removable(item.value)
        if item.key:
            self.tree.check_removable(item.key)
        gone = self.removed.setdefault(item.parent, set())
        gone.add(item)
        if cascade and len(gone) == len(item.parent.items) and self._is_layout(item.parent):
            # A tensor without any axis is refused: it goes as a whole.
            assert item.parent.item is not None
            self._remove(item.parent.item, cascade=False)

    @staticmethod
    def _is_layout(piece: Piece) -> bool:
        """Whether a mapping holds the axes of a named tensor."""
        field = piece.item.parent.item if piece.item and piece.item.key else None
        return bool(field and field.key and field.key.text in CONTRACT_FIELDS)

    def _add(self, piece: Piece, key: str, value: Any) -> None:
        """Add an item to a written mapping, in the style of its items."""
        inner = [p for i in piece.items for p in self.tree.pieces(i.value) if p.items]
        outer = manner_of([piece], self.tree.text, self.tree.is_json) if piece.items else self.style.manner
        manner = manner_of(inner, self.tree.text, self.tree.is_json) if inner else self.style.manner
        nested = [i for i in piece.items if i.value.kind == "mapping" and not i.value.flow and i.value.items]
        if piece.flow or not nested:
            lines = [pair(key, value, manner, piece.flow, outer)]
        else:
            step = self.tree.column(nested[-1].value.token) - self.tree.column(nested[-1].start)
            lines = self.style.nested({key: value}, manner, 2, step)
            lines[0] = f"{string(key, outer, False, key=True)}:"
        news = self.added.setdefault(piece, [])
        if any(new.key == key for new in news):
            raise CannotRealise(f"`{key}` is added twice")
        news.append(NewItem(lines, key=key))

    def _add_item(self, entry: Entry, field: str, key: str, value: Any) -> None:
        known = self.fields.get((entry.index, field))
        if known and isinstance(known[1], Mapping):
            self.fields[entry.index, field] = (entry, {**known[1], key: value}, known[2])
            return
        item = self.places.field_item(entry, field)
        written = item.value if item else None
        if item is None and field in entry.keys:
            raise CannotRealise(f"`{field}` comes from elsewhere")
        if written is not None and written.kind == "alias":
            raise CannotRealise(f"`{field}` is the alias `*{written.text}`")
        if written is None or written.kind != "mapping":
            self.fields[entry.index, field] = (entry, {key: value}, "")
            return
        self.tree.check_own(written)
        same = [i for i in written.items if i.key and i.key.text == key]
        if same:
            self._replace(same[-1].value, value)
        else:
            self._add(written, key, value)

    # Fields

    def _place_fields(self) -> None:
        """Put what the fields shall be into the entries."""
        empty: dict[int, tuple[Piece, dict[str, Any]]] = {}
        for (index, field), (entry, value, comment) in self.fields.items():
            piece = self.places.entry_piece(entry)
            item = self.places.field_item(entry, field)
            if piece.kind == "scalar":
                empty.setdefault(index, (piece, {}))[1][field] = value
            elif item is None:
                self.added.setdefault(piece, []).append(
                    NewItem(self.style.field_lines(piece, field, value), None, comment)
                )
            else:
                self._replace(item.value, value)
                if comment and not piece.flow and self.tree.starts_line(item.start):
                    indent = " " * self.tree.column(item.start)
                    line = self.tree.line_start(item.start)
                    note = "".join(f"{indent}# {c}{self.tree.eol}" for c in comment.splitlines())
                    self.made.append(Edit(Span(line, line), note))
        for piece, fields in empty.values():
            self._replace(piece, fields)
        self.fields = {}

    # Entries

    def _remove_entry(self, entry: Entry) -> None:
        item = self.places.entry_item(entry)
        if item is None:
            raise CannotRealise("the entry is all that the file holds")
        self.tree.check_own(item.parent)
        self._remove(item)

    def _add_entries(self, change: AddEntries) -> None:
        holder = self.places.holder()
        after = self.places.entry_item(change.after) if change.after else None
        if holder.kind == "scalar" or not holder.items:
            self._replace(holder, [dict(e) for e in change.entries])
            return
        if change.after is not None and after is None:
            raise CannotRealise("the entry is all that the file holds")
        self.tree.check_own(holder)
        if change.replacing and after is not None:
            self.tree.check_removable(after.value)
            self.removed.setdefault(holder, set()).add(after)
        sibling = after or holder.items[-1]
        apart = self.style.parts_entries(holder)
        news = self.added.setdefault(holder, [])
        for number, fields in enumerate(change.entries):
            comment = "" if number else change.comment
            news.append(NewItem(self.style.entry_lines(holder, sibling, fields), after, comment, apart))


def _depth(piece: Piece) -> int:
    depth = 0
    while piece.item is not None:
        piece, depth = piece.item.parent, depth + 1
    return depth
