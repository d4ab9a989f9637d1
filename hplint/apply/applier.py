"""Turn a model into its sharded form, as a plan says."""

from typing import TYPE_CHECKING, Literal

from torch import nn
from torch.distributed.device_mesh import DeviceMesh

from hplint.apply.ledger import Recorder
from hplint.apply.mesh import Meshes
from hplint.apply.plan import ApplyPlan

if TYPE_CHECKING:
    from hplint.apply.applied import Applied

Mode = Literal["local", "validate"]


def apply_plan(
    model: nn.Module,
    plan: ApplyPlan,
    mesh: DeviceMesh | Meshes,
    *,
    mode: Mode = "local",
    recorder: Recorder | None = None,
) -> "Applied":
    """Shard ``model`` in place. Every rank calls it with equal weights."""
    raise NotImplementedError
