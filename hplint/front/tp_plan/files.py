"""``tp_plan``s in JSON and YAML: config.json of a model, the files of training and serving tools.

A plan is a mapping of strings under a key that :mod:`hplint.front.tp_plan.words` knows, at any depth. Sizes that stand
beside it (``tp_size: 4``) say what it is for. The config.json of a model names its own folder as that model.

Faults recorded here, beside those of the entries: ``duplicate-key`` (see recorder.py), and ``wrong-type`` at a size:
``value``, ``type``, ``allowed``, ``key``.
"""

from collections.abc import Iterator

from hplint.front.keys import ACCELERATOR, ACCELERATOR_KEYS
from hplint.front.nodes import Mapping, Node, Scalar, Sequence, UnknownNode, is_text, plain, type_name
from hplint.front.recorder import Recorder
from hplint.front.tp_plan.entries import Item, read_items
from hplint.front.tp_plan.words import CARRIERS, CONFIG_ARGUMENT, SIZES, looks_like_plan
from hplint.plan.entry import Text
from hplint.plan.plan import Accelerator, Number, Plan
from hplint.plan.style import TP_PLAN, Carrier
from hplint.text.source import Source

_CONFIG_FILE = "config.json"


def file_plans(source: Source, root: Node) -> tuple[Plan, ...]:
    """The plans in one document, in reading order."""
    model = _model(source, root)
    run = root.get(ACCELERATOR) if isinstance(root, Mapping) else None
    found = [_plan(source, *place, model, run) for place in _places(root)]
    return tuple(sorted(found, key=lambda p: p.anchor))


_Place = tuple[Scalar, Node, Mapping, Carrier]
"""The key of a plan, the plan, the mapping that both stand in, and what it counts from."""
_MAPPING = "a mapping of names to styles"


def _places(root: Node) -> Iterator[_Place]:
    # Aliases may lead to one node on very many ways.
    seen: set[int] = set()
    waiting: list[tuple[Node, tuple[str, ...]]] = [(root, ())]
    while waiting:
        node, steps = waiting.pop()
        if id(node) in seen or not isinstance(node, (Mapping, Sequence)):
            continue
        seen.add(id(node))
        if isinstance(node, Sequence):
            waiting += [(i, steps) for i in node.items]
            continue
        for key, value in node.pairs():
            name = str(plain(key)) if is_text(key) else ""
            carrier = CARRIERS.get(name)
            if carrier and isinstance(key, Scalar) and (_is_plan(value, node, carrier) or _is_wrong(value, carrier)):
                yield key, value, node, carrier._replace(steps=steps if carrier.kind == "config" else ())
                continue
            inner = (*steps, name) if name.endswith("_config") and name != CONFIG_ARGUMENT else steps
            waiting.append((value, inner if carrier is None else steps))


def _is_plan(node: Node, around: Mapping, carrier: Carrier | None) -> bool:
    """Whether a value under the name of a plan is one. An empty one says something only beside sizes."""
    if carrier is None or not isinstance(node, Mapping):
        return False
    items = node.pairs()
    if carrier.section == "pp":
        return any(is_text(k) and isinstance(v, (Sequence, Scalar)) for k, v in items)
    if carrier.kind == "config":
        return not items or any(not isinstance(v, Mapping) for _, v in items)
    words = [(plain(k), plain(v)) for k, v in items if is_text(k) and is_text(v)]
    return looks_like_plan(words) if items else any(around.get(size) for size in SIZES)


def _is_wrong(node: Node, carrier: Carrier) -> bool:
    """Whether something else stands where a config has its plan: nothing but a plan belongs there."""
    if carrier.kind != "config" or isinstance(node, (Mapping, UnknownNode)):
        return False
    return isinstance(node, Sequence) or plain(node) is not None


def _plan(
    source: Source, key: Scalar, node: Node, around: Mapping, carrier: Carrier, model: Text | None, run: Node | None
) -> Plan:
    log = Recorder()
    pairs = log.pairs(node, "plan") if isinstance(node, Mapping) else []
    if not isinstance(node, Mapping):
        data = {"value": plain(node), "type": type_name(node), "allowed": _MAPPING, "key": key.value}
        log.add("wrong-type", node.span, **data)
    styles, faults = read_items((Item(k, v) for k, v in pairs), carrier.section)
    accelerator = _sizes(around, log) or (_sizes(run, log) if isinstance(run, Mapping) else None)
    return Plan(
        source, TP_PLAN, (), (*log.faults, *faults), key.span, accelerator, model,
        name=str(key.value), styles=styles, carrier=carrier,
    )  # fmt: skip


def _sizes(around: Mapping, log: Recorder) -> Accelerator | None:
    """The sizes that stand beside a plan."""
    found = Accelerator(around.span, implied=False)
    for key, value in around.pairs():
        name = plain(key) if is_text(key) else None
        if name not in SIZES or not isinstance(name, str) or isinstance(value, UnknownNode):
            continue
        read_size(found, name, value, log)
    return found if found.sizes or found.unread else None


def read_size(found: Accelerator, name: str, value: Node, log: Recorder) -> None:
    """Take in one size, or tell that it is none; null leaves it open."""
    axis, size = name.removesuffix("_size"), plain(value)
    if size is None:
        return
    if isinstance(size, int) and not isinstance(size, bool) and size >= 1:
        found.sizes[axis] = Number(size, value.span)
        return
    found.unread.add(axis)
    if is_text(value) and "${" in str(size):
        return  # An interpolation, filled in before the runtime looks.
    data = {"value": size, "type": type_name(value), "allowed": ACCELERATOR_KEYS[name].allowed, "key": name}
    log.add("wrong-type", value.span, **data)


def _model(source: Source, root: Node) -> Text | None:
    """The model of a file: its own folder where it is the config.json of one, else what its ``model`` section says."""
    if not isinstance(root, Mapping):
        return None
    kind = root.get("model_type")
    if is_text(kind) and kind is not None and source.path.replace("\\", "/").rpartition("/")[2] == _CONFIG_FILE:
        return Text(".", kind.span)
    section = root.get("model")
    name = section.get("pretrained_model_name_or_path") if isinstance(section, Mapping) else None
    return Text(str(plain(name)), name.span) if name is not None and is_text(name) and plain(name) else None
