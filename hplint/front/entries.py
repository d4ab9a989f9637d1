"""Nodes -> plan entries, for both dialects.

Faults recorded here, with their data (contract.py, targets.py and recorder.py record the others):

- ``unknown-key`` (R6), at the key: ``key``, ``section`` ("entry"), ``allowed`` (all keys), ``meant`` (the key as which
  it was read for the sake of the other checks, or None); ``rest`` where a space is missing: ``key`` is then
  ``meant:rest``.
- ``wrong-type`` (R5, R8, R10-R15, R47, R95), at the value: ``value``, ``type``, ``allowed``; field None for an entry
  that is no mapping, and ``match`` the key that it is the value of, None in a list.
- ``missing-match`` (R7, R38), at the empty value or the start of the entry: ``problem`` (``absent`` or ``empty``).
- ``invalid-when`` (R9, R52), at the value: ``value``, ``type``, ``allowed``.
- ``match-list`` (R50), at the list: ``matches``; ``problem`` is ``sharding`` (``fields``: what it does besides) or
  ``no-replacement``.
- ``local-attribute`` (R48, R49, R127), at the item: ``problem`` (``identifier``, ``twice`` or ``not-list``), ``value``.
"""

from typing import Any

from hplint.front.contract import ContractReader
from hplint.front.contract_slips import unglued
from hplint.front.keys import ENTRY_KEYS, PYTHON, PYTHON_ALLOWED, Key, entry_keys
from hplint.front.nodes import Mapping, Node, Scalar, Sequence, UnknownNode, is_text, plain, type_name
from hplint.front.recorder import Recorder
from hplint.front.targets import read_target
from hplint.plan.entry import SHARDING_FIELDS, ContractField, Entry, Flag, Text
from hplint.plan.fault import Fault
from hplint.plan.layout import CONTRACT_FIELDS
from hplint.text.near import one_near
from hplint.text.span import Span

WHEN_WORDS = ("cp", "ep", "low_precision", "sequence_parallel")
"""Words that ``when`` may be (R9): the topology's, which this layer may not import."""


def read_entries(
    items: list[tuple[Node | None, Node]], dialect: str
) -> tuple[tuple[Entry, ...], tuple[Fault, ...]]:  # fmt: skip
    """Read the entries of one plan.

    The first of each pair is the match of a {match: fields} form, None where the mapping has its own ``match`` key; the
    second is the entry's mapping. Every pair gives one entry, whatever is wrong with it, so that indexes agree. Python
    specs are mappings from parameter names to values. ``dialect`` is "yaml" or "python".
    """
    reader = _EntryReader(dialect)
    entries = tuple(reader.read(index, match, node) for index, (match, node) in enumerate(items))
    return entries, tuple(reader.log.faults)


class _EntryReader:
    def __init__(self, dialect: str) -> None:
        self.log = Recorder()
        self.python = dialect == PYTHON
        self.allowed = entry_keys(dialect)
        self.contract = ContractReader(self.log, dialect)

    def read(self, index: int, match: Node | None, node: Node) -> Entry:
        self.log.entry = index
        self.contract.misplaced = set()
        entry = Entry(index, node.span)
        if match is not None:
            entry.span = Span(min(match.span.start, node.span.start), max(match.span.end, node.span.end))
            self._match(entry, match.span, match)
        if isinstance(node, Mapping):
            self._fields(entry, node, match is None)
            self._check_list_match(entry)
        elif match is not None and isinstance(node, Scalar) and node.value is None and not self.python:
            pass  # `"*.mlp":` with nothing below is an entry that does nothing.
        else:
            self.log.field = None
            allowed = "a ModuleShardingSpec(…)" if self.python else "a mapping of entry fields"
            self._wrong(node, allowed, match=plain(match) if isinstance(match, Scalar) else None)
            _break_all(entry)
        self.log.field = None
        return entry

    def _fields(self, entry: Entry, node: Mapping, needs_match: bool) -> None:
        self.log.field = None
        pairs = self.log.pairs(node, "entry")
        pairs = [self._separated(k, v) for k, v in pairs]
        written = {k.value for k, _ in pairs if isinstance(k, Scalar)}
        for key, value in pairs:
            if not isinstance(key, Scalar):
                continue
            name = key.value
            if name not in self.allowed:
                name = self._unknown_key(key, written, needs_match)
                if name is None:
                    entry.broken.add(str(key.value))
                    continue
                written.add(name)
            entry.keys[str(name)], entry.values[str(name)] = key.span, value.span
            self.log.field = str(name)
            self._field(entry, ENTRY_KEYS[str(name)], key.span, value)
        self.log.field = None
        entry.broken.update(self.contract.misplaced)
        if needs_match and "match" not in written and "match" not in self.contract.misplaced:
            if any(isinstance(k, UnknownNode) for k, _ in pairs):
                entry.broken.add("match")
            else:
                self.log.add("missing-match", Span(node.span.start, _first_token_end(node)), problem="absent")

    def _separated(self, key: Node, value: Node) -> tuple[Node, Node]:
        """An item whose field is glued to its value, taken apart and recorded; other items as they are."""
        parts = unglued(key, value)
        if parts is None or parts[0].value not in self.allowed or not isinstance(key, Scalar):
            return key, value
        name, rest = str(parts[0].value), str(key.value)[len(str(parts[0].value)) + 1 :]
        place = Span(key.span.start, parts[0].span.end + 1)
        self.log.add(
            "unknown-key", place, key=key.value, section="entry", allowed=self.allowed, meant=name, rest=rest
        )  # fmt: skip
        return parts

    def _unknown_key(self, key: Scalar, written: set[Any], needs_match: bool) -> str | None:
        """Record the key; the name as which its value is read all the same, so that nothing echoes the slip."""
        meant = one_near(key.value, self.allowed) if isinstance(key.value, str) else None
        self.log.field = None
        self.log.add("unknown-key", key.span, key=key.value, section="entry", allowed=self.allowed, meant=meant)
        return None if meant in written or (meant == "match" and not needs_match) else meant

    def _field(self, entry: Entry, key: Key, place: Span, node: Node) -> None:
        match key.kind:
            case "match":
                self._match(entry, place, node)
            case "contract":
                value = self.contract.contract_field(key.name, place, node)
                entry.contract[key.name] = value
                if value.broken:
                    entry.broken.add(key.name)
            case _ if isinstance(node, Scalar) and node.value is None:
                if not key.nullable:
                    self._wrong(node, self._allowed(key))
                    entry.broken.add(key.name)
            case _:
                read = self._value(key, node)
                if read is None:
                    entry.broken.add(key.name)
                elif key.name != "is_boundary":
                    setattr(entry, key.name, read)

    def _value(self, key: Key, node: Node) -> object | None:
        """The value of a field that is not null; None where it cannot be read."""
        match key.kind:
            case "when":
                if is_text(node) and plain(node) in WHEN_WORDS:
                    return Text(plain(node), node.span)
                if not isinstance(node, UnknownNode):
                    self.log.add(
                        "invalid-when", node.span, value=plain(node), type=type_name(node), allowed=WHEN_WORDS
                    )  # fmt: skip
                return None
            case "bool" if isinstance(node, Scalar) and isinstance(node.value, bool):
                return Flag(node.value, node.span)
            case "inner_out_src":
                return self.contract.inner_out_src(node)
            case "names":
                return self._names(key, node)
            case "target":
                return read_target(self.log, node, self._allowed(key))
            case "text" | "wrapper" if is_text(node):
                return Text(plain(node), node.span)
            case "wrapper":
                return read_target(self.log, node, self._allowed(key))
        self._wrong(node, self._allowed(key))
        return None

    def _allowed(self, key: Key) -> str:
        return PYTHON_ALLOWED.get(key.kind, key.allowed) if self.python else key.allowed

    def _match(self, entry: Entry, place: Span, node: Node) -> None:
        entry.keys["match"], entry.values["match"] = place, node.span
        self.log.field = "match"
        items = node.items if isinstance(node, Sequence) and not self.python else [node]
        texts: list[Text] = []
        for item in items:
            if isinstance(item, UnknownNode):
                entry.broken.add("match")
            elif not is_text(item):
                self._wrong(item, ENTRY_KEYS["match"].allowed)
                entry.broken.add("match")
            elif plain(item) or self.python:
                texts.append(Text(plain(item), item.span))
            else:
                self.log.add("missing-match", item.span, problem="empty")
        if not items:
            self.log.add("missing-match", node.span, problem="empty")
        entry.matches = tuple(texts)

    def _check_list_match(self, entry: Entry) -> None:
        span = entry.values.get("match")
        if span is None or (len(entry.matches) == 1 and entry.matches[0].span == span) or not entry.matches:
            return
        self.log.field = "match"
        acting = [f for f in SHARDING_FIELDS if f in entry.keys and not _is_null(entry, f)]
        matches = tuple(t.value for t in entry.matches)
        if acting:
            self.log.add("match-list", span, matches=matches, problem="sharding", fields=tuple(acting))
        elif entry.replace_module is None and "replace_module" not in entry.broken:
            self.log.add("match-list", span, matches=matches, problem="no-replacement", fields=())

    def _names(self, key: Key, node: Node) -> tuple[Text, ...] | None:
        """A list of names; items at fault are left out, for each has its own finding."""
        local = key.name == "tp_divide_attrs"
        if not isinstance(node, Sequence):
            if local and self.python and not isinstance(node, UnknownNode):
                self.log.add("local-attribute", node.span, problem="not-list", value=plain(node), type=type_name(node))
            else:
                self._wrong(node, key.allowed)
            return None
        names: list[Text] = []
        for item in node.items:
            if isinstance(item, UnknownNode):
                return None
            name = Text(plain(item), item.span)
            if not is_text(item):
                self._wrong(item, key.allowed)
            elif local and not name.value.isidentifier():
                self.log.add("local-attribute", item.span, problem="identifier", value=name.value)
            elif local and (first := next((n for n in names if n.value == name.value), None)):
                again = ("first named here", first.span)
                self.log.add("local-attribute", item.span, again, problem="twice", value=name.value)
            else:
                names.append(name)
        return tuple(names)

    def _wrong(self, node: Node, allowed: str, **more: Any) -> None:
        if not isinstance(node, UnknownNode):
            self.log.add("wrong-type", node.span, value=plain(node), type=type_name(node), allowed=allowed, **more)


def _is_null(entry: Entry, field: str) -> bool:
    if field in CONTRACT_FIELDS:
        return entry.contract[field].null
    return getattr(entry, field) is None and field not in entry.broken


def _break_all(entry: Entry) -> None:
    """Nothing may be concluded from an entry that could not be read at all."""
    entry.broken.update(ENTRY_KEYS)
    for field in CONTRACT_FIELDS:
        entry.contract[field] = ContractField(entry.span, entry.span)


def _first_token_end(node: Mapping) -> int:
    """Where an entry's first key ends: the smallest token that stands for the entry."""
    return node.items[0][0].span.end if node.items and not node.flow else node.span.start + 1
