"""How Hugging Face's ``tp_plan`` keys are matched: numeric segments of a module's path become ``*``, then the result is
looked up literally."""

from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan
from hplint.resolve.styles import ResolvedStyles, collected
from hplint.resolve.topology import Topology


def generic(name: str) -> str:
    """The name of a module or parameter as a key of a ``tp_plan`` spells it."""
    return ".".join("*" if part.isdecimal() else part for part in name.split("."))


def match_tp_plan(plan: Plan, tree: ModuleTree, topology: Topology) -> ResolvedStyles:
    """Modules and parameters by generic name; each key under the steps of what the plan belongs to."""
    found: dict[str, list[str]] = {}
    for name in (*tree.modules, *tree.parameters):
        found.setdefault(generic(name), []).append(name)
    hits: dict[int, tuple[str, ...]] = {}
    roots: dict[int, tuple[str, ...]] = {}
    for entry in plan.styles:
        if entry.key is None:
            continue
        steps = entry.applied.steps if entry.applied else ()
        hits[entry.index] = tuple(found.get(".".join((*steps, entry.key.value)), ()))
        roots[entry.index] = (".".join(steps),)
    return collected(plan, tree, hits, roots)
