"""Where the entries of a plan and their fields stand in a YAML text."""

from hplint.fix.edit import CannotRealise
from hplint.fix.yaml_tree import Item, Piece, YamlTree
from hplint.plan.entry import Entry
from hplint.plan.plan import Plan


class Places:
    """The pieces that write a plan."""

    def __init__(self, tree: YamlTree, plan: Plan) -> None:
        self.tree = tree
        self.plan = plan
        self._holder: Piece | None = None

    def holder(self) -> Piece:
        """The collection that holds the entries. Raises CannotRealise."""
        if self._holder is None:
            self._holder = self._find_holder()
        return self._holder

    def _find_holder(self) -> Piece:
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

    def entry_item(self, entry: Entry) -> Item | None:
        """The item that writes an entry; None for an entry that is all of the document."""
        holder = self.holder()
        if holder.kind == "sequence" and entry.index < len(holder.items):
            return holder.items[entry.index]
        place = entry.keys.get("match")
        found = [i for i in holder.items if i.key and i.key.span == place]
        if holder.kind == "mapping" and found and entry.values.get("match") == place:
            return found[0]
        if holder.span == entry.span:
            return None
        raise CannotRealise("the entry does not stand in the text")

    def entry_piece(self, entry: Entry) -> Piece:
        """The fields of an entry: a mapping, or a scalar where there are none."""
        item = self.entry_item(entry)
        piece = item.value if item else self.holder()
        if piece.kind == "alias":
            raise CannotRealise(f"the entry is the alias `*{piece.text}`")
        self.tree.check_own(piece)
        if piece.kind == "sequence" or (piece.kind == "scalar" and not _is_null(piece)):
            raise CannotRealise("the entry is no mapping")
        return piece

    def field_item(self, entry: Entry, field: str) -> Item | None:
        """The item of an entry that writes a field itself; None where a merge brought it, or where nobody did."""
        piece = self.entry_piece(entry)
        place = entry.keys.get(field)
        found = [i for i in piece.items if i.key and (i.key.span == place or i.key.text == field)]
        return found[-1] if found else None

    def readers(self, piece: Piece) -> set[int]:
        """The indexes of the entries that a piece is part of, through aliases too."""
        holder, found, stack, seen = self.holder(), set(), [piece], set()
        indexes = {item: number for number, item in enumerate(holder.items)}
        if holder.kind == "mapping":
            keys = {e.keys.get("match"): e.index for e in self.plan.entries}
            indexes = {item: keys.get(item.key.span, -1) for item in holder.items if item.key}
        while stack:
            here = stack.pop()
            if here in seen:
                continue
            seen.add(here)
            stack += self.tree.aliased.get(here.anchor or "", ())
            if here.item in indexes:
                found.add(indexes[here.item])
            elif here.item is not None:
                stack.append(here.item.parent)
        return found


def _is_null(piece: Piece) -> bool:
    return not piece.style and piece.text in ("", "~", "null", "Null", "NULL")
