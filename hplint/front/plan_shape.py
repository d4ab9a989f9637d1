"""Which YAML documents are plans: plans must be found without claiming ordinary YAML files."""

import re

from hplint.front.keys import ENTRY_KEYS, PLAN_OVERRIDES, SENTINELS
from hplint.front.nodes import Mapping, Node, Scalar, Sequence, is_text, plain
from hplint.plan.placement import parse
from hplint.text.near import near

_TELLING = frozenset(ENTRY_KEYS) - {"match", "when", "params", "out_names", "is_boundary"}
"""Keys that hardly any other kind of file uses."""


def is_about_plans(text: str) -> bool:
    """Whether a text that cannot be read was most likely meant as a plan: it has words that no other file has."""
    words = (PLAN_OVERRIDES, "ModuleShardingSpec", "parallelize_module", *sorted(_TELLING))
    return re.search(rf"\b(?:{'|'.join(words)}|(?:base_model)?_?(?:tp|ep|pp)_plan)\b|# *hplint:", text) is not None


def may_hold_tp_plan(text: str) -> bool:
    """Whether a text may give a ``tp_plan``, ``base_model_ep_plan`` or the like: a quick look. JSON may spell letters
    as escapes."""
    return "p_plan" in text or "\\u00" in text


def is_entry_list(node: Sequence) -> bool:
    """Whether a list holds plan entries: some item has a ``match`` and nothing that an entry could not have, or a
    field that only entries have."""
    return any(isinstance(i, Mapping) and _is_entry(i) for i in node.items)


def is_lone_entry(node: Mapping) -> bool:
    """Whether a mapping is one entry that stands where a list of entries belongs."""
    return node.get("match") is not None and _has_fields(node)


def is_bare_entry(node: Mapping) -> bool:
    """Whether a mapping that is a plan beyond doubt is one entry without its dash, not {match: fields}: it has a
    ``match`` that is no mapping of fields, or keys of entries alone and no fields below them."""
    match = node.get("match")
    if match is not None:
        return not isinstance(match, Mapping)
    pairs = node.pairs()
    own = bool(pairs) and all(isinstance(k, Scalar) and k.value in ENTRY_KEYS for k, _ in pairs)
    return own and not any(isinstance(v, Mapping) and _has_fields(v) for _, v in pairs)


def is_entry_mapping(node: Node) -> bool:
    """Whether a mapping is {match: fields}: every value is a mapping (or nothing) and some value has entry fields."""
    if not isinstance(node, Mapping):
        return False
    values = [v for _, v in node.pairs()]
    if not all(isinstance(v, Mapping) or (isinstance(v, Scalar) and v.value is None) for v in values):
        return False
    return any(isinstance(v, Mapping) and _has_fields(v) for v in values)


def is_stray_field(key: Scalar, value: Node) -> bool:
    """Whether an item at the root of a trainer file is a field of an entry that lost its indentation."""
    return key.value in _TELLING or (key.value == "params" and _is_contract(value))


def _is_entry(node: Mapping) -> bool:
    if _has_fields(node):
        return True
    match = node.get("match")
    texts = match.items if isinstance(match, Sequence) else [match]
    if match is None or not all(is_text(t) for t in texts):
        return False
    keys = [str(k.value) for k, _ in node.pairs() if isinstance(k, Scalar) and k.value != "match"]
    others = [k.partition(":")[0] for k in keys]  # `when:cp` lacks its space, no more.
    return not others or any(k in ENTRY_KEYS or near(k, ENTRY_KEYS, 1) for k in others)


def _has_fields(node: Mapping) -> bool:
    """Whether a mapping has a field that makes it an entry beyond doubt."""
    keys = {k.value for k, _ in node.pairs() if isinstance(k, Scalar)}
    return bool(keys & _TELLING) or _is_contract(node.get("params"))


def _is_contract(node: Node | None) -> bool:
    """Whether a value looks like that of a contract field: a sentinel, or placements in it."""
    if isinstance(node, Scalar):
        return node.value in SENTINELS
    if not isinstance(node, Mapping):
        return False
    return any(_is_layout(v) or _is_placement(v) for _, v in node.pairs())


def _is_layout(node: Node) -> bool:
    return isinstance(node, Mapping) and any(_is_placement(v) for _, v in node.pairs())


def _is_placement(node: Node) -> bool:
    return is_text(node) and (parse(plain(node)) is not None or plain(node).strip().lower().startswith("shard"))
