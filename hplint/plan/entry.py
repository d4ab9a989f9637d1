"""One entry of a plan, every value with its place."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hplint.plan.layout import CONTRACT_FIELDS, Layouts
from hplint.text.span import START, Span


class Text(NamedTuple):
    """A string as the plan means it (escapes resolved) and the token that wrote it."""

    value: str
    span: Span


class Flag(NamedTuple):
    """A boolean and the token that wrote it."""

    value: bool
    span: Span


class Keyword(NamedTuple):
    """A configured keyword of a target: plain Python value (or UNKNOWN), the key's and the value's place."""

    value: Any
    key_span: Span
    span: Span


UNKNOWN: Any = type("Unknown", (), {"__repr__": lambda self: "UNKNOWN", "__slots__": ()})()
"""Stands for a value that cannot be read statically; compare with ``is``."""


@dataclass(slots=True)
class Target:
    """``{_target_: dotted.path, keyword: value, …}`` or a Python ``Target(…)``.

    ``path`` is the dotted path with import aliases resolved; its span marks the path alone. For Python, where a target
    may be a plain callable reference, ``path`` is the name's dotted path.
    """

    path: Text
    keywords: dict[str, Keyword] = field(default_factory=dict)
    span: Span = START


@dataclass(slots=True)
class ContractField:
    """The value of params, in_src, in_dst, out_src or out_dst.

    Exactly one holds: ``sentinel`` is "auto" or "none"; ``layouts`` is a mapping (maybe empty); ``null`` is true (YAML
    null or Python None: inherits); or all are unset and the field is ``broken``: a fault was recorded, its value is
    unknown and rules that would need it keep quiet. ``shorthand`` is true for the bare ``{axis: placement}`` form,
    which ``layouts`` holds under the name "output" already. ``partly_broken``: some layouts could not be read and are
    left out or hold None placements.
    """

    key_span: Span
    span: Span
    sentinel: str | None = None
    layouts: Layouts | None = None
    null: bool = False
    shorthand: bool = False
    partly_broken: bool = False

    @property
    def broken(self) -> bool:
        return self.sentinel is None and self.layouts is None and not self.null


@dataclass(slots=True)
class InnerOutSrc:
    """inner_out_src: the word ``first_input``, one layout (``shorthand``), or named layouts in declaration order."""

    span: Span
    first_input: bool = False
    layouts: Layouts | None = None
    shorthand: bool = False
    written: Any = None
    """The value as written (plain dicts and strings), for ``plan show``."""


@dataclass(slots=True)
class Entry:
    """One entry of a plan (a YAML mapping with ``match``, or one item of a Python plan dict).

    ``matches`` is empty where match is missing or unreadable (a fault tells); a list match has several. Fields that
    were not written, or are null, are None. A field that was written but could not be read is named in ``broken``:
    its attribute is None too, and nothing may be concluded from its absence. So are keys that no entry has.
    """

    index: int
    span: Span
    matches: tuple[Text, ...] = ()
    when: Text | None = None
    contract: dict[str, ContractField] = field(default_factory=dict)
    region_dispatch: Flag | None = None
    inner_target: Text | None = None
    inner_wrapper: Text | Target | None = None
    inner_out_src: InnerOutSrc | None = None
    local_compute_fn: Target | None = None
    replace_module: Target | None = None
    module_type: Text | None = None
    exact_type: Flag | None = None
    tp_divide_attrs: tuple[Text, ...] | None = None
    out_names: tuple[Text, ...] | None = None
    keys: dict[str, Span] = field(default_factory=dict)
    """Field name -> place of its key, for every field written (null ones too)."""
    values: dict[str, Span] = field(default_factory=dict)
    """Field name -> place of its value."""
    broken: set[str] = field(default_factory=set)

    @property
    def match(self) -> Text | None:
        """The first (nearly always the only) match."""
        return self.matches[0] if self.matches else None

    @property
    def has_contract(self) -> bool:
        """Whether a contract field holds a mapping or could not be read: what lets a glob insert boundaries."""
        return any(f.layouts is not None or f.broken for f in self.contract.values())

    @property
    def has_sharding_action(self) -> bool:
        """Whether the entry does anything besides replacing modules."""
        return any(name in self.keys for name in SHARDING_FIELDS)


INJECTION_FIELDS = frozenset((
    "local_compute_fn", "inner_target", "inner_wrapper", "inner_out_src", "region_dispatch", "replace_module",
    "module_type", "exact_type",
))  # fmt: skip
"""Fields that inject or replace a function or a module, or that accompany such a field."""
SHARDING_FIELDS = (*CONTRACT_FIELDS, "local_compute_fn", "inner_target", "inner_wrapper", "inner_out_src",
                   "region_dispatch", "out_names")  # fmt: skip
"""Fields that act on a boundary. tp_divide_attrs counts only beside one of them or without replace_module (S34)."""
