"""Building without data. Runs in the child process alone: it imports torch.

Most models build under ``torch.device("meta")``. Those that read values while they build (``.item()`` on a schedule of
drop rates, a mask turned into a list) fail there; they are built once more with small tensors real and large ones on
meta.
"""

import math
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._pytree import tree_any, tree_map

_SMALL = 1 << 16
"""Elements up to which a new tensor is real in the second attempt."""
_WORDS = re.compile(
    r"(?<![a-z])(?:meta tensor|meta device|device meta|cuda|nvidia|npu|xpu|fake tensor|no data!|on meta)"
)
"""Each begins a word: there is an npu in every input."""


def build_on_meta(factory: Callable[[], Any]) -> Any:
    """Call ``factory`` so that it allocates no data; raises whatever it raises."""
    try:
        with torch.device("meta"):
            return factory()
    except Exception as error:
        if not needs_data(error):
            raise
    with SmallTensorsReal():
        return factory()


def needs_data(error: BaseException) -> bool:
    """Whether an error comes from a tensor that has no data or from a device that is not here."""
    text = str(error).lower()
    kinds = RuntimeError | NotImplementedError | TypeError | AssertionError | ValueError
    return isinstance(error, kinds) and _WORDS.search(text) is not None


class SmallTensorsReal(TorchFunctionMode):
    """New tensors of few elements are real, larger ones on meta, whatever device was asked for; an operation that meets
    both kinds, or lacks the values of a large one, gives a meta tensor."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in _device_constructors():
            return self._new(func, args, kwargs)
        if func in _MOVES:
            return args[0]
        if func is torch.Tensor.to:
            dtype = next((_dtype(a) for a in (*args[1:], *kwargs.values()) if _dtype(a)), None)
            return args[0] if dtype is None else func(args[0], dtype)
        try:
            return func(*args, **kwargs)
        except (RuntimeError, NotImplementedError):
            if not (_any(args, kwargs, "meta") and _any(args, kwargs, "cpu")):
                raise
            return func(*tree_map(_to_meta, args), **tree_map(_to_meta, kwargs))

    def _new(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kwargs.pop("device", None)
        kwargs.pop("pin_memory", None)
        if func in (torch.tensor, torch.as_tensor, torch.asarray):
            return func(*args, **kwargs)
        with torch._C.DisableTorchFunction():
            outline = func(*args, **kwargs, device="meta")
            small = math.prod(outline.shape) <= _SMALL
            return func(*args, **kwargs, device="cpu") if small else outline


_MOVES = {torch.Tensor.cuda, torch.Tensor.cpu} | {f for n in ("npu", "xpu") if (f := getattr(torch.Tensor, n, None))}


def _dtype(argument: Any) -> torch.dtype | None:
    if isinstance(argument, torch.Tensor):
        return argument.dtype
    return argument if isinstance(argument, torch.dtype) else None


def _any(args: Any, kwargs: Any, device: str) -> bool:
    return bool(tree_any(lambda a: isinstance(a, torch.Tensor) and a.device.type == device, (args, kwargs)))


def _to_meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter):
        return value.to("meta")
    return value.data.to("meta") if isinstance(value, nn.Parameter) else value
