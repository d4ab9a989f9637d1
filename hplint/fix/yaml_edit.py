"""Changes of a YAML or JSON plan -> edits of its text. Nothing is dumped: every edit stands next to what it changes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hplint.fix.edit import CannotRealise, smallest
from hplint.fix.yaml_items import NewItem, change_items, merge_lines, replace_block
from hplint.fix.yaml_tree import Item, Piece, YamlTree
from hplint.fix.yaml_write import LINE, Manner, block, inline, is_plain, manner_of, pair, quoted, string
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
from hplint.plan.layout import CONTRACT_FIELDS
from hplint.plan.placement import Placement
from hplint.plan.plan import Plan
from hplint.text.source import Source
from hplint.text.span import Span

_BLANK_LINE = re.compile(r"(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)")


def realise(source: Source, plan: Plan, changes: Sequence[Change]) -> tuple[Edit, ...]:
    """The edits that make these changes together. Raises CannotRealise."""
    return realise_in(read_tree(source), plan, changes)


def read_tree(source: Source) -> YamlTree:
    """The text of a source, piece by piece. Raises CannotRealise."""
    return YamlTree(source.text, source.path.endswith(".json"))


def realise_in(tree: YamlTree, plan: Plan, changes: Sequence[Change]) -> tuple[Edit, ...]:
    """As :func:`realise`, over a text that was read before."""
    editor = _Editor(tree, plan)
    for change in changes:
        editor.take(change)
    return smallest(tree.text, editor.edits())


class _Editor:
    """Gathers the changes per collection first: what goes and what comes decides together about commas and braces."""

    def __init__(self, tree: YamlTree, plan: Plan) -> None:
        self.tree = tree
        self.plan = plan
        self.taken: list[Change] = []
        self.made: list[Edit] = []
        self.removed: dict[Piece, set[Item]] = {}
        self.added: dict[Piece, list[NewItem]] = {}
        self.fields: dict[tuple[int, str], tuple[Entry, Any, str]] = {}
        """(entry, field) -> what the field shall be."""
        self._manner: Manner | None = None

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

    @property
    def manner(self) -> Manner:
        """How the plan's own collections are written."""
        if self._manner is None:
            holder = self._holder()
            self._manner = manner_of(self.tree.pieces(holder), self.tree.text, self.tree.is_json)
        return self._manner

    # Tokens

    def _rename(self, span: Span, value: str) -> None:
        piece = self.tree.at(span)
        if piece is None and (piece := self.tree.around(span)) is not None:
            value = self._with_part(piece, span, value)
        if piece is None:
            self._rename_in_comment(span, value)
            return
        self.tree.check_own(piece)
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
        return lead + quoted(value, self.manner.quote)

    @staticmethod
    def _in_flow(piece: Piece) -> bool:
        return bool(piece.item and piece.item.parent.flow)

    def _rewrite(self, span: Span, value: Any) -> None:
        piece = self.tree.at(span)
        if piece is None:
            raise CannotRealise("the value does not stand there")
        self.tree.check_own(piece)
        self._replace(piece, value)

    def _replace(self, piece: Piece, value: Any) -> None:
        """Write another value in the place of a piece; what both have alike stays as it is."""
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
                self.made.append(Edit(piece.span, indent.join(self._lines(value, indent=0, wants_block=True))))
            else:
                self.made += replace_block(self.tree, piece, inline(value, self.manner))
        elif piece.is_empty and not flow and isinstance(value, Mapping) and self._wants_block(piece, value):
            self._fill(piece, value)
        else:
            start = piece.start if piece.tag is not None else piece.token
            lead = " " if piece.is_empty and not self.tree.text[start - 1 : start].isspace() else ""
            self.made.append(Edit(Span(start, piece.end), lead + inline(value, self.manner, flow)))

    def _fill(self, piece: Piece, value: Mapping[str, Any]) -> None:
        """Write lines below a key that has no value yet."""
        key_column = self.tree.column(piece.item.start) if piece.item else 0
        indent = self.tree.eol + " " * (key_column + self._step())
        end = self.tree.line_end(piece.end)
        lines = self._lines(value, indent=0, wants_block=True)
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
        siblings = [piece] if piece.items else []
        manner = manner_of(siblings, self.tree.text, self.tree.is_json) if siblings else self.manner
        manner = manner._replace(quote=self.manner.quote) if not manner.keys else manner
        if piece.flow:
            lines = [pair(key, value, manner)]
        else:
            inner = [i.value for i in piece.items if i.value.kind == "mapping"]
            nested = bool(inner) and not inner[-1].flow
            lines = self._nested({key: value}, manner, 2 if nested else 1)
        news = self.added.setdefault(piece, [])
        if any(new.key == key for new in news):
            raise CannotRealise(f"`{key}` is added twice")
        news.append(NewItem(lines, key=key))

    def _add_item(self, entry: Entry, field: str, key: str, value: Any) -> None:
        known = self.fields.get((entry.index, field))
        if known and isinstance(known[1], Mapping):
            self.fields[entry.index, field] = (entry, {**known[1], key: value}, known[2])
            return
        item = self._field_item(entry, field)
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

    def _field_item(self, entry: Entry, field: str) -> Item | None:
        """The item of an entry that writes a field itself; None where a merge brought it, or where nobody did."""
        piece = self._entry_piece(entry)
        place = entry.keys.get(field)
        found = [i for i in piece.items if i.key and (i.key.span == place or i.key.text == field)]
        return found[-1] if found else None

    def _place_fields(self) -> None:
        """Put what the fields shall be into the entries."""
        empty: dict[int, tuple[Piece, dict[str, Any]]] = {}
        for (index, field), (entry, value, comment) in self.fields.items():
            piece = self._entry_piece(entry)
            item = self._field_item(entry, field)
            if piece.kind == "scalar":
                empty.setdefault(index, (piece, {}))[1][field] = value
            elif item is None:
                self.added.setdefault(piece, []).append(NewItem(self._field_lines(piece, field, value), None, comment))
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

    def _field_lines(self, entry: Piece, field: str, value: Any) -> list[str]:
        """``field: value`` as lines for an entry."""
        if entry.flow:
            return [pair(field, value, self.manner)]
        return self._lines({field: value}, self.tree.column(entry.token))

    def _lines(self, fields: Mapping[str, Any], indent: int, wants_block: bool = False) -> list[str]:
        """The lines of several fields, each nested as the plan nests its own."""
        lines: list[str] = []
        for name, value in fields.items():
            outer, inner = self._nesting()
            one = pair(name, value, self.manner, flow=False)
            is_contract = isinstance(value, Mapping) and any(isinstance(v, Mapping) for v in value.values())
            nested = isinstance(value, Mapping) and value and (len(one) + indent > LINE or (is_contract and outer))
            lines += self._nested({name: value}, self.manner, 2 + inner) if nested else [one]
        return lines

    def _nested(self, value: Mapping[str, Any], manner: Manner, depth: int) -> list[str]:
        """Block lines, indented as far as the plan indents."""
        lines = block(value, manner, depth)
        step = self._step()
        return [" " * (step * ((len(line) - len(line.lstrip(" "))) // 2)) + line.lstrip(" ") for line in lines]

    def _nesting(self) -> tuple[bool, bool]:
        """Whether the plan writes contract fields as blocks, and the layouts in them too."""
        outer: bool | None = None
        for piece in self.tree.pieces(self._holder()):
            named = piece.item and piece.item.key and piece.item.key.text in CONTRACT_FIELDS
            if named and piece.kind == "mapping" and piece.items:
                layouts = [i.value for i in piece.items if i.value.kind == "mapping"]
                if layouts:
                    if not piece.flow:
                        return True, not layouts[0].flow
                    outer = False
        return bool(outer), False

    def _step(self) -> int:
        """How far the plan indents what stands below a key."""
        for piece in self.tree.pieces(self._holder()):
            if piece.kind == "mapping" and not piece.flow:
                for item in piece.items:
                    if item.value.kind == "mapping" and not item.value.flow and item.value.items:
                        step = self.tree.column(item.value.token) - self.tree.column(item.start)
                        if step > 0:
                            return step
        return 2

    def _wants_block(self, piece: Piece, value: Mapping[str, Any]) -> bool:
        layouts = any(isinstance(v, Mapping) for v in value.values())
        return layouts or len(inline(value, self.manner)) > LINE - 20

    # Entries

    def _holder(self) -> Piece:
        """The collection that holds the entries. Raises CannotRealise."""
        key = self.tree.at(self.plan.anchor) if self.plan.anchor.end else None
        if key is not None and key.item is not None:
            holder = key.item.value
            if holder.kind == "alias":
                raise CannotRealise("the plan is an alias of something else")
            return holder
        spans = {e.span for e in self.plan.entries}
        for root in self.tree.roots:
            if root.kind == "scalar" or root.span in spans or spans & {i.value.span for i in root.items}:
                return root
            starts = {i.start for i in root.items}
            if any(s.start in starts for s in spans):
                return root
        raise CannotRealise("the plan does not stand in the text")

    def _entry_item(self, entry: Entry) -> Item | None:
        """The item that writes an entry; None for an entry that is all of the document."""
        holder = self._holder()
        if holder.kind == "sequence" and entry.index < len(holder.items):
            return holder.items[entry.index]
        place = entry.keys.get("match")
        found = [i for i in holder.items if i.key and i.key.span == place]
        if holder.kind == "mapping" and found and entry.values.get("match") == place:
            return found[0]
        if holder.span == entry.span:
            return None
        raise CannotRealise("the entry does not stand in the text")

    def _entry_piece(self, entry: Entry) -> Piece:
        """The fields of an entry: a mapping, or a scalar where there are none."""
        item = self._entry_item(entry)
        piece = item.value if item else self._holder()
        if piece.kind == "alias":
            raise CannotRealise(f"the entry is the alias `*{piece.text}`")
        self.tree.check_own(piece)
        if piece.kind == "sequence" or (piece.kind == "scalar" and not _is_null(piece)):
            raise CannotRealise("the entry is no mapping")
        return piece

    def _remove_entry(self, entry: Entry) -> None:
        item = self._entry_item(entry)
        if item is None:
            raise CannotRealise("the entry is all that the file holds")
        self.tree.check_own(item.parent)
        self._remove(item)

    def _add_entries(self, change: AddEntries) -> None:
        holder = self._holder()
        after = self._entry_item(change.after) if change.after else None
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
        apart = self._parts_entries(holder)
        news = self.added.setdefault(holder, [])
        for number, fields in enumerate(change.entries):
            comment = "" if number else change.comment
            news.append(NewItem(self._entry_lines(holder, sibling, fields), after, comment, apart))

    def _entry_lines(self, holder: Piece, sibling: Item, fields: Mapping[str, Any]) -> list[str]:
        manner = self.manner._replace(values=self.manner.values or self._quotes_matches(holder))
        match = fields["match"]
        rest = {k: v for k, v in fields.items() if k != "match"}
        flow = holder.flow or sibling.value.flow
        if sibling.key is None:
            if flow:
                return [inline(dict(fields), self.manner, holder.flow)]
            head = f"match: {inline(match, manner)}"
            return [head, *self._lines(rest, self.tree.column(sibling.start) + 2)]
        name = string(str(match), manner._replace(keys=manner.keys or sibling.key.style != ""), holder.flow, key=True)
        if flow:
            return [f"{name}: {inline(rest, self.manner, True)}"]
        step = " " * self._step()
        return [f"{name}:", *(step + line for line in self._lines(rest, self.tree.column(sibling.start) + len(step)))]

    @staticmethod
    def _quotes_matches(holder: Piece) -> bool:
        """Whether all matches stand in quotes."""
        matches = [f.value for i in holder.items for f in i.value.items if f.key and f.key.text == "match"]
        return bool(matches) and all(m.style for m in matches)

    def _parts_entries(self, holder: Piece) -> bool:
        """Whether blank lines stand between the entries."""
        if len(holder.items) < 2 or holder.flow:
            return False
        first, second = holder.items[:2]
        return _BLANK_LINE.search(self.tree.text, first.end, second.start) is not None


def _is_null(piece: Piece) -> bool:
    return not piece.style and piece.text in ("", "~", "null", "Null", "NULL")


def _depth(piece: Piece) -> int:
    depth = 0
    while piece.item is not None:
        piece, depth = piece.item.parent, depth + 1
    return depth
