"""What the parameters of a model take on one rank under a plan of styles."""

from collections.abc import Iterable, Sequence
from math import ceil, prod

from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan
from hplint.plan.style import TORCH
from hplint.resolve.memory import Memory, ParameterMemory, item_size
from hplint.resolve.styles.cuts import Cut, style_cuts
from hplint.resolve.styles.resolved import resolve_styles
from hplint.resolve.topology import Topology
from hplint.resolve.torch.layouts import ties_again


def style_memory(plan: Plan, tree: ModuleTree, topology: Topology) -> Memory:
    """The same as :func:`~hplint.resolve.memory.memory`; ``boundary`` is the module that has the style.

    Parameters under a style that cannot be read count as cut, along no dim that is known. A tie that a PyTorch plan
    parts is a tensor for each name that is cut, and one for the rest of them: the first name has all their bytes.
    """
    return held(plan, tree, topology, style_cuts(plan, tree, resolve_styles(plan, tree, topology)))


def held(plan: Plan, tree: ModuleTree, topology: Topology, cuts: Iterable[Cut]) -> Memory:
    """The same for cuts that are worked out already."""
    sizes = {axis: topology.size(axis) for axis in ("tp", "ep")}
    found: list[ParameterMemory] = []
    unsized: set[str] = set()
    for cut in cuts:
        found.append(_parameter(cut, sizes[cut.axis] or 1))
        if cut.is_cut and sizes[cut.axis] is None:
            unsized.add(cut.axis)
    if tree.ties:
        found = _joined(tree, found, parted=plan.dialect == TORCH and not ties_again(plan.source.text))
    return Memory(tuple(found), tuple(sorted(unsized)))


def _parameter(cut: Cut, size: int) -> ParameterMemory:
    shape, item = list(cut.tensor.shape), item_size(cut.tensor.dtype)
    whole = prod(shape) * item
    home = cut.name.rpartition(".")[0] if cut.entry else None
    if size > 1 and cut.dim is not None:
        # The first ranks get the largest parts.
        shape[cut.dim] = ceil(shape[cut.dim] / size)
        return ParameterMemory(cut.name, whole, prod(shape) * item, ((cut.axis, cut.dim),), home)
    return ParameterMemory(cut.name, whole, ceil(prod(shape) / size) * item if cut.is_unread else whole, (), home)


def _joined(tree: ModuleTree, found: Sequence[ParameterMemory], parted: bool) -> list[ParameterMemory]:
    """Ties under their first names."""
    by_name = {p.name: p for p in found}
    for first, *later in tree.ties:
        group = [by_name[n] for n in (first, *later) if n in by_name]
        cut = [p for p in group if p.cuts]
        if parted and cut and first in by_name:
            rest = by_name[first].whole if len(cut) < len(group) else 0
            by_name[first] = by_name[first]._replace(local=sum(p.local for p in cut) + rest)
        for name in later:
            by_name.pop(name, None)
    return list(by_name.values())
