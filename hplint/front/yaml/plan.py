"""YAML files -> plans: trainer configurations, bare lists of entries, {match: fields} mappings; ``tp_plan``s beside
them or alone (see tp_plan/files.py).

Faults recorded here (see entries.py for those of entries):

- ``syntax-error``, in the document: ``message``, ``help``.
- ``wrong-type`` (R4), at the value of ``plan_overrides``, or of an accelerator key: ``value``, ``type``, ``allowed``;
  ``key`` for accelerator keys. ``problem`` is ``no-dash``, at the first key, where one entry stands in the place of a
  list of them; ``value`` is then its match, None without one.
- ``unknown-key``: ``key``, ``section`` (``accelerator`` or ``root``), ``allowed``, ``meant``. A field of an entry that
  stands at the root has itself as ``meant``.
- ``duplicate-key``: see recorder.py.
"""

from itertools import pairwise

from hplint.front.contract_slips import unglued
from hplint.front.entries import read_entries
from hplint.front.keys import ACCELERATOR, ACCELERATOR_KEYS, PLAN_OVERRIDES, YAML, entry_keys
from hplint.front.nodes import Mapping, Node, Scalar, Sequence, UnknownNode, is_text, plain, type_name
from hplint.front.plan_shape import (
    is_about_plans,
    is_bare_entry,
    is_entry_list,
    is_entry_mapping,
    is_lone_entry,
    is_stray_field,
    may_hold_tp_plan,
)
from hplint.front.recorder import Recorder
from hplint.front.yaml.nodes import SIZE_LIMIT, Stream, Tree, compose
from hplint.front.yaml.words import Problem
from hplint.plan.entry import Flag, Text
from hplint.plan.fault import Fault
from hplint.plan.plan import Accelerator, Document, Number, Plan, may_speak
from hplint.text.near import one_near
from hplint.text.source import Source
from hplint.text.span import START, Span

_PLAN = "a list of entries or a mapping {match: fields}"


def read_yaml(source: Source, tabs: bool = False, retry: bool = True) -> Document:
    """Read one YAML text; never raises. Of several documents with a plan of entries the first one is kept.

    ``tabs``: the text is JSON, where tabs are white space. ``retry``: see :func:`compose`.
    """
    text = source.text.replace("\t", " ") if tabs else source.text
    if len(text) > SIZE_LIMIT and not is_about_plans(text):
        return Document(source)
    stream = compose(text, retry)
    document = Document(source)
    if may_speak(text):
        from hplint.front.directives import read_comments
        from hplint.text.comments import yaml_comments

        read_comments(document, yaml_comments(text, stream.opaque))
    _read_trees(document, stream)
    return document


def _read_trees(document: Document, stream: Stream) -> None:
    faults: list[Fault] = []
    with_styles = may_hold_tp_plan(document.source.text)
    overrides: Plan | None = None
    for tree in stream.trees:
        plan = None if overrides else _plan(document.source, tree)
        of_styles = _of_styles(document.source, tree) if with_styles else ()
        if plan or of_styles:
            document.plans += (*((plan,) if plan else ()), *of_styles)
            faults += [_fault(p) for p in tree.problems]
        if plan:
            overrides = plan
            if len(stream.trees) > 1 and not stream.error:
                faults.append(_several(stream.trees))
            if not with_styles:
                break
    if stream.error:
        faults.append(_fault(stream.error))
        # What a broken text seems to say must not be judged.
        document.plans = ()
    document.faults += tuple(faults)


def _of_styles(source: Source, tree: Tree) -> tuple[Plan, ...]:
    from hplint.front.tp_plan.files import file_plans

    return file_plans(source, tree.root)


def _fault(problem: Problem) -> Fault:
    data = {"message": problem.message, "help": problem.help}
    return Fault("syntax-error", problem.span, data=data, related=problem.related)


def _several(trees: tuple[Tree, ...]) -> Fault:
    message = f"the file holds {len(trees)} YAML documents where a trainer reads one"
    advice = "put each plan in a file of its own, or remove the `---`"
    return _fault(Problem(trees[1].start, message, advice))


def _plan(source: Source, tree: Tree) -> Plan | None:
    root = tree.root
    if isinstance(root, Sequence) and is_entry_list(root):
        return _of(source, root, START, Recorder())
    if not isinstance(root, Mapping):
        return None
    log = Recorder()
    found = _overrides(root, log)
    if found:
        key, value = found
        plan = _of(source, value, key.span, log)
        _trainer(plan, root, key, log)
        plan.faults = (*log.faults, *plan.faults)
        return plan
    if is_entry_mapping(root):
        return _of(source, root, START, log)
    return _of(source, root, START, log) if is_lone_entry(root) else None


def _overrides(root: Mapping, log: Recorder) -> tuple[Scalar, Node] | None:
    """The plan_overrides item of a trainer file; a key that is nearly spelled so counts where it holds entries."""
    found = None
    for key, value in root.pairs():
        if isinstance(key, Scalar) and key.value == PLAN_OVERRIDES:
            found = key, value
    if found:
        keys = [k for k, _ in root.items if isinstance(k, Scalar) and k.value == PLAN_OVERRIDES]
        for first, again in pairwise(keys):
            related = ("first written here", first.span)
            log.add("duplicate-key", again.span, related, key=PLAN_OVERRIDES, section="plan")
        return found
    for key, value in root.items:
        near = isinstance(key, Scalar) and isinstance(key.value, str) and one_near(key.value, (PLAN_OVERRIDES,))
        if near and isinstance(key, Scalar) and _holds_entries(value):
            allowed = (PLAN_OVERRIDES,)
            log.add("unknown-key", key.span, key=key.value, section="root", allowed=allowed, meant=PLAN_OVERRIDES)
            return key, value
    return None


def _holds_entries(node: Node) -> bool:
    if isinstance(node, Sequence):
        return is_entry_list(node)
    return is_entry_mapping(node) or (isinstance(node, Mapping) and is_lone_entry(node))


def _of(source: Source, value: Node, anchor: Span, log: Recorder) -> Plan:
    """The plan whose entries ``value`` holds."""
    plan = Plan(source, YAML, (), anchor=anchor)
    match value:
        case Sequence(items=items):
            plan.entries, plan.faults = read_entries([(None, i) for i in items], YAML)
        case Mapping() if is_bare_entry(value):
            plan.entries, faults = read_entries([(None, value)], YAML)
            plan.faults = (_no_dash(value), *(f for f in faults if f.rule != "missing-match"))
        case Mapping():
            pairs: list[tuple[Node | None, Node]] = list(log.pairs(value, "plan"))
            plan.entries, plan.faults = read_entries(pairs, YAML)
        case Scalar(value=None) | UnknownNode():
            pass
        case _:
            log.add("wrong-type", value.span, value=plain(value), type=type_name(value), allowed=_PLAN)
    if anchor == START:
        plan.faults = (*log.faults, *plan.faults)
        log.faults = []
    return plan


def _no_dash(node: Mapping) -> Fault:
    match = node.get("match")
    data = {
        "problem": "no-dash", "type": "one entry without its dash", "allowed": "a list of entries",
        "value": None if match is None else plain(match),
    }  # fmt: skip
    return Fault("wrong-type", node.items[0][0].span if node.items else node.span, data=data)


def _trainer(plan: Plan, root: Mapping, holder: Scalar, log: Recorder) -> None:
    """What the rest of a trainer file says of the run. ``holder`` is the key of the plan."""
    model = root.get("model")
    if isinstance(model, Mapping):
        name = model.get("pretrained_model_name_or_path")
        if name is not None and is_text(name) and plain(name):
            plan.model = Text(plain(name), name.span)
    section = root.get(ACCELERATOR) or _misspelt_section(root, log)
    for key, value in root.items:
        if isinstance(key, Scalar) and key.span != holder.span and is_stray_field(key, value):
            fields = entry_keys(YAML)
            log.add("unknown-key", key.span, key=key.value, section="root", allowed=fields, meant=key.value)
    if isinstance(section, Mapping):
        plan.accelerator = _accelerator(section, log)
    elif section is not None and not isinstance(section, UnknownNode) and plain(section) is not None:
        data = {"value": plain(section), "type": type_name(section), "allowed": "a mapping", "key": ACCELERATOR}
        log.add("wrong-type", section.span, **data)


def _misspelt_section(root: Mapping, log: Recorder) -> Node | None:
    """The section under a key that is nearly spelled `accelerator`."""
    for key, value in root.items:
        if is_text(key) and isinstance(value, Mapping) and one_near(plain(key), (ACCELERATOR,)):
            allowed = (ACCELERATOR,)
            log.add("unknown-key", key.span, key=plain(key), section="root", allowed=allowed, meant=ACCELERATOR)
            return value
    return None


def _accelerator(node: Mapping, log: Recorder) -> Accelerator:
    found = Accelerator(node.span)
    allowed = tuple(ACCELERATOR_KEYS)
    for key, value in log.pairs(node, ACCELERATOR):
        if not isinstance(key, Scalar):
            continue
        if (parts := unglued(key, value)) and parts[0].value in ACCELERATOR_KEYS:
            place, word = Span(key.span.start, parts[0].span.end + 1), str(parts[0].value)
            rest = str(key.value)[len(word) + 1 :]
            log.add("unknown-key", place, key=key.value, section=ACCELERATOR, allowed=allowed, meant=word, rest=rest)
            key, value = parts
        name = key.value
        if name not in ACCELERATOR_KEYS:
            meant = one_near(name, allowed) if isinstance(name, str) else None
            meant = None if meant is None or node.get(meant) is not None else meant
            log.add("unknown-key", key.span, key=name, section=ACCELERATOR, allowed=allowed, meant=meant)
            name = meant
        if isinstance(name, str) and not isinstance(value, UnknownNode) and plain(value) is not None:
            _run_setting(found, name, value, log)
    return found


def _run_setting(found: Accelerator, name: str, value: Node, log: Recorder) -> None:
    if isinstance(value, Scalar):
        if name in ("sequence_parallel", "loss_parallel"):
            if isinstance(value.value, bool):
                setattr(found, name, Flag(value.value, value.span))
                return
        elif isinstance(value.value, int) and not isinstance(value.value, bool) and value.value >= 1:
            found.sizes[name.removesuffix("_size")] = Number(value.value, value.span)
            return
        if is_text(value) and "${" in plain(value):
            found.unread.add(name.removesuffix("_size"))
            return  # An interpolation, filled in before the runtime looks.
    found.unread.add(name.removesuffix("_size"))
    allowed = ACCELERATOR_KEYS[name].allowed
    log.add("wrong-type", value.span, value=plain(value), type=type_name(value), allowed=allowed, key=name)
