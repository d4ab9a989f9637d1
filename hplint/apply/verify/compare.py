"""Whether two tensors are equal but for rounding in float32, and by how much they differ."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

RELATIVE = 1e-4
"""Largest error, as a share of the largest magnitude. Sums in another order stay below a few 1e-6 a layer; a bias that
is added twice or a term that is missing is far above."""
NEIGHBOUR = 1e-2
"""A gradient counts as at least this share of its boundary's largest one: a key bias has a gradient of zero in theory
and of nothing but rounding in practice."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """``error`` is the largest difference of two elements, ``magnitude`` the largest element of the unsharded tensor
    (or what counts as such); ``reason`` says in words what cannot be told in numbers, "" otherwise."""

    name: str
    error: float
    magnitude: float
    reason: str = ""

    @property
    def tolerance(self) -> float:
        """The largest error that rounding explains."""
        return RELATIVE * self.magnitude + 1e-12

    @property
    def agrees(self) -> bool:
        """Whether the two are equal but for rounding."""
        return not self.reason and self.error <= self.tolerance

    def to_json(self) -> dict[str, Any]:
        """An item of the machine output; an error that is no number is null."""
        values = asdict(self)
        values["error"] = self.error if self.error == self.error and self.error != float("inf") else None
        return values | {"tolerance": self.tolerance, "agrees": self.agrees}


def compare(name: str, found: Tensor, wanted: Tensor, floor: float = 0.0) -> Comparison:
    """Compare a tensor of the sharded model with that of the unsharded one. ``floor`` is the least magnitude."""
    magnitude = max(largest(wanted), floor)
    if found.shape != wanted.shape:
        reason = f"has shape {list(found.shape)}, where {list(wanted.shape)} belongs"
        return Comparison(name, float("inf"), magnitude, reason)
    if not wanted.numel():
        return Comparison(name, 0.0, magnitude)
    error = float((found.float() - wanted.float()).abs().max())
    if error != error:
        return Comparison(name, error, magnitude, "is not finite")
    return Comparison(name, error, magnitude)


def largest(tensor: Tensor | None) -> float:
    """The largest magnitude of an element, 0 where there is none."""
    return float(tensor.detach().abs().max()) if tensor is not None and tensor.numel() else 0.0


def worst(comparisons: list[list[Comparison]]) -> list[Comparison]:
    """For each name, the comparison of the rank that differs most, names in the order of the first rank."""
    found: dict[str, Comparison] = {}
    for of_rank in comparisons:
        for one in of_rank:
            known = found.get(one.name)
            if known is None or _badness(one) > _badness(known):
                found[one.name] = one
    return list(found.values())


def _badness(one: Comparison) -> tuple[bool, float]:
    return (bool(one.reason), one.error / max(one.magnitude, torch.finfo(torch.float32).tiny))
