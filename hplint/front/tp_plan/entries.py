"""Items of a ``tp_plan`` -> entries, whichever language wrote them.

Faults recorded here:

- ``not-evaluated``, at a key or value that cannot be read: ``reason``.
- ``wrong-type``, at a key or value that is no string: ``value``, ``type``, ``allowed``; ``match``, the key, for values.
"""

from collections.abc import Iterable
from typing import NamedTuple

from hplint.front.nodes import Node, Scalar, UnknownNode, is_text, plain, type_name
from hplint.plan.entry import Text
from hplint.plan.fault import Fault
from hplint.plan.style import Style, StyleEntry

_KEY = "a string, the path of a module or parameter"
_WORD = "a string, the name of a style"


class Item(NamedTuple):
    """One item of a plan. ``glob``: parts of the key are known only at run time. ``elsewhere``: it comes from outside
    the file, where nothing of it is to be read."""

    key: Node
    value: Node
    glob: bool = False
    elsewhere: bool = False


def read_items(items: Iterable[Item], section: str) -> tuple[tuple[StyleEntry, ...], tuple[Fault, ...]]:
    """The entries of a plan and their faults. Values of pipeline plans (what goes into and out of a stage) are no
    styles."""
    entries: list[StyleEntry] = []
    faults: list[Fault] = []
    for index, item in enumerate(items):
        key = _text(item.key)
        word = _text(item.value) if section != "pp" else None
        style = Style(word.value, "hf", word.span) if word else None
        entries.append(StyleEntry(index, key, style, item.key.span, glob=item.glob))
        if item.elsewhere:
            continue
        if key is None:
            faults.append(_fault(item.key, index, _KEY, None))
        elif style is None and section != "pp":
            faults.append(_fault(item.value, index, _WORD, key.value))
    return tuple(entries), tuple(faults)


def _text(node: Node) -> Text | None:
    return Text(str(plain(node)), node.span) if is_text(node) else None


def _fault(node: Node, entry: int, allowed: str, match: str | None) -> Fault:
    if isinstance(node, UnknownNode):
        return Fault("not-evaluated", node.span, entry, data={"reason": node.reason})
    shown = node.value if isinstance(node, Scalar) else plain(node)
    data = {"value": shown, "type": type_name(node), "allowed": allowed, "match": match}
    return Fault("wrong-type", node.span, entry, data=data)
