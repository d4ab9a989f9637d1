"""The mesh and the run flags that one check assumes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

CANONICAL_AXES = ("tp", "cp", "ep", "pp", "dp", "dp_replicate", "dp_shard", "dp_cp", "ep_shard")
"""Axis names that a contract may always use, active or not (R117)."""
FSDP_AXES = ("dp", "dp_replicate", "dp_shard", "dp_cp", "cp", "pp", "edp", "ep_shard")
"""Axes on which FSDP, not a plan, lays parameters out (R181)."""
PLAN_AXES = ("tp", "cp", "ep")
WHEN_WORDS = ("cp", "ep", "low_precision", "sequence_parallel")


@dataclass(frozen=True, slots=True)
class Topology:
    """Axis sizes and flags. A size is None when it is unknown: rules that need it keep quiet.

    ``mesh`` is the explicit mesh, axis -> size in mesh order ({} without one). ``ep`` is the expert-parallel size; it
    comes on top of the mesh unless the mesh itself has an ep axis. ``assumed`` names axes and flags that are active
    only for the sake of argument (entries whose ``when`` is inactive): their sizes must not be reported upon.
    """

    tp: int | None = None
    cp: int | None = None
    ep: int | None = None
    dp: int | None = None
    pp: int | None = None
    sequence_parallel: bool = False
    loss_parallel: bool = False
    derive: bool = True
    low_precision: bool = False
    seq_len: int | None = None
    mesh: Mapping[str, int] = field(default_factory=dict)
    assumed: frozenset[str] = frozenset()
    active_axes: tuple[str, ...] = field(init=False, repr=False, compare=False, default=())
    """Axes that layouts are laid out over, in mesh order. Without a mesh: cp, then tp. Asked for at every layout."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "active_axes", self._active())

    def size(self, axis: str) -> int | None:
        """Size of an axis: None when unknown or only assumed, 1 for axes that the mesh does not have."""
        if axis in self.assumed:
            return None
        if axis in ("tp", "cp", "ep", "dp", "pp"):
            value: int | None = getattr(self, axis)
            return value
        return self.mesh.get(axis, 1)

    def is_active(self, axis: str) -> bool:
        """Whether layouts on this axis count: its size is above 1, or unknown for tp."""
        if axis in self.assumed:
            return True
        size = self.size(axis)
        return axis == "tp" if size is None else size > 1

    @property
    def has_ep_axis(self) -> bool:
        """Whether the mesh itself has an ep axis (else ep re-cuts the whole mesh for experts only)."""
        return self.mesh.get("ep", 1) > 1

    def _active(self) -> tuple[str, ...]:
        axes = [a for a in self.mesh if a in PLAN_AXES] if self.mesh else []
        axes += [a for a in ("cp", "tp") if a not in axes]
        return tuple(a for a in axes if self.is_active(a) and (a != "ep" or self.has_ep_axis))

    def when_active(self, word: str) -> bool:
        """Whether an entry with this ``when`` applies."""
        if word == "sequence_parallel":
            return self.sequence_parallel
        if word == "low_precision":
            return self.low_precision
        return self.is_active(word)

    def activated(self, words: frozenset[str]) -> "Topology":
        """This topology with every inactive ``when`` word of ``words`` active, for the sake of argument."""
        missing = frozenset(w for w in words if w in WHEN_WORDS and not self.when_active(w))
        return replace(
            self,
            sequence_parallel=self.sequence_parallel or "sequence_parallel" in missing,
            low_precision=self.low_precision or "low_precision" in missing,
            assumed=self.assumed | missing,
        )

    def to_json(self) -> dict[str, int | bool | None]:
        """The ``topology`` object of the machine output."""
        return {
            "tp": self.tp,
            "cp": self.cp,
            "ep": self.ep,
            "dp": self.dp,
            "sequence_parallel": self.sequence_parallel,
            "loss_parallel": self.loss_parallel,
            "derive": self.derive,
        }
