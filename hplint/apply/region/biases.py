"""Row-wise biases: hidden while the ranks compute terms of a sum, added once behind the reduction (2.7)."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from hplint.apply.mesh.layouts import to_torch
from hplint.apply.mesh.moves import Move
from hplint.apply.mesh.redistribute import cut
from hplint.apply.mesh.transition import gradient_layout
from hplint.apply.region.region import Region
from hplint.plan.placement import PARTIAL, REPLICATE


class DeferredBiases:
    """The biases of one boundary's region."""

    def __init__(self, region: Region, module: nn.Module) -> None:
        self.region = region
        self.owners = [module.get_submodule(path.rpartition(".")[0]) for path in region.boundary.deferred_biases]
        self.move: Move | None = next((m for m in region.outputs if m.position == 0), None)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take the biases away while the region runs."""
        biases = [owner._parameters["bias"] for owner in self.owners]
        for owner in self.owners:
            owner._parameters["bias"] = None
        try:
            yield
        finally:
            for owner, bias in zip(self.owners, biases, strict=True):
                owner._parameters["bias"] = bias

    def add(self, output: Tensor) -> Tensor:
        """The first output with the biases, laid out as it is."""
        for owner in self.owners:
            bias = owner._parameters["bias"]
            if bias is not None:
                output = output + self._laid_out(bias, output.dim())
        return output

    def _laid_out(self, bias: Tensor, dims: int) -> Tensor:
        target = self.move.target if self.move else {}
        if isinstance(bias, DTensor):
            in_shares = self.region.outer | {a for a, p in target.items() if p != REPLICATE}
            placements = gradient_layout(dict.fromkeys(self.region.axes, REPLICATE), in_shares)
            bias = bias.to_local(grad_placements=to_torch(placements))
        for name, placement in target.items():
            axis = self.region.mesh_axes[name]
            if placement == PARTIAL:
                bias = bias / axis.size
            elif placement.dim in (dims - 1, -1):
                bias = cut(bias, 0, axis)
        return bias
