"""Products of DTensors of which two mesh axes cut one dim.

torch folds leading dims into rows before it multiplies, and cannot unfold rows that two axes cut. Multiplying batch by
batch needs no folding.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.overrides import TorchFunctionMode


class UnfoldedProducts(TorchFunctionMode):
    """While it is active, products with such a DTensor on the left and a matrix on the right are made of batches."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _PRODUCTS and len(args) >= 2 and not kwargs and _is_cut_twice(args[0]) and _is_matrix(args[1]):
            return _batched(args[0], args[1])
        if func is torch.nn.functional.linear and args and _is_cut_twice(args[0]):
            weight = args[1] if len(args) > 1 else kwargs["weight"]
            bias = args[2] if len(args) > 2 else kwargs.get("bias")
            product = _batched(args[0], weight.t())
            return product if bias is None else product + bias
        return func(*args, **kwargs)


_PRODUCTS = frozenset({torch.matmul, Tensor.matmul, Tensor.__matmul__})


def _is_cut_twice(value: Any) -> bool:
    if not isinstance(value, DTensor) or value.dim() != 3:
        return False
    dims = [p.dim for p in value.placements if p.is_shard()]  # type: ignore[attr-defined]
    return len(dims) > len(set(dims))


def _is_matrix(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dim() == 2


def _batched(tensor: Tensor, matrix: Tensor) -> Tensor:
    return torch.bmm(tensor, matrix.unsqueeze(0).expand(tensor.shape[0], -1, -1))
