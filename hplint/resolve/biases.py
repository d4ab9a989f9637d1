"""Weights that are cut on tp and have a bias beside them: what the rules on biases look at (R132-R135, facts 2.7)."""

from collections.abc import Iterator
from typing import NamedTuple

from hplint.plan.layout import Layout
from hplint.plan.placement import REPLICATE, Placement
from hplint.resolve.coverage import Coverage, Declared

LINEAR = "torch.nn.modules.linear.Linear"


class BiasedWeight(NamedTuple):
    """``X.weight`` with ``dims`` dims, cut on its dim ``dim`` by tp, and ``X.bias``.

    ``bias`` is the bias's declared layout, None where the boundary does not declare it; ``bias_tp`` its placement on
    tp.
    ``owner_is_linear`` is None where the class of the owner is unknown.
    """

    declared: Declared
    dim: int
    dims: int
    bias_path: str
    bias: Layout | None
    bias_tp: Placement | None
    owner_is_linear: bool | None

    @property
    def is_rowwise(self) -> bool:
        """Whether the weight is cut on its last (input) dim: ranks then hold partial results."""
        return self.dim == self.dims - 1

    @property
    def bias_name(self) -> str:
        """Full name of the bias."""
        return self.declared.name.rpartition("weight")[0] + "bias"


def biased_weights(coverage: Coverage) -> Iterator[BiasedWeight]:
    """All of them, unreadable declarations and those that tp does not really cut left out."""
    if coverage.biased is None:
        coverage.biased = tuple(_all(coverage))
    return iter(coverage.biased)


def _all(coverage: Coverage) -> Iterator[BiasedWeight]:
    for declared in coverage.laid:
        placement = declared.layout.placements.get("tp")
        if placement is None or placement.dim is None or declared.tensor is None:
            continue
        owner, _, leaf = declared.name.rpartition(".")
        dims = len(declared.tensor.shape)
        if leaf != "weight" or not -dims <= placement.dim < dims:
            continue
        if f"{owner}.bias" not in coverage.tree.parameters or "tp" not in coverage.axes(declared):
            continue
        path = declared.path[: -len(leaf)] + "bias"
        bias = (declared.boundary.params or {}).get(path)
        bias_tp = bias.placements.get("tp", REPLICATE) if bias else None
        unreadable = bias is not None and (bias_tp is None or not coverage.is_readable(bias))
        if unreadable or not coverage.settled(declared.boundary, "params"):
            continue
        module = coverage.tree.modules.get(owner)
        linear = module.cls.is_a(LINEAR) if module and module.cls else None
        yield BiasedWeight(declared, placement.dim % dims, dims, path, bias, bias_tp, linear)
