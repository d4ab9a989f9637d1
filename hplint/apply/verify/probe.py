"""What comes out of each boundary, in the order in which a forward gets there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor


@dataclass(slots=True)
class Probe:
    """Looks at the boundaries of one forward; ``close`` takes its hooks off again.

    ``outputs`` maps FQNs to what their first call returned, by position, in the order of the calls' ends (copies, where
    ``copies`` is set: later code may write into them); ``sizes`` maps those that are DTensors to what they say is the
    size of the whole. ``made`` and ``taken`` tell which tensors came out of and went
    into boundaries: ``id`` -> (FQN, position) and ``id`` -> (FQN, argument, position or None).
    """

    copies: bool = False
    outputs: dict[str, dict[int, Tensor]] = field(default_factory=dict)
    sizes: dict[str, dict[int, torch.Size]] = field(default_factory=dict)
    made: dict[int, tuple[str, int]] = field(default_factory=dict)
    taken: dict[int, tuple[str, str, int | None]] = field(default_factory=dict)
    _handles: list[Any] = field(default_factory=list)
    _alive: list[Tensor] = field(default_factory=list)

    def watch(self, model: nn.Module, names: Iterable[str]) -> "Probe":
        """Hook the boundaries of these names."""
        modules = dict(model.named_modules())
        for name in names:
            module = modules.get(name)
            if module is not None:
                self._handles.append(module.register_forward_pre_hook(self._before(name), with_kwargs=True))
                self._handles.append(module.register_forward_hook(self._after(name)))
        return self

    def close(self) -> None:
        """Take the hooks off and let the tensors go that are not in ``outputs``."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._alive.clear()

    def _before(self, name: str) -> Any:
        def hook(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
            by_position = [(n, v, i) for i, (n, v) in enumerate(zip(_positional(module), args, strict=False))]
            for argument, value, position in (*by_position, *((n, v, None) for n, v in kwargs.items())):
                if isinstance(value, Tensor):
                    self._alive.append(value)
                    self.taken.setdefault(id(value), (name, argument, position))

        return hook

    def _after(self, name: str) -> Any:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            for position, value in tensors_of(output).items():
                self._alive.append(value)
                self.made[id(value)] = (name, position)
            if self.copies and name not in self.outputs:
                tensors = tensors_of(output)
                self.outputs[name] = {p: local(v).detach().clone() for p, v in tensors.items()}
                self.sizes[name] = {p: v.shape for p, v in tensors.items() if isinstance(v, DTensor)}

        return hook


def _positional(module: nn.Module) -> list[str]:
    import inspect

    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in inspect.signature(module.forward).parameters.values() if p.kind in kinds]


def tensors_of(output: Any) -> dict[int, Tensor]:
    """The tensors that a forward returned, by position; a dict-like output counts its values."""
    if isinstance(output, Mapping):
        output = tuple(output.values())
    values = output if isinstance(output, tuple | list) else (output,)
    return {i: v for i, v in enumerate(values) if isinstance(v, Tensor)}


def named_tensors(output: Any) -> dict[str, Tensor]:
    """The float tensors of a root forward's output by name: ``logits``, ``output`` for one alone, ``output[1]``."""
    if isinstance(output, Tensor):
        named: dict[str, Any] = {"output": output}
    elif isinstance(output, Mapping):
        named = {str(k): v for k, v in output.items()}
    elif isinstance(output, tuple | list):
        named = {f"output[{i}]": v for i, v in enumerate(output)}
    else:
        named = dict(vars(output)) if hasattr(output, "__dict__") else {}
    return {k: v for k, v in named.items() if isinstance(v, Tensor) and v.is_floating_point()}


def local(tensor: Tensor) -> Tensor:
    """The local part of a DTensor, anything else as it is."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def is_finite(tensor: Tensor) -> bool:
    """Whether a tensor holds neither inf nor nan."""
    return bool(torch.isfinite(tensor).all())
