"""Look-ups in a table whose rows are cut: each rank answers for its rows and gives zeros for the rest, which makes a
term of the sum (2.10)."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from hplint.apply.mesh.meshes import MeshAxis
from hplint.apply.plan import AxisLayout


def install_masked_lookup(module: nn.Embedding, layout: AxisLayout, axes: Mapping[str, MeshAxis]) -> None:
    """Let an embedding whose weight is cut on dim 0 already take any id of the whole table.

    The original forward runs on ids that are moved to this rank's rows; the results for other ids become zero, so that
    forwards that scale what they look up work too. ``padding_idx`` is moved along.
    """
    weight = module.weight
    rows = (weight.to_local() if isinstance(weight, DTensor) else weight).shape[0]
    number = 0
    for name, placement in layout.items():
        if placement.dim == 0:
            number = number * axes[name].size + axes[name].rank
    start = number * rows
    module.forward = MaskedLookup(module.forward, module, start, rows)  # type: ignore[method-assign]


class MaskedLookup:
    """The forward of such an embedding."""

    def __init__(self, forward: Callable[..., Any], module: nn.Embedding, start: int, rows: int) -> None:
        self.forward, self.module, self.start, self.rows = forward, module, start, rows
        self.__wrapped__ = forward

    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        if self.module.weight.shape[0] != self.rows:  # validate mode: the table is whole to whoever asks
            return self.forward(input, *args, **kwargs)
        outside = (input < self.start) | (input >= self.start + self.rows)
        with self._padding_moved():
            found = self.forward((input - self.start).masked_fill(outside, 0), *args, **kwargs)
        return found.masked_fill(outside.unsqueeze(-1), 0)

    @contextmanager
    def _padding_moved(self) -> Iterator[None]:
        padding = self.module.padding_idx
        if padding is not None:
            inside = self.start <= padding < self.start + self.rows
            self.module.padding_idx = padding - self.start if inside else None
        try:
            yield
        finally:
            self.module.padding_idx = padding
