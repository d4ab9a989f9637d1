"""Local parameters for a region that must not see DTensors (validate mode, 2.8)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from hplint.apply.mesh.layouts import to_torch
from hplint.apply.mesh.transition import gradient_layout
from hplint.apply.plan import AxisLayout
from hplint.apply.region.heads import divided_meanwhile

Slots = tuple[tuple[nn.Module, str, AxisLayout], ...]
"""Owner, own name and layout of parameters."""


class Box:
    """A region's parameters and attributes, to be opened while it runs. Parameters of boundaries inside of it are not
    among ``slots``: those do their own part."""

    def __init__(self, module: nn.Module, slots: Slots, shares: frozenset[str], counts: Mapping[str, int]) -> None:
        self.module, self.slots, self.counts = module, slots, counts
        # Experts see tokens of all ranks that hold a copy of them: their gradients add up.
        self.shares = shares | {"edp"}

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Local tensors stand in the parameters' places; gradients reach the parameters."""
        kept = [(owner, leaf, owner._parameters[leaf]) for owner, leaf, _ in self.slots]
        for owner, leaf, layout in self.slots:
            owner._parameters[leaf] = self._local(owner._parameters[leaf], layout)  # type: ignore[assignment]
        try:
            with divided_meanwhile(self.module, self.counts):
                yield
        finally:
            for owner, leaf, parameter in kept:
                owner._parameters[leaf] = parameter

    def _local(self, parameter: Tensor | None, layout: AxisLayout) -> Tensor | None:
        if not isinstance(parameter, DTensor):
            return parameter
        local: Tensor = parameter.to_local(grad_placements=to_torch(gradient_layout(layout, self.shares)))
        return local
