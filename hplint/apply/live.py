"""Check a plan file against a live module."""

from collections.abc import Mapping
from pathlib import Path

from torch import nn
from torch.distributed.device_mesh import DeviceMesh

from hplint.apply.mesh import Meshes
from hplint.apply.plan import ApplyPlan


def resolve_plan(
    plan: str | Path,
    model: nn.Module,
    mesh: DeviceMesh | Meshes | Mapping[str, int],
    *,
    ep: int | None = None,
    sequence_parallel: bool | None = None,
    loss_parallel: bool | None = None,
    seq_len: int | None = None,
    derive: bool | None = None,
    src: tuple[str, ...] = (),
) -> ApplyPlan:
    """Check a plan (the path of a file, or the text of a YAML plan) against a model and a mesh, and resolve it.

    ``mesh`` is a named DeviceMesh or axis -> size in mesh order. What is left None comes from the file, as on the
    command line. Raises PlanRefused, with all findings, where there are errors; RequestError where there is no plan.
    """
    raise NotImplementedError
