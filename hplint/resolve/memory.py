"""What the parameters of a model take in memory, whole and on one rank."""

from dataclasses import dataclass
from math import ceil, prod
from typing import NamedTuple

from hplint.derive.boundary import Boundary
from hplint.model.tree import ModuleTree, Tensor
from hplint.plan.layout import Layout
from hplint.resolve.layouts import complete, cutting_axes
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.topology import Topology

ITEM_SIZES = {
    "float64": 8, "int64": 8, "complex64": 8, "complex128": 16, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2,
    "int16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1,
    "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
"""Bytes of one element, by dtype as torch spells it. What is not here counts as 4."""
UNKNOWN_ITEM = 4


class ParameterMemory(NamedTuple):
    """One parameter tensor. ``whole`` and ``local`` are bytes, ``local`` on a rank that holds the largest share.

    ``cuts`` maps each axis that cuts it to the tensor dim. ``boundary`` is the FQN of the boundary that lays it out,
    None where none does. Experts that are stacked stand under their own names, each with its share of the stack.
    """

    name: str
    whole: int
    local: int
    cuts: tuple[tuple[str, int], ...] = ()
    boundary: str | None = None

    @property
    def is_cut(self) -> bool:
        return self.local < self.whole


@dataclass(slots=True)
class Memory:
    """Parameters of a model on a topology, in module order; a tied tensor stands once, under its first name.

    ``unsized`` are axes that cut parameters and whose sizes are unknown: they count as size 1.
    """

    parameters: tuple[ParameterMemory, ...]
    unsized: tuple[str, ...] = ()

    @property
    def whole(self) -> int:
        """Bytes of the unsharded model: what each rank holds without a plan."""
        return sum(p.whole for p in self.parameters)

    @property
    def local(self) -> int:
        """Bytes on one rank."""
        return sum(p.local for p in self.parameters)

    @property
    def sharded(self) -> int:
        """Bytes on one rank of parameters that some axis cuts."""
        return sum(p.local for p in self.parameters if p.is_cut)

    @property
    def replicated(self) -> int:
        """Bytes on one rank of parameters that every rank holds whole."""
        return sum(p.local for p in self.parameters if not p.is_cut)


def memory(resolved: ResolvedPlan, tree: ModuleTree, topology: Topology) -> Memory:
    """What each parameter takes on one rank under a resolved plan.

    Layouts are those that the checks and the applier see; FSDP, which cuts further, is not the plan's business.
    """
    layouts = _layouts(resolved)
    later = {name for tie in tree.ties for name in tie[1:]}
    unsized: set[str] = set()
    found = [
        _parameter(name, tensor, layouts.get(name), topology, unsized)
        for name, tensor in tree.parameters.items()
        if name not in later
    ]
    return Memory(tuple(found), tuple(sorted(unsized)))


def item_size(dtype: str) -> int:
    """Bytes of one element."""
    return ITEM_SIZES.get(dtype, UNKNOWN_ITEM)


def _layouts(resolved: ResolvedPlan) -> dict[str, tuple[Boundary, str, Layout]]:
    found: dict[str, tuple[Boundary, str, Layout]] = {}
    for boundary in resolved.boundaries.values():
        prefix = f"{boundary.fqn}." if boundary.fqn else ""
        for path, layout in (boundary.params or {}).items():
            for part in boundary.ep_stack.get(path, (path,)):
                found.setdefault(prefix + part, (boundary, path, layout))
    return found


def _parameter(
    name: str, tensor: Tensor, home: tuple[Boundary, str, Layout] | None, topology: Topology, unsized: set[str]
) -> ParameterMemory:
    item = item_size(tensor.dtype)
    whole = prod(tensor.shape) * item
    if home is None:
        return ParameterMemory(name, whole, whole)
    boundary, path, layout = home
    shape = list(tensor.shape)
    cuts: list[tuple[str, int]] = []
    share = 1.0
    for axis, placement in complete(layout, cutting_axes(boundary, path, topology)).items():
        if placement is None or placement.dim is None:
            continue
        size = boundary.ep_size if axis == "ep" and boundary.ep_size else topology.size(axis)
        if size is None:
            unsized.add(axis)
            continue
        stacked = path in boundary.ep_stack
        if stacked and placement.dim == 0:
            share /= size
            cuts.append((axis, placement.dim))
            continue
        dim = placement.dim - 1 if stacked else placement.dim
        if -len(shape) <= dim < len(shape):
            shape[dim] = ceil(shape[dim] / size)
            cuts.append((axis, placement.dim))
    return ParameterMemory(name, whole, round(prod(shape) * item * share), tuple(cuts), boundary.fqn)
