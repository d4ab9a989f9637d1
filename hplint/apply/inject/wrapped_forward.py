"""An inner wrapper's forward in its place: as it is for plain tensors, in a box where they are DTensors (2.9)."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch.utils._pytree as pytree
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from hplint.apply.errors import BoundaryError
from hplint.apply.mesh.layouts import of_dtensor
from hplint.apply.mesh.redistribute import normalised
from hplint.apply.plan import AxisLayout
from hplint.apply.region.boxes import Box
from hplint.apply.region.region import Region
from hplint.apply.region.validate import compare, holds_dtensor, unwrap, wrap

Forward = Callable[..., Any]
Undo = Callable[[], None]
FIRST_INPUT = "first_input"


def put_in_place(
    region: Region, target: nn.Module, module: nn.Module, replaced: Forward, original: Forward, box: Box | None
) -> None:
    """Set ``target.forward``. With a ``box`` (validate mode) calls on DTensors go through a black box; ``original``
    gives the signature."""
    if box is None:
        target.forward = replaced
        return
    inside = set(target.modules())
    slots = tuple(slot for slot in box.slots if slot[0] in inside)
    counts = box.counts if target is module else {}
    own = Box(target, slots, box.shares, counts)
    target.forward = DualForward(region, replaced, target is module, own)
    target.forward.__signature__ = _signature(original)  # type: ignore[attr-defined]


def _signature(forward: Forward) -> Any:
    import inspect

    return inspect.signature(forward)


class DualForward:
    """Stands in for a target's forward in validate mode.

    Calls without DTensors go straight through. Otherwise the wrapped forward sees local tensors, and its results are
    DTensors again: laid out as the boundary's ``out_src`` (target ``self``) or ``inner_out_src`` (a child) say. With
    region_dispatch true the forward sees the DTensors, and the declaration is compared with what comes out.
    """

    def __init__(self, region: Region, inner: Forward, is_self: bool, box: Box) -> None:
        self.region, self.inner, self.is_self, self.box = region, inner, is_self, box

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        first = next((v for v in pytree.tree_leaves((args, kwargs)) if isinstance(v, DTensor)), None)
        if first is None:
            return self.inner(*args, **kwargs)
        if self.region.boundary.region_dispatch:
            return self._finished(self.inner(*args, **kwargs), first, self._compared)
        args, kwargs = pytree.tree_map_only(DTensor, self._unwrapped, (args, kwargs))
        opened: AbstractContextManager[None] = self.box.opened() if self.box.slots or self.box.counts else nullcontext()
        with opened:
            result = self.inner(*args, **kwargs)
        return self._finished(result, first, self._wrapped)

    def _unwrapped(self, tensor: DTensor) -> Tensor:
        return unwrap(tensor, self.region, self.region.shares)

    def _wrapped(self, name: str, layout: AxisLayout, tensor: Tensor) -> Tensor:
        if holds_dtensor(tensor):
            return tensor
        return wrap(tensor, normalised(layout, tensor.dim()), self.region, self.region.shares, name)

    def _compared(self, name: str, layout: AxisLayout, tensor: Tensor) -> Tensor:
        if not isinstance(tensor, DTensor):
            raise self._error(
                f"output `{name}` of the wrapped forward is no DTensor any more",
                "declare region_dispatch: false, since the wrapper leaves DTensors",
            )
        compare(self.region, name, layout, tensor)
        return tensor

    def _finished(self, result: Any, first: DTensor, change: Callable[[str, AxisLayout, Tensor], Tensor]) -> Any:
        """The results, tensor by tensor in the order of the declared outputs (R198-R202)."""
        several = isinstance(result, tuple | list)
        tensors = [v for v in (result if several else [result]) if isinstance(v, Tensor)]
        declared = self._declared(first, several)
        if len(declared) != len(tensors):
            where = "out_src" if self.is_self else "inner_out_src"
            raise self._error(
                f"the wrapped forward returns {len(tensors)} tensors, {where} declares {len(declared)}",
                f"declare each of them in {where}, in order",
            )
        pending = iter(declared)

        def one(value: Any) -> Any:
            return change(*next(pending), value) if isinstance(value, Tensor) else value

        if not several:
            return one(result)
        items = [one(v) for v in result]
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return type(result)(*items)
        return type(result)(items)

    def _declared(self, first: DTensor, several: bool) -> list[tuple[str, AxisLayout]]:
        boundary = self.region.boundary
        if self.is_self:
            return [(m.name, m.source) for m in self.region.outputs]
        if boundary.inner_out_src == FIRST_INPUT:
            if several:
                raise self._error(
                    f"inner_out_src is `{FIRST_INPUT}`, but the wrapped forward returns several values",
                    "declare a layout for each of them",
                )
            return [("output", of_dtensor(first, self.region.axes))]
        return list(boundary.inner_out_src.items()) if isinstance(boundary.inner_out_src, dict) else []

    def _error(self, message: str, hint: str) -> BoundaryError:
        boundary = self.region.boundary
        return BoundaryError(f"inner wrapper of `{boundary.title}`: {message}", boundary.fqn, hint)
