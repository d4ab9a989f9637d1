"""Collectives that torch itself calls: those of DTensors, and those that a model's own code makes."""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from hplint.apply.mesh.ledger import Communication, Recorder
from hplint.apply.mesh.meshes import Meshes


class _Kind(NamedTuple):
    """How a call is told. ``counted`` is the argument whose bytes count; ``gathers``: times the ranks of the group."""

    collective: str
    counted: int = 0
    gathers: bool = False


_FUNCTIONAL = {
    "all_gather_into_tensor": _Kind("all-gather", gathers=True),
    "all_gather_into_tensor_coalesced": _Kind("all-gather", gathers=True),
    "all_reduce": _Kind("all-reduce"),
    "all_reduce_": _Kind("all-reduce"),
    "all_reduce_coalesced": _Kind("all-reduce"),
    "all_to_all_single": _Kind("all-to-all"),
    "broadcast": _Kind("broadcast"),
    "broadcast_": _Kind("broadcast"),
    "reduce_scatter_tensor": _Kind("reduce-scatter"),
    "reduce_scatter_tensor_coalesced": _Kind("reduce-scatter"),
}
"""Of the namespaces _c10d_functional and _c10d_functional_autograd: what DTensors call."""
_PLAIN = {
    "allreduce_": _Kind("all-reduce"),
    "_allgather_base_": _Kind("all-gather"),
    "allgather_": _Kind("all-gather"),
    "_reduce_scatter_base_": _Kind("reduce-scatter", 1),
    "reduce_scatter_": _Kind("reduce-scatter", 1),
    "alltoall_base_": _Kind("all-to-all", 1),
    "alltoall_": _Kind("all-to-all", 1),
    "broadcast_": _Kind("broadcast"),
}
"""Of the namespace c10d: what torch.distributed's own functions call."""
Where = Callable[[], tuple[str, str]]
"""FQN of the module that runs, and what it is called."""


class TorchCollectives(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it is entered, tells a recorder of every collective on an axis of the mesh. ``plain`` also tells of calls
    of torch.distributed's own functions; ``where`` says which module runs."""

    def __init__(self, recorder: Recorder, meshes: Meshes, where: Where, direction: str, plain: bool = True) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recorder, self.where, self.direction, self.plain = recorder, where, direction, plain
        groups = {a: axis.group for a, axis in meshes.axes.items() if axis.group is not None}
        # Axes over the same ranks share a group: the one of the mesh itself comes first and counts.
        self.axes = {str(group.group_name): a for a, group in reversed(groups.items())}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(issubclass(t, torch.distributed.tensor.DTensor) for t in types):
            return NotImplemented  # a DTensor first turns into operations on its local part
        if (schema := getattr(func, "_schema", None)) is not None:  # operators of higher order have none
            namespace, _, name = schema.name.partition("::")
            if kind := self._kind(namespace, name):
                self._record(kind, args)
        return func(*args, **(kwargs or {}))

    def _kind(self, namespace: str, name: str) -> _Kind | None:
        if namespace.startswith("_c10d_functional"):
            return _FUNCTIONAL.get(name)
        return _PLAIN.get(name) if namespace == "c10d" and self.plain else None

    def _record(self, kind: _Kind, args: tuple[Any, ...]) -> None:
        group = next((g for a in args if (g := _group_name(a)) in self.axes), None)
        if group is None:
            return
        size = sum(prod(t.shape) * t.element_size() for t in _tensors(args[kind.counted]))
        if kind.gathers:
            size *= next(a for a in args[1:] if isinstance(a, int))
        fqn, name = self.where()
        self.recorder.record(Communication(fqn, name, self.direction, kind.collective, self.axes[group], size))


def _group_name(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, torch.ScriptObject):
        try:
            return str(dist.ProcessGroup.unbox(value).group_name)
        except (RuntimeError, TypeError):
            return None
    return None


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)
