"""A boundary's forward in local mode: the region sees plain tensors, this rank's parts."""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from torch import Tensor

from hplint.apply.errors import BoundaryError
from hplint.apply.mesh.moves import Move
from hplint.apply.mesh.transition import Transition
from hplint.apply.region.arguments import Binding, bind
from hplint.apply.region.region import Region
from hplint.apply.region.results import change_outputs, output_places

Forward = Callable[..., Any]
Finish = Callable[[Tensor], Tensor]


class LocalForward:
    """Stands in for a module's forward: inputs in, region, outputs out.

    ``inner`` is what runs in the region. ``during`` makes what has to hold meanwhile (hidden biases), ``finish`` what
    happens to the first output behind its communication.
    """

    def __init__(
        self,
        region: Region,
        inner: Forward,
        signature: Forward,
        during: Callable[[], AbstractContextManager[Any]] = nullcontext,
        finish: Finish | None = None,
    ) -> None:
        self.region = region
        self.inner = inner
        self.during = during
        self.finish = finish
        self.binding: Binding = bind(signature, [m.name for m in region.inputs])
        self.entering = {m.name: _Entry(region, m, region.entering(m)) for m in region.inputs}
        self.leaving = {m.position: (m, region.leaving(m)) for m in region.outputs}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self.binding.visit(args, kwargs, dict(self.entering))
        with self.during():
            result = self.inner(*args, **kwargs)
        return self.leave(result)

    def leave(self, result: Any) -> Any:
        """The region's result behind its communication."""
        places = output_places(result, {p: m.name for p, (m, _) in self.leaving.items()})
        beyond = [m.name for p, (m, _) in self.leaving.items() if p not in places.values()]
        if beyond:
            fqn = self.region.boundary.title
            warnings.warn(f"`{fqn}` declares outputs that it does not return: {', '.join(beyond)}", stacklevel=2)

        def change(position: int, tensor: Tensor) -> Tensor:
            if (place := places.get(position)) is None:
                return tensor
            move, transition = self.leaving[place]
            tensor = moved(self.region, move, transition, tensor, "output")
            return self.finish(tensor) if place == 0 and self.finish is not None else tensor

        return change_outputs(result, change)


class _Entry:
    """What one input goes through; tuples and lists of tensors each alike."""

    def __init__(self, region: Region, move: Move, transition: Transition) -> None:
        self.region, self.move, self.transition = region, move, transition

    def __call__(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return moved(self.region, self.move, self.transition, value, "input")
        if isinstance(value, tuple | list) and all(isinstance(v, Tensor) for v in value):
            return type(value)(self(v) for v in value)
        return value


def moved(region: Region, move: Move, transition: Transition, tensor: Tensor, what: str) -> Tensor:
    """The tensor behind a transition; what does not divide names the boundary."""
    try:
        return transition(tensor)
    except ValueError as error:
        boundary = region.boundary
        raise BoundaryError(
            f"{what} `{move.name}` of `{boundary.title}` cannot be laid out anew: {error}",
            boundary.fqn,
            "choose sizes that the axis divides" if "divide" in str(error) else "",
        ) from None
