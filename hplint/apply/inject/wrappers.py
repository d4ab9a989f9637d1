"""The registry's attention wrappers on plain PyTorch: ``sdpa_hf``, ``sdpa_qkv``, ``flex_hf`` and ``flex_qkv``, and by
exchange ``sdpa_hf_ulysses`` and ``sdpa_qkv_ulysses``.

Each catches the attention call inside of the target's forward and lets it run over the keys of all ranks along cp. The
names say which forward they are for: one with ``hidden_states`` (hf), or one with ``q``, ``k`` and ``v`` (R92).
"""

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from hplint.apply.attention.attention_mask import MaskError
from hplint.apply.attention.flex import GatheredFlexAttention
from hplint.apply.attention.gathered import SEQUENCE, GatheredAttention
from hplint.apply.attention.ulysses import ExchangedAttention, ExchangedInterface, HeadsError
from hplint.apply.errors import BoundaryError, CannotApply
from hplint.apply.inject.decorators import inner_wrapper
from hplint.apply.inject.intercept import (
    CatchPrimitive,
    GatheredInterface,
    catch_flex,
    dispatch_to,
    eager_function,
    fit_for,
    implementation_of,
    registered_function,
)
from hplint.apply.mesh.ledger import SILENT, Note
from hplint.apply.mesh.meshes import MeshAxis, axis_of

Forward = Callable[..., Any]
_QKV = ("q", "k", "v")
_HF = ("hidden_states",)
_HEADS_HINT = "choose the wrapper that gathers keys, the name without _ulysses, or a smaller cp or tp"
_MASK_HINT = "pass a mask of this rank's queries over all keys, [batch, 1, queries, all keys], or none if it is causal"


@inner_wrapper
def sdpa_hf(
    target_module: nn.Module,
    mesh: DeviceMesh,
    tp_mesh: DeviceMesh | None,
    cp_mesh: DeviceMesh | None,
    ep_mesh: DeviceMesh | None,
    note: Note = SILENT,
) -> Forward:
    """For a forward with ``hidden_states`` that calls scaled_dot_product_attention or, in transformers, eager
    attention."""
    return _sdpa(target_module, cp_mesh, note, _HF)


@inner_wrapper
def sdpa_qkv(
    target_module: nn.Module,
    mesh: DeviceMesh,
    tp_mesh: DeviceMesh | None,
    cp_mesh: DeviceMesh | None,
    ep_mesh: DeviceMesh | None,
    note: Note = SILENT,
) -> Forward:
    """For a forward with ``q``, ``k`` and ``v`` [batch, heads, sequence, head_dim] that calls
    scaled_dot_product_attention."""
    return _sdpa(target_module, cp_mesh, note, _QKV)


@inner_wrapper
def flex_hf(
    target_module: nn.Module,
    mesh: DeviceMesh,
    tp_mesh: DeviceMesh | None,
    cp_mesh: DeviceMesh | None,
    ep_mesh: DeviceMesh | None,
    note: Note = SILENT,
) -> Forward:
    """For a forward with ``hidden_states`` that calls flex_attention through its module, or a transformers one."""
    return _flex(target_module, cp_mesh, note, _HF)


@inner_wrapper
def flex_qkv(
    target_module: nn.Module,
    mesh: DeviceMesh,
    tp_mesh: DeviceMesh | None,
    cp_mesh: DeviceMesh | None,
    ep_mesh: DeviceMesh | None,
    note: Note = SILENT,
) -> Forward:
    """For a forward with ``q``, ``k`` and ``v`` that calls flex_attention through its module."""
    return _flex(target_module, cp_mesh, note, _QKV)


@inner_wrapper
def sdpa_hf_ulysses(
    target_module: nn.Module,
    mesh: DeviceMesh,
    tp_mesh: DeviceMesh | None,
    cp_mesh: DeviceMesh | None,
    ep_mesh: DeviceMesh | None,
    note: Note = SILENT,
) -> Forward:
    """For any forward that calls scaled_dot_product_attention or, in transformers, eager attention; local heads have to
    divide by cp."""
    return _ulysses(target_module, cp_mesh, note)


@inner_wrapper
def sdpa_qkv_ulysses(
    target_module: nn.Module,
    mesh: DeviceMesh,
    tp_mesh: DeviceMesh | None,
    cp_mesh: DeviceMesh | None,
    ep_mesh: DeviceMesh | None,
    note: Note = SILENT,
) -> Forward:
    """For any forward that calls scaled_dot_product_attention; local heads have to divide by cp."""
    return _ulysses(target_module, cp_mesh, note)


def _sdpa(target: nn.Module, cp_mesh: DeviceMesh | None, note: Note, names: tuple[str, ...]) -> Forward:
    axis = _axis(target, cp_mesh, names)
    attend = GatheredAttention(axis, note, _window(target))
    kind = implementation_of(target)
    if kind is None:
        return _watched(target, note, lambda: CatchPrimitive(attend), lambda: attend.calls)
    fit = fit_for(axis)
    if kind == "eager":
        # Without a mask eager attention sees all keys.
        return _interface(target, GatheredInterface(eager_function(target) or _none, axis, note, fit), note)
    if kind == "sdpa":
        _refuse_chunks(target)
        causal = _longer_than_one(attend, note)
        return _interface(target, GatheredInterface(registered_function(kind), axis, note, fit, causal), note)
    raise _other_attention(kind)


def _ulysses(target: nn.Module, cp_mesh: DeviceMesh | None, note: Note) -> Forward:
    axis = _axis(target, cp_mesh, ())
    kind = implementation_of(target)
    if kind is None:
        attend = ExchangedAttention(axis, note)
        return _watched(target, note, lambda: CatchPrimitive(attend), lambda: attend.calls)
    if kind not in ("eager", "sdpa"):
        raise _other_attention(kind)
    if hasattr(target, "sinks"):
        raise CannotApply("cannot exchange heads that have attention sinks", "write sdpa_hf")
    if kind == "sdpa":
        _refuse_chunks(target)
    function = eager_function(target) if kind == "eager" else registered_function(kind)
    window = _window(target) if kind == "sdpa" else None
    return _interface(target, ExchangedInterface(function or _none, axis, note, window), note)


def _other_attention(kind: str) -> CannotApply:
    return CannotApply(
        f"catches `sdpa` and `eager` attention; the module runs `{kind}`",
        "write flex_hf" if kind == "flex_attention" else "build the model with attn_implementation sdpa",
    )


def _longer_than_one(attend: GatheredAttention, note: Note) -> Callable[..., Tensor]:
    def called(query: Tensor, key: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if key.shape[SEQUENCE] == 1:
            # Transformers takes one key for decoding: it packs heads into the query, and leaves the mask out.
            raise BoundaryError(
                f"`{note.boundary}` has one position of the sequence on this rank, which `sdpa` takes for decoding",
                note.boundary,
                "give a longer sequence, or pass a mask of this rank's queries over all keys",
            )
        return attend(query, key, *args, **kwargs)

    return called


def _flex(target: nn.Module, cp_mesh: DeviceMesh | None, note: Note, names: tuple[str, ...]) -> Forward:
    axis = _axis(target, cp_mesh, names)
    kind = implementation_of(target)
    gathered = GatheredFlexAttention(axis, _none, note)
    if kind == "flex_attention":

        def fit(mask: Any, queries: int, local_keys: int) -> Any:
            whole = fit_for(axis) if isinstance(mask, Tensor) else gathered.fit
            return whole(mask, queries, local_keys)

        return _interface(target, GatheredInterface(registered_function(kind), axis, note, fit), note)
    if kind is not None:
        raise CannotApply(f"catches flex_attention; the module runs `{kind}`", "write sdpa_hf")

    def make(original: Forward) -> Forward:
        gathered.inner = original
        return gathered

    return _watched(target, note, lambda: catch_flex(make), lambda: gathered.calls)


def _interface(target: nn.Module, gathered: GatheredInterface | ExchangedInterface, note: Note) -> Forward:
    dispatch_to(target, gathered)
    return _watched(target, note, nullcontext, lambda: gathered.calls)


def _watched(
    target: nn.Module, note: Note, catching: Callable[[], AbstractContextManager[Any]], calls: Callable[[], int]
) -> Forward:
    """The target's forward with its attention caught; a forward without any is refused (R204)."""
    original = target.forward

    @functools.wraps(original)
    def forward(*args: Any, **kwargs: Any) -> Any:
        before = calls()
        try:
            with catching():
                result = original(*args, **kwargs)
        except MaskError as error:
            raise BoundaryError(f"`{note.boundary}`: {error}", note.boundary, _MASK_HINT) from None
        except HeadsError as error:
            raise BoundaryError(f"`{note.boundary}`: {error}", note.boundary, _HEADS_HINT) from None
        if calls() == before:
            raise BoundaryError(
                f"`{note.boundary}` made no attention call that its wrapper could catch: each rank would see its own "
                "slice of the keys alone",
                note.boundary,
                "call torch.nn.functional.scaled_dot_product_attention in the target's forward, or choose the wrapper "
                "that fits its attention",
            )
        return result

    return forward


def _axis(target: nn.Module, cp_mesh: DeviceMesh | None, names: tuple[str, ...]) -> MeshAxis:
    if cp_mesh is None:
        raise CannotApply("splits attention over the cp axis, but cp is 1 in this run", "write `when: cp`")
    parameters = inspect.signature(target.forward).parameters
    missing = [n for n in names if n not in parameters]
    if missing:
        other = "the wrapper that ends in _hf" if names == _QKV else "the wrapper that ends in _qkv"
        raise CannotApply(
            f"needs a forward with the parameters {', '.join(f'`{n}`' for n in names)}; that of "
            f"`{type(target).__name__}` has no `{missing[0]}`",
            f"point inner_target at the module that has them, or choose {other}",
        )
    return axis_of(cp_mesh)


def _window(target: nn.Module) -> int | None:
    """The module's sliding window, which transformers leaves out of the mask where the rank's slice is shorter."""
    config = getattr(target, "config", None)
    kinds, number = getattr(config, "layer_types", None), getattr(target, "layer_idx", None)
    if kinds and isinstance(number, int) and number < len(kinds) and kinds[number] != "sliding_attention":
        return None
    window = getattr(target, "sliding_window", getattr(config, "sliding_window", None))
    return window if isinstance(window, int) and window > 0 else None


def _refuse_chunks(target: nn.Module) -> None:
    """Where the rank's slice is shorter than a chunk, transformers leaves the mask out, and the chunks with it."""
    kinds = getattr(getattr(target, "config", None), "layer_types", None)
    number = getattr(target, "layer_idx", None)
    if kinds and isinstance(number, int) and number < len(kinds) and kinds[number] == "chunked_attention":
        raise CannotApply(
            "cannot tell the chunks of chunked attention, whose mask `sdpa` may leave out",
            "build the model with attn_implementation eager",
        )


def _none(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError
