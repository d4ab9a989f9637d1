"""What the parameters of a model take on one rank under a plan of styles."""

from math import ceil, prod

from hplint.model.tree import Module, ModuleTree
from hplint.plan.plan import Plan
from hplint.plan.style import StyleEntry
from hplint.resolve.memory import Memory, ParameterMemory, item_size
from hplint.resolve.style_coverage import cuts
from hplint.resolve.styles import resolve_styles
from hplint.resolve.topology import Topology


def style_memory(plan: Plan, tree: ModuleTree, topology: Topology) -> Memory:
    """The same as :func:`~hplint.resolve.memory.memory`, over tp alone; ``boundary`` is the module that has the style.

    Where the plan says nothing, what the same code applies in other runs counts. Parameters under a style that cannot
    be read count as cut, along no dim that is known.
    """
    resolved = resolve_styles(plan, tree, topology)
    others = {fqn: e for e in plan.other_styles if e.style for fqn in resolved.hits.get(e.index, ())}
    later = {name for tie in tree.ties for name in tie[1:]}
    found: list[ParameterMemory] = []
    for fqn, module in tree.modules.items():
        entry = resolved.winners.get(fqn) or others.get(fqn)
        own = _module(plan, module, entry, topology.tp or 1)
        found += [parameter for parameter in own if parameter.name not in later]
    unsized = topology.tp is None and bool(resolved.winners)
    return Memory(tuple(found), ("tp",) if unsized else ())


def _module(plan: Plan, module: Module, entry: StyleEntry | None, size: int) -> list[ParameterMemory]:
    dims = cuts(plan, entry.style, module) if entry and entry.style else {}
    unread = entry is not None and entry.style is None
    found = []
    for name, tensor in module.parameters.items():
        full = f"{module.fqn}.{name}" if module.fqn else name
        item, shape = item_size(tensor.dtype), list(tensor.shape)
        whole = prod(shape) * item
        cut: tuple[tuple[str, int], ...] = ()
        local = ceil(prod(shape) / size) * item if unread else whole
        dim = dims.get(name)
        if size > 1 and dim is not None and -len(shape) <= dim < len(shape):
            shape[dim] = ceil(shape[dim] / size)
            local, cut = prod(shape) * item, (("tp", dim),)
        found.append(ParameterMemory(full, whole, local, cut, module.fqn if entry else None))
    return found
