"""Inputs of --verify: seeded, whole, and which part of them each rank gets."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import lcm
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hplint.apply.mesh.meshes import Meshes
from hplint.apply.mesh.redistribute import cut
from hplint.apply.plan import ApplyPlan, AxisLayout
from hplint.errors import RequestError
from hplint.plan.placement import Placement, parse, shard
from hplint.text.wording import listing, quote

IDS = frozenset({"input_ids", "tokens", "token_ids", "ids", "idx", "decoder_input_ids"})
"""Names of inputs that hold token numbers."""
EITHER = frozenset({"x", "input", "inputs"})
"""Names that hold token numbers where the model begins with an embedding."""
LEAST_LENGTH = 16
"""Tokens."""
Taken = tuple[str, str, int | None]
"""A boundary, the argument that it takes a tensor as, and the argument's position (None: by keyword)."""


@dataclass(slots=True)
class Inputs:
    """Keyword arguments of the root module's forward, whole, with the batch in dim 0.

    ``layouts`` tell which axes cut which input (data-parallel axes left out, they cut dim 0 of whatever has the batch
    there); what is in neither follows the sequence. ``length`` is that of the sequence, None where there is none.
    """

    values: dict[str, Any]
    batch: int
    length: int | None
    layouts: dict[str, AxisLayout] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def make_inputs(
    model: nn.Module, plan: ApplyPlan, meshes: Meshes, seed: int, device: torch.device, sequences: int = 2
) -> Inputs:
    """Seeded inputs by the names of the root forward's arguments, ``sequences`` for each data-parallel rank. On the
    meta device they are shapes alone. Raises RequestError where a name says nothing."""
    data = 1
    for axis in meshes.data_axes:
        data *= meshes.axis(axis).size
    batch, length = sequences * data, _length(plan)
    generator = None if device.type == "meta" else torch.Generator("cpu").manual_seed(seed)
    vocabulary, hidden = _vocabulary(model), _hidden(model)
    names, optional = _arguments(model)
    values: dict[str, Any] = {}
    for name in names:
        if name in IDS or (name in EITHER and _begins_with_embedding(model)):
            if vocabulary is None:
                raise _unknown(model, name, "no embedding tells how many tokens there are")
            values[name] = torch.randint(vocabulary, (batch, length), generator=generator)
        elif hidden is None:
            raise _unknown(model, name, "no parameter tells its size")
        else:
            values[name] = torch.randn((batch, length, hidden), generator=generator)
    notes = _complete(model, values, optional, batch, length)
    return Inputs({n: _to(v, device) for n, v in values.items()}, batch, length, notes=notes)


def _length(plan: ApplyPlan) -> int:
    """The sequence length that was asked for, else the least one that is not tiny and that the axes divide twice."""
    if plan.topology.seq_len:
        return plan.topology.seq_len
    step = lcm(2 * (plan.topology.cp or 1) * (plan.topology.tp or 1), 2)
    return step * -(-LEAST_LENGTH // step)


def _arguments(model: nn.Module) -> tuple[list[str], list[str]]:
    """Arguments of the root forward that have to be given, and those that may be."""
    parameters = inspect.signature(model.forward).parameters.values()
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if any(p.kind is p.POSITIONAL_ONLY and p.default is p.empty for p in parameters):
        raise RequestError("the model's forward takes arguments by position alone", "wrap it, or give --inputs")
    needed = [p.name for p in named if p.default is p.empty]
    if not needed and (first := next((p.name for p in named if p.name in IDS), None)):
        needed = [first]  # transformers gives every argument a default
    return needed, [p.name for p in named if p.name not in needed]


def _complete(model: nn.Module, values: dict[str, Any], optional: list[str], batch: int, length: int) -> list[str]:
    """What transformers would otherwise make from the tensor at hand, which may be a part of the sequence."""
    if getattr(model, "config", None) is None or "input_ids" not in values:
        return []
    notes = []
    if "position_ids" in optional:
        values["position_ids"] = torch.arange(length).expand(batch, length).contiguous()
    else:
        notes.append("its forward takes no position_ids: it counts positions from the length at hand")
    if "attention_mask" in optional:
        blocked = torch.full((length, length), torch.finfo(torch.float32).min).triu(1)
        values["attention_mask"] = blocked.expand(batch, 1, length, length).contiguous()
    else:
        notes.append("its forward takes no attention_mask: it makes one from the length at hand")
    if "use_cache" in optional:
        values["use_cache"] = False
    return notes


def _vocabulary(model: nn.Module) -> int | None:
    config = getattr(model, "config", None)
    size = getattr(config, "vocab_size", None)
    if isinstance(size, int):
        return size
    return next((m.num_embeddings for m in model.modules() if isinstance(m, nn.Embedding)), None)


def _hidden(model: nn.Module) -> int | None:
    config = getattr(model, "config", None)
    size = getattr(config, "hidden_size", None)
    if isinstance(size, int):
        return size
    for module in model.modules():
        if isinstance(module, nn.Linear):
            return module.in_features
        if isinstance(module, nn.LayerNorm):
            return module.normalized_shape[-1]
    return next((p.shape[-1] for p in model.parameters() if p.dim()), None)


def _begins_with_embedding(model: nn.Module) -> bool:
    first = next((m for m in model.modules() if next(m.parameters(recurse=False), None) is not None), None)
    return isinstance(first, nn.Embedding)


def _unknown(model: nn.Module, name: str, why: str) -> RequestError:
    return RequestError(
        f"--verify cannot make up the input {quote(name)} of {type(model).__name__}: {why}",
        "give a function that returns the inputs: --inputs module:function",
    )


def _to(value: Any, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, Tensor) else value


def given_inputs(named: str, src: tuple[str, ...]) -> Inputs:
    """Inputs from the user's function: a dict of keyword arguments, or a pair of it and a dict of layouts (input ->
    axis -> placement as plans spell it). Raises RequestError."""
    function = _find(named, src)
    try:
        returned = function()
    except Exception as error:
        raise RequestError(f"--inputs: {quote(named)} raised {type(error).__name__}: {error}") from None
    values, layouts = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, {})
    if not isinstance(values, dict) or not isinstance(layouts, dict):
        raise RequestError(
            f"--inputs: {quote(named)} returned a {type(returned).__name__}", "return a dict of keyword arguments"
        )
    tensors = [v for v in values.values() if isinstance(v, Tensor) and v.dim() > 0]
    if not tensors:
        raise RequestError(f"--inputs: {quote(named)} returned no tensor")
    length = next((t.shape[1] for t in tensors if t.dim() > 1), None)
    return Inputs(dict(values), tensors[0].shape[0], length, {n: _layout(n, v) for n, v in layouts.items()})


def _layout(name: str, written: Any) -> dict[str, Placement]:
    found = {}
    for axis, word in dict(written).items():
        placement = parse(str(word))
        if placement is None:
            raise RequestError(f"--inputs: {quote(word)} of input {quote(name)} is no placement", "write shard(1)")
        found[axis] = placement
    return found


def _find(named: str, src: tuple[str, ...]) -> Callable[[], Any]:
    where, _, name = named.rpartition(":")
    sys.path[:0] = [folder for folder in src if folder not in sys.path]
    try:
        if where.endswith(".py"):
            spec = importlib.util.spec_from_file_location(Path(where).stem, where)
            assert spec and spec.loader
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(where)
    except Exception as error:
        raise RequestError(f"--inputs: {quote(where)} cannot be imported: {error}") from None
    found = getattr(module, name, None)
    if not callable(found):
        raise RequestError(f"--inputs: {quote(where)} has no function {quote(name)}")
    return found  # type: ignore[no-any-return]


def adopt_layouts(inputs: Inputs, plan: ApplyPlan, taken: Mapping[str, Taken]) -> None:
    """Lay inputs out as the plan does: as the root boundary declares, else as the first boundary that takes the very
    tensor. ``taken`` maps inputs to that boundary, its name for it, and the position of the argument."""
    root = plan.boundary("")
    for name, value in inputs.values.items():
        if name in inputs.layouts or not isinstance(value, Tensor):
            continue
        if root is not None and name in root.in_src:
            inputs.layouts[name] = root.in_src[name]
        elif name in taken and (boundary := plan.boundary(taken[name][0])) is not None:
            declared = boundary.in_src.get(taken[name][1])
            if declared is None and len(boundary.in_src) == 1 and taken[name][2] == 0:
                declared = next(iter(boundary.in_src.values()))  # one input of any name is the first argument (2.5)
            if declared is not None:
                inputs.layouts[name] = declared
    for name, value in inputs.values.items():
        if name not in inputs.layouts and isinstance(value, Tensor):
            inputs.layouts[name] = _followed(inputs, plan, name, value)


def _followed(inputs: Inputs, plan: ApplyPlan, name: str, value: Tensor) -> AxisLayout:
    """Layout of what no boundary takes directly: cp cuts its queries, in dim 1, or 2 of a mask."""
    if "cp" not in plan.axes or inputs.length is None:
        return {}
    dim = 2 if value.dim() == 4 else 1
    if value.dim() <= dim or value.shape[dim] != inputs.length:
        return {}
    return {"cp": shard(dim)}


def local_inputs(inputs: Inputs, meshes: Meshes) -> dict[str, Any]:
    """This rank's part of the inputs. Raises RequestError where an axis does not divide."""
    return {name: local_part(name, value, inputs, meshes) for name, value in inputs.values.items()}


def local_part(name: str, value: Any, inputs: Inputs, meshes: Meshes) -> Any:
    """This rank's part of one input."""
    if not isinstance(value, Tensor):
        return value
    value = data_part(value, inputs.batch, meshes)
    layout = inputs.layouts.get(name, {})
    for axis_name in (*meshes.axes,):
        placement = layout.get(axis_name)
        if placement is not None and placement.is_shard:
            dim = placement.dim or 0
            try:
                value = cut(value, dim % max(value.dim(), 1), meshes.axis(axis_name))
            except ValueError as error:
                raise RequestError(
                    f"the input {quote(name)} of shape {listing(value.shape, most=9)} cannot be cut: {error}",
                    "give --seq-len a multiple of the axes, or --inputs of other sizes",
                ) from None
    return value


def data_part(value: Tensor, batch: int, meshes: Meshes) -> Tensor:
    """The part of a tensor that belongs to this rank's part of the batch."""
    for axis in meshes.data_axes:
        if value.dim() and value.shape[0] == batch:
            value, batch = cut(value, 0, meshes.axis(axis)), batch // meshes.axis(axis).size
    return value
