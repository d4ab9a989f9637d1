"""What a rule proposes to change, in the plan's own terms; ``fix/`` turns it into edits of the text, per dialect."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from hplint.plan.entry import Entry
from hplint.plan.style import StyleEntry
from hplint.text.span import Span


class Rename(NamedTuple):
    """The token at ``span`` (a key, a match, a word, a target path) shall mean ``value``; its quoting stays."""

    span: Span
    value: str


class Rewrite(NamedTuple):
    """The value at ``span`` becomes ``value``: plain Python values (bool, int, str, dict, list) and placements, spelled
    in the dialect and style of its surroundings."""

    span: Span
    value: Any


class Remove(NamedTuple):
    """The item whose key (or whose list item) stands at ``span`` goes: key, value, and comments of its own."""

    span: Span


class SetField(NamedTuple):
    """An entry's field gets this value: written after the entry's other fields, or in place of the one that is there.

    ``comment`` is a line to stand above it, "" for none.
    """

    entry: Entry
    field: str
    value: Any
    comment: str = ""


class AddItem(NamedTuple):
    """A mapping field of an entry (params, in_src, …) gets one more item, in the style of its siblings."""

    entry: Entry
    field: str
    key: str
    value: Any


class SetArgument(NamedTuple):
    """The style of an entry gets this argument, or another value for it."""

    entry: StyleEntry
    name: str
    value: Any


class SetStyle(NamedTuple):
    """An entry gets another style, of the same arguments."""

    entry: StyleEntry
    name: str


class RemoveEntry(NamedTuple):
    """The whole entry goes, with comment lines of its own."""

    entry: Entry


class AddEntries(NamedTuple):
    """New entries: ``match`` and fields as plain values, in order. They stand after ``after`` (None: at the end of the
    plan), or in its place when ``replacing``."""

    entries: tuple[Mapping[str, Any], ...]
    after: Entry | None = None
    replacing: bool = False
    comment: str = ""


class Draft(NamedTuple):
    """Contract fields for ``modules``, worked out by ``fix/draft.py`` from parameters, forwards and neighbours.

    ``fields`` names those to draft (all five contract fields when empty). Where the modules need different contracts,
    the entry is split into one per contract.
    """

    entry: Entry
    modules: tuple[str, ...]
    fields: tuple[str, ...] = ()


class ChangeComment(NamedTuple):
    """What stands at ``span`` in a comment, white space or a line end beside it included, becomes ``text``."""

    span: Span
    text: str


Change = (
    Rename | Rewrite | Remove | SetField | AddItem | SetArgument | SetStyle | RemoveEntry | AddEntries | Draft
    | ChangeComment
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Proposal:
    """A fix as a rule thinks of it. ``safe``: never changes what a valid plan means. ``title`` starts with a verb
    ("replace `atention` by `attention`")."""

    title: str
    changes: tuple[Change, ...]
    safe: bool = False
