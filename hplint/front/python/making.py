"""Constructors that plans are written with: ModuleShardingSpec, placements, Target, ShardingPlanner."""

from collections.abc import Callable

from hplint.front.keys import PLAN_OVERRIDES, PYTHON_ORDER, TARGET
from hplint.front.python.machine import Machine
from hplint.front.python.scope import MESH_AXIS, PLANNER, SPEC
from hplint.front.python.scope import TARGET as TARGET_CLASS
from hplint.front.python.values import (
    Arguments,
    Const,
    PlacementValue,
    Planner,
    Spec,
    Table,
    TargetValue,
    Unknown,
    Value,
)
from hplint.plan.placement import PARTIAL, REPLICATE, shard
from hplint.text.span import Span

PLAN_PARAMETERS = (
    "model", "mesh", "tp_size", "cp_size", "ep_size", "sequence_parallel", "loss_parallel",
)  # fmt: skip
"""Parameters of ``ShardingPlanner.plan``, in order."""


def _spec(m: Machine, arguments: Arguments, span: Span) -> Value:
    spec = Spec(span, twice=list(arguments.twice), strange=list(arguments.strange))
    for name, value in zip(PYTHON_ORDER, arguments.positional, strict=False):
        spec.fields[name] = (value.span, value)
    for value in arguments.positional[len(PYTHON_ORDER) :]:
        spec.strange.append(Unknown(value.span, f"{SPEC} takes {len(PYTHON_ORDER)} values by position"))
    for name, value in arguments.keywords.items():
        if name in spec.fields:
            spec.twice.append((name, *spec.fields[name]))
        spec.fields[name] = (arguments.names[name], value)
    return spec


def _as_written(m: Machine, span: Span) -> Const:
    """A call that makes no placement, as the text that stands there: no grammar accepts it."""
    return Const(m.source.cut(span), span)


def _shard(m: Machine, arguments: Arguments, span: Span) -> Value:
    dim = arguments.get(0, "dim")
    if unknown := next(iter(arguments.strange), dim if isinstance(dim, Unknown) else None):
        return unknown
    if isinstance(dim, Const) and isinstance(dim.value, int) and _count(arguments) == 1:
        return PlacementValue(shard(int(dim.value)), span)
    return _as_written(m, span)


def _replicate(m: Machine, arguments: Arguments, span: Span) -> Value:
    return PlacementValue(REPLICATE, span) if _count(arguments) == 0 else _as_written(m, span)


def _partial(m: Machine, arguments: Arguments, span: Span) -> Value:
    op = arguments.get(0, "reduce_op")
    if isinstance(op, Unknown):
        return op
    if _count(arguments) > 1 or (op is None and _count(arguments)):
        return _as_written(m, span)
    if op is None or (isinstance(op, Const) and op.value == "sum"):
        return PlacementValue(PARTIAL, span)
    return Unknown(span, "a partial that is not a sum has no meaning in a plan that could be checked")


def _count(arguments: Arguments) -> int:
    return len(arguments.positional) + len(arguments.keywords)


def _target(m: Machine, arguments: Arguments, span: Span) -> Value:
    target = TargetValue(span, strange=list(arguments.strange))
    if arguments.positional:
        target.path = arguments.positional[0]
    for value in arguments.positional[1:]:
        target.strange.append(Unknown(value.span, "a Target takes its path alone by position"))
    for name, value in arguments.keywords.items():
        if name == TARGET and target.path is None:
            target.path = value
        elif name != TARGET:
            target.keywords[name] = (arguments.names[name], value)
    return target


def _planner(m: Machine, arguments: Arguments, span: Span) -> Value:
    planner = Planner(span)
    for position, name in ((1, "derive"), (2, "allow_uncovered_params")):
        value = arguments.get(position, name)
        if isinstance(value, Const) and isinstance(value.value, bool):
            setattr(planner, name, value.value)
    given = arguments.get(0, PLAN_OVERRIDES)
    if isinstance(given, Table):
        given.handed = True
        given.planners.append(planner)
        if given.name is None:
            given.name, given.anchor = PLAN_OVERRIDES, Span(given.span.start, given.span.start + 1)
    elif isinstance(given, Unknown) and not given.parameter and PLAN_OVERRIDES not in arguments.keywords:
        m.unread.append(given)
    return planner


def _axis(m: Machine, arguments: Arguments, span: Span) -> Value:
    if len(arguments.positional) == 1:
        return arguments.positional[0]
    return Unknown(span, "an axis is made from one name")


MAKERS: dict[str, Callable[[Machine, Arguments, Span], Value]] = {
    SPEC: _spec, "Shard": _shard, "Replicate": _replicate, "Partial": _partial, TARGET_CLASS: _target,
    PLANNER: _planner, MESH_AXIS: _axis,
}  # fmt: skip
