"""How a plan is written: quotes, indentation, blocks or braces. New text of ours follows it."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from hplint.fix.yaml_places import Places
from hplint.fix.yaml_tree import Item, Piece, YamlTree
from hplint.fix.yaml_write import LINE, Manner, block, inline, manner_of, pair, string
from hplint.plan.layout import CONTRACT_FIELDS

_BLANK_LINE = re.compile(r"(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)")


class PlanStyle:
    """The manner of one plan, looked up when it is first needed."""

    def __init__(self, tree: YamlTree, places: Places) -> None:
        self.tree = tree
        self.places = places

    @cached_property
    def manner(self) -> Manner:
        """How the plan's own collections are written."""
        return manner_of(self.tree.pieces(self.places.holder()), self.tree.text, self.tree.is_json)

    def lines(self, fields: Mapping[str, Any], indent: int) -> list[str]:
        """The lines of several fields, each nested as the plan nests its own."""
        lines: list[str] = []
        for name, value in fields.items():
            outer, inner = self._nesting
            one = pair(name, value, self.manner, flow=False)
            is_contract = isinstance(value, Mapping) and any(isinstance(v, Mapping) for v in value.values())
            nested = isinstance(value, Mapping) and value and (len(one) + indent > LINE or (is_contract and outer))
            lines += self.nested({name: value}, self.manner, 2 + inner) if nested else [one]
        return lines

    def field_lines(self, entry: Piece, field: str, value: Any) -> list[str]:
        """``field: value`` as lines for an entry."""
        if entry.flow:
            return [pair(field, value, self.manner)]
        return self.lines({field: value}, self.tree.column(entry.token))

    def nested(self, value: Mapping[str, Any], manner: Manner, depth: int, step: int = 0) -> list[str]:
        """Block lines, indented by a step, or else as far as the plan indents."""
        lines = block(value, manner, depth)
        step = step or self.step
        return [" " * (step * ((len(line) - len(line.lstrip(" "))) // 2)) + line.lstrip(" ") for line in lines]

    @cached_property
    def _nesting(self) -> tuple[bool, bool]:
        """Whether the plan writes contract fields as blocks, and the layouts in them too."""
        outer: bool | None = None
        for piece in self.tree.pieces(self.places.holder()):
            named = piece.item and piece.item.key and piece.item.key.text in CONTRACT_FIELDS
            if named and piece.kind == "mapping" and piece.items:
                layouts = [i.value for i in piece.items if i.value.kind == "mapping"]
                if layouts:
                    if not piece.flow:
                        return True, not layouts[0].flow
                    outer = False
        return bool(outer), False

    @cached_property
    def step(self) -> int:
        """How far the plan indents what stands below a key."""
        for piece in self.tree.pieces(self.places.holder()):
            if piece.kind == "mapping" and not piece.flow:
                for item in piece.items:
                    if item.value.kind == "mapping" and not item.value.flow and item.value.items:
                        step = self.tree.column(item.value.token) - self.tree.column(item.start)
                        if step > 0:
                            return step
        return 2

    def wants_block(self, value: Mapping[str, Any]) -> bool:
        """Whether a mapping is better written as lines where nothing stood before."""
        layouts = any(isinstance(v, Mapping) for v in value.values())
        return layouts or len(inline(value, self.manner)) > LINE - 20

    def entry_lines(self, holder: Piece, sibling: Item, fields: Mapping[str, Any]) -> list[str]:
        """A new entry, written as its sibling is."""
        manner = self.manner._replace(values=self.manner.values or self._quotes_matches(holder))
        match = fields["match"]
        rest = {k: v for k, v in fields.items() if k != "match"}
        flow = holder.flow or sibling.value.flow
        if sibling.key is None:
            if flow:
                return [inline(dict(fields), self.manner, holder.flow)]
            head = f"match: {inline(match, manner)}"
            return [head, *self.lines(rest, self.tree.column(sibling.start) + 2)]
        name = string(str(match), manner._replace(keys=manner.keys or sibling.key.style != ""), holder.flow, key=True)
        if flow:
            return [f"{name}: {inline(rest, self.manner, True)}"]
        step = " " * self.step
        return [f"{name}:", *(step + line for line in self.lines(rest, self.tree.column(sibling.start) + len(step)))]

    @staticmethod
    def _quotes_matches(holder: Piece) -> bool:
        """Whether all matches stand in quotes."""
        matches = [f.value for i in holder.items for f in i.value.items if f.key and f.key.text == "match"]
        return bool(matches) and all(m.style for m in matches)

    def parts_entries(self, holder: Piece) -> bool:
        """Whether blank lines stand between the entries."""
        if len(holder.items) < 2 or holder.flow:
            return False
        first, second = holder.items[:2]
        return _BLANK_LINE.search(self.tree.text, first.end, second.start) is not None
