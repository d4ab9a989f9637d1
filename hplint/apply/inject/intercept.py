"""Catch a module's own calls of attention, whichever way it makes them."""

import copy
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from hplint.apply.attention.attention_mask import fit_mask
from hplint.apply.attention.gathered import SEQUENCE, gather_keys
from hplint.apply.mesh.ledger import Note
from hplint.apply.mesh.meshes import MeshAxis

_STATE = "_hplint_gathered"
_INTERFACE = "hplint_gathered_keys"


class CatchPrimitive(TorchFunctionMode):
    """While it is entered, ``scaled_dot_product_attention`` is ``attend``, by whichever name it is called."""

    def __init__(self, attend: Callable[..., Tensor]) -> None:
        super().__init__()
        self.attend = attend

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is functional.scaled_dot_product_attention:
            return self.attend(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


@contextmanager
def catch_flex(make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """While it is entered, ``torch.nn.attention.flex_attention.flex_attention`` is what ``make`` makes of it. Calls
    through another name are not caught."""
    from torch.nn.attention import flex_attention as home

    original = home.flex_attention
    home.flex_attention = make(original)
    try:
        yield
    finally:
        home.flex_attention = original


class GatheredInterface:
    """An attention function of transformers over the keys of all ranks. ``calls`` counts.

    Keys are gathered before their heads are repeated for the queries'. ``unmasked`` is what attends where there is no
    mask; without it the function is called with none.
    """

    def __init__(
        self,
        interface: Callable[..., Any],
        axis: MeshAxis,
        note: Note,
        fit: Callable[..., Any],
        unmasked: Callable[..., Tensor] | None = None,
    ) -> None:
        self.interface, self.axis, self.note, self.fit, self.unmasked = interface, axis, note, fit, unmasked
        self.calls = 0

    def __call__(
        self, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, **more: Any
    ) -> Any:
        self.calls += 1
        if attention_mask is not None:
            attention_mask = self.fit(attention_mask, query.shape[SEQUENCE], key.shape[SEQUENCE])
        elif self.unmasked is not None:
            with CatchPrimitive(self.unmasked):
                return self.interface(module, query, key, value, None, **more)
        key, value = gather_keys(key, value, self.axis, self.note)
        return self.interface(module, query, key, value, attention_mask, **more)

    def __deepcopy__(self, memo: dict[int, Any]) -> "GatheredInterface":
        # Process groups cannot be copied; a copy of the module communicates over the same ones.
        return self


def implementation_of(module: nn.Module) -> str | None:
    """The attention implementation that a module of transformers dispatches to; None for other modules."""
    config: Any = getattr(module, "config", None)
    if not hasattr(config, "_attn_implementation") or eager_function(module) is None:
        return None
    return config._attn_implementation or "eager"


def eager_function(module: nn.Module) -> Callable[..., Any] | None:
    """``eager_attention_forward`` as the module's own forward sees it."""
    forward = inspect.unwrap(type(module).forward)
    found: Callable[..., Any] | None = getattr(forward, "__globals__", {}).get("eager_attention_forward")
    return found


def registered_function(name: str) -> Callable[..., Any]:
    """An attention function that transformers has by name."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    found: Callable[..., Any] = ALL_ATTENTION_FUNCTIONS[name]
    return found


def dispatch_to(module: nn.Module, gathered: Callable[..., Any]) -> None:
    """Let this one module of transformers call ``gathered`` for its attention: it gets a config of its own."""
    from transformers import AttentionInterface

    AttentionInterface.register(_INTERFACE, _gathered)
    config = copy.copy(module.config)
    config._attn_implementation_internal = _INTERFACE  # type: ignore[union-attr]
    module.config = config
    vars(module)[_STATE] = gathered


def _gathered(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    return vars(module)[_STATE](module, *args, **kwargs)


def fit_for(axis: MeshAxis) -> Callable[[Any, int, int], Any]:
    """How masks that are tensors are made to fit, see :func:`hplint.apply.attention.attention_mask.fit_mask`."""

    def fit(mask: Any, queries: int, local_keys: int) -> Any:
        return fit_mask(mask, queries, local_keys, axis)

    return fit
