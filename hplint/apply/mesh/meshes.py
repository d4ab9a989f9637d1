"""The device meshes of a topology: the run's own, and the one that expert parameters live on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from hplint.apply.errors import CannotApply
from hplint.apply.plan import EXPERT_AXES
from hplint.resolve.topology import Topology

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

DATA_AXES = ("dp", "dp_replicate", "dp_shard")
"""Axes along which ranks differ in their batch alone."""


@dataclass(frozen=True, slots=True)
class MeshAxis:
    """One axis as this rank sees it. ``group`` and ``mesh`` (one-dimensional) are None for an axis that the mesh does
    not have, which then has one rank."""

    name: str
    size: int = 1
    rank: int = 0
    group: "ProcessGroup | None" = None
    mesh: DeviceMesh | None = None


@dataclass(frozen=True, slots=True)
class Meshes:
    """All meshes of a run.

    ``world`` has every axis above size 1; ``main`` those that layouts name (cp, tp and an explicit ep, in mesh order),
    None where there is none; ``experts`` is (edp, ep), ep innermost, None without expert parallelism on top of the
    mesh.
    """

    world: DeviceMesh
    main: DeviceMesh | None = None
    experts: DeviceMesh | None = None
    axes: Mapping[str, MeshAxis] = field(default_factory=dict)

    def axis(self, name: str) -> MeshAxis:
        """The axis of that name; one of a single rank where there is none. ``ep`` is that of the expert mesh."""
        return self.axes.get(name) or MeshAxis(name)

    def submesh(self, name: str) -> DeviceMesh | None:
        """The one-dimensional mesh of an axis, None where it has a single rank."""
        return self.axis(name).mesh

    @property
    def data_axes(self) -> tuple[str, ...]:
        """The data-parallel axes that there are."""
        return tuple(a for a in DATA_AXES if a in self.axes)

    @property
    def device_type(self) -> str:
        """cpu or cuda."""
        return self.world.device_type


def build_meshes(topology: Topology, device_type: str | None = None) -> Meshes:
    """Make the meshes of a topology out of all ranks of the running process group, dp outermost, cp before tp.

    An unknown dp size is what is left of the ranks. Every rank has to call it. Raises CannotApply where the sizes do
    not multiply to the number of ranks, or where there is a pipeline axis.
    """
    world_size = dist.get_world_size()
    sizes = _sizes(topology, world_size)
    product = 1
    for size in sizes.values():
        product *= size
    if product != world_size:
        spelled = ",".join(f"{a}={n}" for a, n in sizes.items())
        raise CannotApply(
            f"the mesh {spelled} has {product:,} ranks; {world_size:,} are running",
            f"start {product:,} ranks, or give a mesh of {world_size:,}",
        )
    kept = {a: n for a, n in sizes.items() if n > 1} or {"tp": 1}
    device = device_type or ("cuda" if dist.get_backend() == "nccl" else "cpu")
    world = init_device_mesh(device, tuple(kept.values()), mesh_dim_names=tuple(kept))
    return meshes_of(world, topology)


def meshes_of(world: DeviceMesh, topology: Topology) -> Meshes:
    """The meshes of a run on a DeviceMesh that the caller made; its axes need names.

    Every rank of the process group has to call it, since the expert mesh makes groups of its own. Raises CannotApply
    where the mesh has other sizes than the topology, or where ep does not divide its ranks (R106).
    """
    names = world.mesh_dim_names
    if not names:
        raise CannotApply("the device mesh has no axis names", "pass mesh_dim_names, such as ('dp', 'cp', 'tp')")
    sizes = dict(zip(names, world.mesh.shape, strict=True))
    for axis in ("tp", "cp"):
        wanted = topology.size(axis)
        if wanted is not None and sizes.get(axis, 1) != wanted:
            raise CannotApply(f"the plan was resolved for {axis}={wanted}; the device mesh has {sizes.get(axis, 1)}")
    experts = _expert_mesh(world, sizes, topology)
    axes = {a: _axis(world, a) for a in names if sizes[a] > 1}
    if experts is not None:
        axes.update({a: _axis(experts, a) for a in EXPERT_AXES if _length(experts, a) > 1})
    active = tuple(a for a in names if a in topology.active_axes and sizes[a] > 1)
    main = None
    if active:
        main = world if active == tuple(names) else world[active]
    return Meshes(world, main, experts, axes)


def _sizes(topology: Topology, world_size: int) -> dict[str, int]:
    """Axis -> size in mesh order: the mesh's own, else dp, cp, tp."""
    if (topology.pp or 1) > 1 or topology.mesh.get("pp", 1) > 1:
        raise CannotApply("a pipeline axis cannot be applied", "apply the plan to each stage on a mesh without pp")
    if topology.mesh:
        return dict(topology.mesh)
    cp, tp = topology.cp or 1, topology.tp or 1
    dp = topology.dp or max(1, world_size // (cp * tp))
    return {"dp": dp, "cp": cp, "tp": tp}


def _expert_mesh(world: DeviceMesh, sizes: Mapping[str, int], topology: Topology) -> DeviceMesh | None:
    """All ranks of a pipeline stage, in mesh order, cut anew into (edp, ep)."""
    ep = topology.ep or 1
    if ep <= 1 or topology.has_ep_axis:
        return None
    stage = [a for a in sizes if a != "pp"]
    ranks = 1
    for axis in stage:
        ranks *= sizes[axis]
    if ranks % ep:
        raise CannotApply(f"ep={ep} does not divide the {ranks} ranks of the mesh")
    if "pp" in sizes:
        order = list(sizes)
        moved = world.mesh.movedim(order.index("pp"), 0).reshape(sizes["pp"], ranks // ep, ep)
        return DeviceMesh(world.device_type, moved, mesh_dim_names=("pp", *EXPERT_AXES))[EXPERT_AXES]
    return DeviceMesh(world.device_type, world.mesh.reshape(ranks // ep, ep), mesh_dim_names=EXPERT_AXES)


def _length(mesh: DeviceMesh, axis: str) -> int:
    return int(mesh.mesh.shape[(mesh.mesh_dim_names or ()).index(axis)])


def _axis(mesh: DeviceMesh, axis: str) -> MeshAxis:
    one = mesh if mesh.ndim == 1 else mesh[axis]
    return MeshAxis(axis, _length(mesh, axis), int(one.get_local_rank()), one.get_group(), one)


def device_of(meshes: Meshes) -> torch.device:
    """The device of this rank."""
    if meshes.device_type == "cuda":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device(meshes.device_type)


def axis_of(mesh: DeviceMesh) -> MeshAxis:
    """A mesh of one dim as an axis."""
    return _axis(mesh, (mesh.mesh_dim_names or ("",))[0])
