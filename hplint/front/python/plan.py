"""Python files -> plans: dicts {fqn or glob: ModuleShardingSpec(…)}, read without running or importing anything.

What a plan dict is: a dict of which some value is a ``ModuleShardingSpec(…)``, and every dict that is given as
``plan_overrides``. It may be put together in any of the usual ways (loops, comprehensions, ``update``, ``|``, ``**``,
calls of functions of the same file …); see :mod:`hplint.front.python.find` for which dicts make a plan of their own.
Plans of styles are told in torch/plan.py and tp_plan/plan.py.

Conditions that are known are followed. Where a condition is known only at run time (or rests on the default of a
parameter, which a caller may replace), both branches are read, each in a run of its own in which all conditions go one
consistent way. A dict whose entries depend on such a condition therefore gives several plans, each of which the file
can really make: entries of both branches are checked, yet never two together that exclude one another. A variant whose
entries all stand in another variant too (``if flag: plan[key] = …`` not taken) is dropped.

Faults recorded here (those of entries are recorded by entries.py):

- ``syntax-error``, in the document: ``message``, ``help``.
- ``not-evaluated``, at the expression: ``reason``, which finishes the sentence "not evaluated: …". In the document
  when it is not about one plan: a whole plan that cannot be read, a file that takes too many steps. ``meant`` is the
  plan word that an undefined name may mean. A name that was read as that word, in the document too: ``name``,
  ``meant`` and ``certain`` (nothing can define it).
- ``duplicate-key``: see recorder.py.
- ``wrong-type``, at an argument of ``plan(…)``: ``value``, ``type``, ``allowed``, ``key``.
"""

import re
from typing import TYPE_CHECKING

from hplint.front.directives import read_comments
from hplint.front.entries import read_entries
from hplint.front.keys import ACCELERATOR_KEYS, ENTRY_KEYS, PYTHON
from hplint.front.nodes import Mapping, Node, Scalar, UnknownNode, plain, type_name
from hplint.front.plan_shape import may_hold_tp_plan
from hplint.front.recorder import Recorder, duplicates
from hplint.plan.entry import ContractField, Entry, Flag
from hplint.plan.fault import Fault
from hplint.plan.layout import CONTRACT_FIELDS
from hplint.plan.plan import Accelerator, Document, Number, Plan, may_speak
from hplint.text.comments import python_comments
from hplint.text.source import Source
from hplint.text.span import START

if TYPE_CHECKING:
    from hplint.front.python.find import Call, Candidate

_WORDS = re.compile(r"Module\w+Spec|\w+ShardingSpec|plan_overrides|ShardingPlanner")
_STYLE_WORDS = re.compile(
    r"parallelize_module|ParallelStyle|(?:Colwise|Rowwise|Sequence)Parallel|PrepareModule(?:In|Out)put"
)
"""What a file with a plan mentions, the first of them maybe misspelt."""


def read_python(source: Source) -> Document:
    """Read the plans of one Python text; never raises: what is wrong is among the document's faults."""
    from hplint.front.python.places import NotPython, parse

    document = Document(source)
    if may_speak(source.text):
        read_comments(document, python_comments(source.text))
    try:
        tree = parse(source)
    except NotPython as error:
        data = {"message": error.reason, "help": error.advice}
        document.faults = (*document.faults, Fault("syntax-error", error.span, data=data))
        return document
    styles = _STYLE_WORDS.search(source.text) is not None
    others = styles or _WORDS.search(source.text) is not None
    words = may_hold_tp_plan(source.text)
    if not others and not words:
        return document
    from hplint.front.python.find import candidates, run_file, unread
    from hplint.front.python.machine import Machine

    machine = Machine(source, tree)
    run_file(machine, whole=others)
    document.plans = tuple(_plan(source, candidate, machine.undefined) for candidate in candidates(machine))
    if styles:
        from hplint.front.torch.plan import torch_plans

        document.plans += torch_plans(machine)
    lost = unread(machine)
    if words:
        from hplint.front.tp_plan.plan import tp_plans, unread_plans

        document.plans += tp_plans(machine)
        lost += unread_plans(machine)
    faults = [Fault("not-evaluated", span, data={"reason": r}) for span, r in {u.span: u.reason for u in lost}.items()]
    if document.plans:
        faults += [Fault("not-evaluated", span, data=slip._asdict()) for span, slip in sorted(machine.slips.items())]
    if machine.stopped is not None:
        reason = f"the file takes more than {machine.limit:,} steps; what comes after is not read"
        faults.append(Fault("not-evaluated", machine.stopped, data={"reason": reason}))
    document.faults = (*document.faults, *faults)
    return document


def _plan(source: Source, candidate: "Candidate", undefined: dict[str, str]) -> Plan:
    table, items = candidate.table, candidate.items
    plan = Plan(source, PYTHON, (), anchor=table.anchor or START, name=table.name)
    entries, faults = read_entries(items, PYTHON)
    for entry, (_, spec) in zip(entries, items, strict=True):
        if isinstance(spec, Mapping) and any(isinstance(k, UnknownNode) for k, _ in spec.items):
            _leave_open(entry)
    log = Recorder()
    _doubled(candidate, log)
    if candidate.planner is not None:
        plan.derive = candidate.planner.derive
        plan.allow_uncovered_params = candidate.planner.allow_uncovered_params
    if candidate.call is not None:
        plan.accelerator = _accelerator(candidate.call, log)
    plan.entries = entries
    plan.faults = _distinct((*log.faults, *faults, *_not_evaluated(candidate, undefined)))
    return plan


def _leave_open(entry: Entry) -> None:
    """After an unknown ``**fields`` nothing may be concluded from a field that is not written."""
    for name in ENTRY_KEYS:
        if name not in entry.keys and name != "match":
            entry.broken.add(name)
            if name in CONTRACT_FIELDS:
                entry.contract[name] = ContractField(entry.span, entry.span)


def _not_evaluated(candidate: "Candidate", undefined: dict[str, str]) -> list[Fault]:
    return [
        Fault("not-evaluated", node.span, entry, data={"reason": node.reason, "meant": undefined.get(node.reason)})
        for entry, node in candidate.converter.unknown
    ]


def _distinct(faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """Each fault once: a value that many entries share is at fault once, as is a literal in a loop."""
    found: dict[tuple[object, ...], Fault] = {}
    for fault in faults:
        shown = "" if fault.rule == "not-evaluated" else repr(sorted(fault.data.items(), key=lambda i: i[0]))
        found.setdefault((fault.rule, fault.span, shown), fault)
    return tuple(found.values())


def _doubled(candidate: "Candidate", log: Recorder) -> None:
    """Keys that the plan's literal writes twice."""
    if not candidate.table.twice:
        return
    pairs: list[tuple[Node, Node]] = [
        (candidate.converter.node(key), Scalar(None, key.span)) for key, _ in candidate.table.written()
    ]
    for first, again in duplicates(Mapping(pairs, candidate.table.span)):
        log.add("duplicate-key", again.span, ("first written here", first.span), key=plain(again), section="plan")


def _accelerator(call: "Call", log: Recorder) -> Accelerator:
    """What a ``plan(…)`` call says of the run, as far as it is written in constants."""
    span, given = call
    from hplint.front.python.values import Const

    found = Accelerator(span, implied=False)
    for name, value in given.items():
        key = ACCELERATOR_KEYS.get(name)
        if key is None or not isinstance(value, Const) or value.value is None:
            continue
        node = Scalar(value.value, value.span)
        number = node.value if isinstance(node.value, int) and not isinstance(node.value, bool) else None
        if key.kind == "bool" and isinstance(node.value, bool):
            setattr(found, name, Flag(node.value, node.span))
        elif key.kind == "size" and number is not None and number >= 1:
            found.sizes[name.removesuffix("_size")] = Number(number, node.span)
        else:
            shown = {"value": plain(node), "type": type_name(node), "allowed": key.allowed, "key": name}
            log.add("wrong-type", node.span, **shown)
            found.unread.add(name.removesuffix("_size"))
    return found
