"""``{_target_: dotted.path, keyword: value}`` -> Target.

Faults recorded here:

- ``wrong-type`` (R15, R95), at the value, when it is neither a mapping nor a Python target: ``value``, ``type``,
  ``allowed``.
- ``unresolved-target`` (R16-R18): ``problem`` is ``missing`` (no ``_target_``; at the mapping's first key), ``type``
  (not a non-empty string; at the value) or ``empty-part`` (``a..b``; at the value); ``value``, ``type``; ``keys``, the
  keys that are there and their places, for ``missing``.
"""

from hplint.front.keys import TARGET
from hplint.front.nodes import Mapping, Node, Scalar, TargetNode, UnknownNode, is_text, plain, static, type_name
from hplint.front.recorder import Recorder
from hplint.plan.entry import Keyword, Target, Text


def read_target(log: Recorder, node: Node, allowed: str) -> Target | None:
    """The target that a node says; None (with a fault, unless it is an expression) where it cannot be read."""
    match node:
        case TargetNode():
            return node.target
        case UnknownNode():
            return None
        case Mapping():
            return _from_mapping(log, node)
    log.add("wrong-type", node.span, value=plain(node), type=type_name(node), allowed=allowed)
    return None


def _from_mapping(log: Recorder, node: Mapping) -> Target | None:
    pairs = log.pairs(node, "target")
    path = node.get(TARGET)
    if path is None:
        place = pairs[0][0].span if pairs else node.span
        log.add(
            "unresolved-target",
            place,
            problem="missing",
            value=None,
            type="",
            keys={plain(k): k.span for k, _ in pairs if isinstance(k, Scalar)},
        )
        return None
    if isinstance(path, UnknownNode):
        return None
    if not isinstance(path, Scalar) or not is_text(path) or not path.value:
        log.add("unresolved-target", path.span, problem="type", value=plain(path), type=type_name(path))
        return None
    dotted = str(path.value)
    if not all(part.strip() for part in dotted.split(".")):
        log.add("unresolved-target", path.span, problem="empty-part", value=dotted, type="")
        return None
    target = Target(Text(dotted, path.span), span=node.span)
    for key, value in pairs:
        if isinstance(key, Scalar) and key.value != TARGET:
            target.keywords[str(key.value)] = Keyword(static(value), key.span, value.span)
    return target
