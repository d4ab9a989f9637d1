"""Reading Python plans in tests: the usual imports in front, and what a plan says as plain values."""

from typing import Any

from hplint.front.python.plan import read_python
from hplint.plan.fault import Fault
from hplint.plan.plan import Document, Plan
from hplint.text.source import Source

IMPORTS = """\
from hyper_parallel.core.dtensor.placement_types import Partial, Replicate, Shard
from hyper_parallel.distributed import CP, DP, EP, TP, MeshAxisName, ModuleShardingSpec, ShardingPlanner, Target
"""


def read(text: str, path: str = "plan.py", imports: str = IMPORTS) -> Document:
    return read_python(Source(path, imports + text))


def the_plan(text: str, **options: str) -> Plan:
    (plan,) = read(text, **options).plans
    return plan


def says(plan: Plan) -> dict[str, Any]:
    """Match -> fields of each entry, placements as their spelling; ``?`` for matches that are unknown."""
    return {entry.match.value if entry.match else "?": fields(plan, i) for i, entry in enumerate(plan.entries)}


def fields(plan: Plan, index: int = 0) -> dict[str, Any]:
    entry = plan.entries[index]
    found: dict[str, Any] = {}
    for name in entry.keys:
        value = entry.contract.get(name) or getattr(entry, name, None)
        if name == "match":
            continue
        if name in entry.broken:
            found[name] = "?"
        elif name in entry.contract:
            layouts = entry.contract[name].layouts
            found[name] = entry.contract[name].sentinel
            if layouts is not None:
                found[name] = {t: {a: str(p) for a, p in layout.placements.items()} for t, layout in layouts.items()}
        elif isinstance(value, tuple) and not hasattr(value, "value"):
            found[name] = [t.value for t in value]
        elif hasattr(value, "path"):
            found[name] = value.path.value
        else:
            found[name] = getattr(value, "value", value)
    return found


def matches(plan: Plan) -> list[str]:
    return list(says(plan))


def cuts(document: Document, faults: tuple[Fault, ...]) -> list[tuple[str, str]]:
    """Rule and marked text of each fault."""
    return [(f.rule, document.source.cut(f.span)) for f in faults]


def faults(text: str, **options: str) -> list[tuple[str, str]]:
    """The faults of the only plan."""
    document = read(text, **options)
    (plan,) = document.plans
    return cuts(document, plan.faults)
