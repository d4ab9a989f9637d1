"""Values as YAML or JSON spells them, in the manner of their surroundings. Strings stay strings under YAML 1.1."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hplint.fix.edit import CannotRealise
from hplint.fix.yaml_tree import Piece
from hplint.front.yaml.scalars import STR, implicit_tag
from hplint.plan.entry import UNKNOWN
from hplint.plan.placement import Placement

LINE = 100
"""Columns that a flow mapping of ours may reach where the file does not say how it likes it."""
_PLAIN = re.compile(r"[^\W_][^\n\r\t]*|[_./$+~^(<][^\n\r\t]*", re.S)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\u0000"}


class Manner(NamedTuple):
    """How the siblings are written. ``quote`` is the mark for strings that need one; ``keys`` and ``values`` tell
    whether all strings get it. ``padded`` is for ``{ a: 1 }``."""

    is_json: bool = False
    quote: str = '"'
    keys: bool = False
    values: bool = False
    padded: bool = False


JSON = Manner(True, '"', True, True)


def manner_of(pieces: Iterable[Piece], text: str, is_json: bool) -> Manner:
    """The manner in which the collections among some pieces are written."""
    if is_json:
        return JSON
    keys, values, padded = _Quoting(), _Quoting(), False
    for piece in pieces:
        for item in piece.items:
            if item.key:
                keys.see(item.key)
            values.see(item.value)
        if piece.flow and piece.items:
            padded = text[piece.token + 1 : piece.token + 2] == " "
    return Manner(False, keys.mark or values.mark or '"', keys.always, values.always, padded)


class _Quoting:
    """Whether strings are quoted for want of a reason."""

    def __init__(self) -> None:
        self.mark = ""
        self.bare = False
        self.needless = False

    def see(self, piece: Piece) -> None:
        if piece.kind != "scalar" or piece.style in ("|", ">"):
            return
        if piece.style:
            self.mark = self.mark or piece.style
            self.needless = self.needless or is_plain(piece.text, True)
        elif implicit_tag(piece.text) == STR:
            self.bare = True

    @property
    def always(self) -> bool:
        return self.needless and not self.bare


def is_plain(text: str, flow: bool) -> bool:
    """Whether a string may stand without quotes and still mean itself."""
    if not _PLAIN.fullmatch(text) or not text.isprintable() or text != text.strip():
        return False
    if ": " in text or " #" in text or text.endswith(":") or text.startswith(("...", "<<")):
        return False
    if flow and re.search(r"[,\[\]{}:?]", text):
        return False
    return implicit_tag(text) == STR


def quoted(text: str, mark: str) -> str:
    """A string in quotes; single ones only where they can hold it."""
    if mark == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(_ESCAPES.get(c) or _shown(c) for c in text) + '"'


def _shown(character: str) -> str:
    # What lies beyond four hexadecimal digits stands as it is: YAML and JSON escape it differently.
    if character.isprintable() or character > "\uffff":
        return character
    return f"\\u{ord(character):04x}"


def string(text: str, manner: Manner, flow: bool, key: bool = False) -> str:
    """A string as a key or as a value."""
    if manner.is_json:
        return quoted(text, '"')
    if (manner.keys if key else manner.values) or not is_plain(text, flow):
        return quoted(text, manner.quote)
    return text


def inline(value: Any, manner: Manner, flow: bool = False, key: bool = False) -> str:
    """A value on one line: mappings and lists in flow style. Raises CannotRealise for values that YAML has no word
    for. ``flow``: whether it stands inside a flow collection."""
    match value:
        case Placement():
            return string(str(value), manner, flow)
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case int():
            return str(value)
        case float():
            return _float(value, manner.is_json)
        case str():
            return string(value, manner, flow, key)
        case Mapping():
            pairs = (pair(str(k), v, manner) for k, v in value.items())
            return _enclosed("{", ", ".join(pairs), "}", manner)
        case _ if isinstance(value, Sequence) and value is not UNKNOWN:
            return _enclosed("[", ", ".join(inline(v, manner, True) for v in value), "]", manner)
    raise CannotRealise(f"the value {value!r} has no spelling in YAML")


def pair(key: str, value: Any, manner: Manner, flow: bool = True, outer: Manner | None = None) -> str:
    """``key: value`` on one line; ``outer`` is the manner of the key where it has another one."""
    return f"{string(key, outer or manner, flow, key=True)}: {inline(value, manner, flow)}"


def block(value: Mapping[str, Any], manner: Manner, depth: int) -> list[str]:
    """A mapping as lines, nested mappings as blocks too while ``depth`` is above 1. Two spaces a level."""
    lines = []
    for key, inner in value.items():
        if depth > 1 and isinstance(inner, Mapping) and inner:
            lines.append(f"{string(key, manner, False, key=True)}:")
            lines += [f"  {line}" for line in block(inner, manner, depth - 1)]
        else:
            lines.append(pair(key, inner, manner, flow=False))
    return lines


def _enclosed(left: str, inner: str, right: str, manner: Manner) -> str:
    pad = " " if manner.padded and inner else ""
    return f"{left}{pad}{inner}{pad}{right}"


def _float(value: float, is_json: bool) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        if is_json:
            raise CannotRealise(f"JSON has no word for {value}")
        return ".nan" if value != value else ".inf" if value > 0 else "-.inf"
    text = repr(value)
    # YAML 1.1 takes an exponent only with a dot before it and a sign in it.
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
        text = f"{mantissa}e{exponent if exponent[0] in '+-' else '+' + exponent}"
    return text
