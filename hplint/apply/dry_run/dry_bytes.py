"""What the parameters of an applied model take on one rank."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from hplint.apply.mesh.meshes import Meshes
from hplint.apply.plan import AxisLayout
from hplint.apply.verify.probe import local

MOST = 10
"""Kinds of tensors that are listed."""
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


@dataclass(slots=True)
class TensorKind:
    """Equal tensors of equal modules: names that differ in their numbers alone. ``size`` and ``whole`` are the bytes of
    one of them, on this rank and on all; ``cuts`` maps axes to the tensor dim that they cut."""

    shape: tuple[int, ...]
    dtype: str
    size: int
    whole: int
    cuts: Mapping[str, int]
    names: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """One row of ``largest``."""
        return {
            "tensors": self.names,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "bytes": self.size,
            "whole": self.whole,
            "cuts": dict(self.cuts),
        }


def parameter_bytes(model: nn.Module, layouts: Mapping[str, AxisLayout], meshes: Meshes) -> dict[str, Any]:
    """The ``parameters`` object of a dry run. ``layouts`` are those of the applied model. Tied parameters count once;
    buffers do not count."""
    kinds: dict[Any, TensorKind] = {}
    dtypes: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        kind = _kind(parameter, layouts.get(name, {}), meshes)
        key = (_NUMBER.sub("*", name), kind.shape, kind.dtype, tuple(kind.cuts.items()))
        kinds.setdefault(key, kind).names.append(name)
        dtypes[kind.dtype] = dtypes.get(kind.dtype, 0) + kind.size
    cut = [k for k in kinds.values() if k.cuts]
    whole = [k for k in kinds.values() if not k.cuts]
    return {
        "bytes": {
            "sharded": _sum(cut),
            "replicated": _sum(whole),
            "total": _sum(kinds.values()),
            "unsharded": sum(k.whole * len(k.names) for k in kinds.values()),
        },
        "tensors": {"sharded": _count(cut), "replicated": _count(whole), "total": _count(kinds.values())},
        "dtypes": dtypes,
        "largest": [k.to_json() for k in _largest(kinds.values())],
        "largest_replicated": [k.to_json() for k in _largest(whole)],
    }


def _kind(parameter: Tensor, layout: AxisLayout, meshes: Meshes) -> TensorKind:
    mine = local(parameter)
    size = mine.numel() * mine.element_size()
    cuts: dict[str, int] = {}
    whole = size
    for axis, placement in layout.items():
        ranks = meshes.axis(axis).size
        if placement.dim is not None and ranks > 1:
            cuts[axis] = placement.dim % parameter.dim()
            whole *= ranks
    if isinstance(parameter, DTensor):
        whole = parameter.numel() * parameter.element_size()
    dtype = str(parameter.dtype).removeprefix("torch.")
    return TensorKind(tuple(mine.shape), dtype, size, whole, cuts)


def _largest(kinds: Iterable[TensorKind]) -> list[TensorKind]:
    return sorted(kinds, key=lambda k: -k.size)[:MOST]


def _sum(kinds: Iterable[TensorKind]) -> int:
    return sum(k.size * len(k.names) for k in kinds)


def _count(kinds: Iterable[TensorKind]) -> int:
    return sum(len(k.names) for k in kinds)
