"""What derivation must know of a run."""

from collections.abc import Mapping
from typing import Protocol


class RunShape(Protocol):
    """The part of a topology that derivation looks at (``resolve.topology.Topology`` is one)."""

    @property
    def mesh(self) -> Mapping[str, int]: ...

    @property
    def sequence_parallel(self) -> bool: ...

    @property
    def loss_parallel(self) -> bool: ...

    @property
    def derive(self) -> bool: ...

    @property
    def has_ep_axis(self) -> bool: ...

    def is_active(self, axis: str) -> bool: ...

    def size(self, axis: str) -> int | None: ...
