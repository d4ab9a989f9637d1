"""Contract mappings whose levels are not where they belong: swapped, one of them forgotten, or glued to its value."""

import re
from collections.abc import Iterable

from hplint.front.keys import AXIS_WORDS, ENTRY_KEYS
from hplint.front.nodes import Mapping, Node, PlacementNode, Scalar, UnknownNode, is_text, plain
from hplint.plan.placement import parse
from hplint.text.span import Span

_LIKELY_TENSORS = ("match", "when", "params")
_GLUED = re.compile(r"([^\s:]+):(\S.*)", re.S)


def is_axis(node: Node) -> bool:
    """Whether a node is the name of an axis that every mesh knows."""
    return is_text(node) and plain(node) in AXIS_WORDS


def is_field(key: Scalar, value: Node) -> bool:
    """Whether an item of a contract field is a field of the entry: a key that no tensor has, or one that some tensor
    might have and a value that no tensor takes."""
    if key.value not in ENTRY_KEYS:
        return False
    return key.value not in _LIKELY_TENSORS or not isinstance(value, (Mapping, PlacementNode, UnknownNode))


def lacks_tensor(key: Node, value: Node) -> bool:
    """Whether an item of ``{tensor: {axis: placement}}`` is ``axis: placement`` already."""
    return is_axis(key) and not isinstance(value, (Mapping, UnknownNode))


def is_swapped(key: Node, value: Node) -> bool:
    """Whether an item of ``{tensor: {axis: placement}}`` is ``axis: {tensor: placement}``."""
    if not is_axis(key) or not isinstance(value, Mapping):
        return False
    pairs = value.pairs()
    names = all(is_text(k) and not is_axis(k) for k, _ in pairs)
    return names and any(is_placement(v) for _, v in pairs)


def transposed(items: Iterable[tuple[Node, Node]], span: Span) -> Mapping:
    """``{axis: {tensor: placement}}`` as ``{tensor: {axis: placement}}``; other items as they are."""
    tensors: dict[object, tuple[Node, Mapping]] = {}
    others: list[tuple[Node, Node]] = []
    for key, value in items:
        if not is_swapped(key, value) or not isinstance(value, Mapping):
            others.append((key, value))
            continue
        for name, placement in value.pairs():
            found = tensors.setdefault(plain(name), (name, Mapping([], value.span)))
            found[1].items.append((key, placement))
    return Mapping([*others, *tensors.values()], span)


def is_placement(node: Node) -> bool:
    """Whether a node is a placement of either dialect."""
    return isinstance(node, PlacementNode) or (is_text(node) and parse(plain(node)) is not None)


def unglued(key: Node, value: Node | None = None) -> tuple[Scalar, Scalar] | None:
    """``key: value`` for a plain YAML text ``key:value``, which is one name for want of a space; None for other nodes.

    ``value`` is what the parser took for the value: nothing, where the text was meant to be the whole item.
    """
    if not isinstance(key, Scalar) or key.quoted or key.kind or not isinstance(key.value, str) or ":" not in key.value:
        return None
    if value is not None and not _is_nothing(value):
        return None
    found = _GLUED.fullmatch(key.value)
    if found is None:
        return None
    from hplint.front.yaml.scalars import BadScalar, construct, implicit_tag

    colon = key.span.start + found.end(1)
    try:
        read, kind = construct(implicit_tag(found[2]), found[2])
    except BadScalar:
        return None
    return Scalar(found[1], Span(key.span.start, colon)), Scalar(read, Span(colon + 1, key.span.end), False, kind)


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None and node.span.start == node.span.end
