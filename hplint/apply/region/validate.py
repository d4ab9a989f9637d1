"""A boundary's forward in validate mode: DTensors flow through the region, and what comes out has to be laid out as the
contract declares."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch.utils._pytree as pytree
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.experimental import implicit_replication
from torch.nn.attention import SDPBackend, sdpa_kernel

from hplint.apply.errors import BoundaryError, LayoutMismatch
from hplint.apply.mesh.layouts import of_dtensor, to_torch
from hplint.apply.mesh.moves import Move
from hplint.apply.mesh.redistribute import normalised
from hplint.apply.mesh.transition import gradient_layout
from hplint.apply.plan import AxisLayout
from hplint.apply.region.folding import UnfoldedProducts
from hplint.apply.region.local import Finish, Forward, LocalForward
from hplint.apply.region.region import Region
from hplint.apply.region.results import change_outputs, output_places
from hplint.plan.placement import REPLICATE

NONE: frozenset[str] = frozenset()


def wrap(tensor: Tensor, layout: AxisLayout, region: Region, shares: frozenset[str], name: str = "") -> DTensor:
    """A local part as a DTensor. ``shares`` are those of the region that it comes from."""
    turned = region.turn(layout, shares, NONE, name)(tensor)
    found: DTensor = DTensor.from_local(turned, region.meshes.main, to_torch(layout), run_check=False)
    return found


def unwrap(tensor: DTensor, region: Region, shares: frozenset[str], name: str = "") -> Tensor:
    """This rank's part of a DTensor. ``shares`` are those of the region that it goes to."""
    layout = of_dtensor(tensor, region.axes)
    local: Tensor = tensor.to_local(grad_placements=to_torch(gradient_layout(layout, NONE)))
    return region.turn(layout, NONE, shares, name)(local)


def lay_out(tensor: Tensor, layout: AxisLayout, region: Region) -> DTensor:
    """A DTensor laid out anew."""
    assert isinstance(tensor, DTensor)
    found: DTensor = tensor.redistribute(placements=to_torch(normalised(layout, tensor.dim())))
    return found


class ValidateForward:
    """Stands in for a module's forward where DTensors flow through the region. Between boundaries plain tensors flow;
    a call from inside of another region takes and returns DTensors.

    ``keeps`` are positions of outputs that are returned as DTensors in any case (a loss-parallel head). ``box`` opens
    the region's parameters, for a boundary that lies in another region and leaves layouts as they are: called from
    inside of a black box, where layouts are not known (heads that are cut, say), it sees local tensors too.
    """

    def __init__(
        self,
        region: Region,
        inner: Forward,
        signature: Forward,
        keeps: frozenset[int] = frozenset(),
        box: Callable[[], AbstractContextManager[Any]] | None = None,
    ) -> None:
        self.region, self.inner, self.keeps = region, inner, keeps
        self.local = LocalForward(region, inner, signature)
        self.boxed = BlackBoxForward(region, inner, signature, box) if box else None
        self.moves = {m.name: m for m in region.inputs}
        self.outputs = {m.position: m for m in region.outputs}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        nested = holds_dtensor((args, kwargs))
        if self.boxed is not None and not nested:
            return self.boxed(*args, **kwargs)
        change = {name: self._entry(move) for name, move in self.moves.items()}
        args, kwargs = self.local.binding.visit(args, kwargs, change)
        args, kwargs = pytree.tree_map_only(Tensor, self._undeclared, (args, kwargs))
        # Leaving the context inside of another one would end that too.
        with nullcontext() if nested else implicit_replication(), self._kernels(), UnfoldedProducts():
            result = self._run(args, kwargs)

        places = output_places(result, {p: m.name for p, m in self.outputs.items()})

        def leave(position: int, tensor: Tensor) -> Tensor:
            place = places.get(position, -1)
            return self._leave(self.outputs.get(place), tensor, nested or place in self.keeps)

        return change_outputs(result, leave)

    def _kernels(self) -> AbstractContextManager[Any]:
        """On CPU the fused attention kernel gives other strides than DTensor believes, which breaks views of it."""
        return sdpa_kernel(SDPBackend.MATH) if self.region.meshes.device_type == "cpu" else nullcontext()

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return self.inner(*args, **kwargs)
        except BoundaryError:
            raise
        except (RuntimeError, NotImplementedError, ValueError) as error:
            boundary = self.region.boundary
            hint = "region_dispatch: false, if what it runs cannot take DTensors" if boundary.local_compute_fn else ""
            raise BoundaryError(
                f"`{boundary.title}` cannot run on DTensors: {type(error).__name__}: {error}", boundary.fqn, hint
            ) from error

    def _entry(self, move: Move) -> Callable[[Any], Any]:
        def enter(value: Any) -> Any:
            if isinstance(value, tuple | list):
                return type(value)(enter(v) for v in value)
            if not isinstance(value, Tensor):
                return value
            if not isinstance(value, DTensor):
                value = wrap(value, normalised(move.source, value.dim()), self.region, self.region.outer, move.name)
            return lay_out(value, move.target, self.region)

        return enter

    def _undeclared(self, tensor: Tensor) -> Tensor:
        if isinstance(tensor, DTensor):
            return tensor
        return wrap(tensor, dict.fromkeys(self.region.axes, REPLICATE), self.region, self.region.outer)

    def _leave(self, move: Move | None, tensor: Tensor, keep: bool) -> Tensor:
        if not isinstance(tensor, DTensor):
            if move is None:
                return tensor
            tensor = wrap(tensor, dict.fromkeys(self.region.axes, REPLICATE), self.region, NONE)
        if move is not None:
            compare(self.region, move.name, move.source, tensor)
            tensor = lay_out(tensor, move.target, self.region)
        return tensor if keep else unwrap(tensor, self.region, self.region.outer, move.name if move else "")


def compare(region: Region, name: str, declared: AxisLayout, tensor: DTensor) -> None:
    """Raise LayoutMismatch where an output is not laid out as declared (R191)."""
    actual = normalised(of_dtensor(tensor, region.axes), tensor.dim())
    wanted = normalised(declared, tensor.dim())
    if actual != wanted:
        raise LayoutMismatch(
            region.boundary.fqn, name, {a: str(p) for a, p in wanted.items()}, {a: str(p) for a, p in actual.items()}
        )


class BlackBoxForward(LocalForward):
    """Stands in for a module's forward where the region must see local tensors though all else is DTensors (2.8): the
    results are taken to be laid out as declared."""

    def __init__(
        self,
        region: Region,
        inner: Forward,
        signature: Forward,
        during: Callable[[], AbstractContextManager[Any]] = nullcontext,
        finish: Finish | None = None,
    ) -> None:
        super().__init__(region, inner, signature, during, finish)
        self.entering = {m.name: self._entry(m) for m in region.inputs}  # type: ignore[misc]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        nested = holds_dtensor((args, kwargs))
        args, kwargs = self.binding.visit(args, kwargs, dict(self.entering))
        args, kwargs = pytree.tree_map_only(DTensor, self._undeclared, (args, kwargs))
        with self.during():
            result = self.inner(*args, **kwargs)
        result = self.leave(result)
        return self._wrapped(result) if nested else result

    def _entry(self, move: Move) -> Callable[[Any], Any]:
        plain = self.entering[move.name]

        def enter(value: Any) -> Any:
            if isinstance(value, DTensor):
                return unwrap(lay_out(value, move.target, self.region), self.region, self.region.shares, move.name)
            return plain(value)

        return enter

    def _undeclared(self, tensor: DTensor) -> Tensor:
        return unwrap(tensor, self.region, self.region.shares)

    def _wrapped(self, result: Any) -> Any:
        places = output_places(result, {p: m.name for p, (m, _) in self.leaving.items()})

        def change(position: int, tensor: Tensor) -> Tensor:
            move = self.leaving[places[position]][0] if position in places else None
            layout = move.target if move else dict.fromkeys(self.region.axes, REPLICATE)
            return wrap(tensor, normalised(layout, tensor.dim()), self.region, self.region.outer)

        return change_outputs(result, change)


class SilentForward(BlackBoxForward):
    """Stands in for the forward of a boundary whose contract names no input and no output: inside of another region it
    takes DTensors as they come, elsewhere it sees local tensors."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.inner(*args, **kwargs) if holds_dtensor((args, kwargs)) else super().__call__(*args, **kwargs)


def holds_dtensor(values: Any) -> bool:
    """Whether a DTensor is anywhere in arguments."""
    return any(isinstance(v, DTensor) for v in pytree.tree_leaves(values))
