"""Equal layers of a model without values: one runs for all.

Without values a layer does the same as another one of its class, with the same sizes, plain attributes and boundaries,
that gets inputs of the same shapes. It is not run then: tensors of the known shapes take the place of its outputs and,
on the way back, of its gradients.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.utils import _pytree as pytree

from hplint.apply.plan import ApplyPlan

Forward = Callable[..., Any]
_PLAIN = (int, float, str, bool, type(None), tuple, list, frozenset, torch.dtype)


@dataclass(slots=True)
class EqualLayers:
    """``groups`` are layers (FQNs) that are equal. ``stood_for`` maps each one that was not run to the one that was;
    ``again`` are those that a forward called more than once, or with DTensors, for which nothing can stand in."""

    groups: tuple[tuple[str, ...], ...] = ()
    stood_for: dict[str, str] = field(default_factory=dict)
    again: set[str] = field(default_factory=set)

    @contextmanager
    def run_once(self, model: nn.Module) -> Iterator[None]:
        """While it is entered, one layer runs for all equal ones."""
        self.stood_for.clear()
        self.again.clear()
        changed: list[tuple[nn.Module, Any]] = []
        for group in self.groups:
            runs: list[_Run] = []
            for name in group:
                module = model.get_submodule(name)
                changed.append((module, vars(module).get("forward")))
                module.forward = _Once(name, module.forward, runs, self)
        try:
            yield
        finally:
            for module, forward in changed:
                if forward is None:
                    del module.forward
                else:
                    module.forward = forward


def equal_layers(model: nn.Module, plan: ApplyPlan) -> EqualLayers:
    """The layers of the outermost lists of modules that are equal, before the plan is applied."""
    groups: list[tuple[str, ...]] = []
    known = {b.fqn for b in plan.boundaries}
    last = next((n for n in reversed([n for n, _ in model.named_modules()]) if n in known), "")
    above = ""
    for fqn, module in model.named_modules():
        if not isinstance(module, nn.ModuleList | nn.Sequential) or (above and fqn.startswith(above)):
            continue
        above = f"{fqn}."
        members: list[list[_Layer]] = []
        for number, child in module.named_children():
            name = f"{fqn}.{number}" if fqn else number
            if last == name or last.startswith(f"{name}."):
                continue  # what comes out of the last boundary may stay a DTensor
            layer = _Layer(name, int(number) if number.isdecimal() else -1, child, plan)
            same = next((m for m in members if m[0].equals(layer)), None)
            if same is None:
                members.append([layer])
            else:
                same.append(layer)
        groups += [tuple(layer.name for layer in m) for m in members if len(m) > 1]
    return EqualLayers(tuple(groups))


class _Layer:
    """What makes a layer do what it does, as far as values do not count."""

    def __init__(self, name: str, number: int, module: nn.Module, plan: ApplyPlan) -> None:
        self.name, self.number = name, number
        self.modules = list(module.named_modules())
        self.tensors = [
            (n, tuple(t.shape), t.dtype, t.requires_grad)
            for n, t in (*module.named_parameters(remove_duplicate=False), *module.named_buffers())
        ]
        inside = f"{name}."
        self.boundaries = {
            b.fqn[len(name) :]: replace(b, fqn="", place="")
            for b in plan.boundaries
            if b.fqn == name or b.fqn.startswith(inside)
        }
        self.special = {n[len(name) :]: h for n, h in plan.special.items() if n.startswith(inside)}
        self.is_tied = any(n.startswith(inside) for pair in plan.tied for n in pair)

    def equals(self, other: "_Layer") -> bool:
        return (
            not (self.is_tied or other.is_tied)
            and self.tensors == other.tensors
            and self.boundaries == other.boundaries
            and self.special == other.special
            and len(self.modules) == len(other.modules)
            and all(
                n == m and type(a) is type(b) and self._alike(a, b, other)
                for (n, a), (m, b) in zip(self.modules, other.modules, strict=True)
            )
        )

    def _alike(self, one: nn.Module, two: nn.Module, other: "_Layer") -> bool:
        mine, its = _attributes(one), _attributes(two)
        return mine.keys() == its.keys() and all(
            value == its[key] or (type(value) is int and (value, its[key]) == (self.number, other.number))
            for key, value in mine.items()
        )


def _attributes(module: nn.Module) -> dict[str, Any]:
    return {k: v for k, v in vars(module).items() if not k.startswith("_") and isinstance(v, (*_PLAIN, FunctionType))}


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a layer: what it got and what it gave, tensors as their shapes."""

    name: str
    taken: tuple[Any, ...]
    given: tuple[Any, ...]
    outputs: Any


class _Once:
    def __init__(self, name: str, forward: Forward, runs: list[_Run], layers: EqualLayers) -> None:
        self.name, self.forward, self.runs, self.layers = name, forward, runs, layers
        self.called = False
        self.__wrapped__ = forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.called:
            self.layers.again.add(self.name)
        self.called = True
        leaves, tree = pytree.tree_flatten((args, kwargs))
        if any(isinstance(v, DTensor) for v in leaves):
            self.layers.again.add(self.name)
            return self.forward(*args, **kwargs)
        taken = (tree, *map(_shape, leaves))
        run = next((r for r in self.runs if r.taken == taken), None)
        if run is None:
            result = self.forward(*args, **kwargs)
            outputs, tree = pytree.tree_flatten(result)
            if any(isinstance(v, DTensor) for v in outputs):
                self.layers.again.add(self.name)
                return result
            self.runs.append(_Run(self.name, taken, tuple(map(_shape, outputs)), tree))
            return result
        self.layers.stood_for[self.name] = run.name
        tensors = [v for v in leaves if isinstance(v, Tensor)]
        shapes = [s for s in run.given if isinstance(s, _Shape)]
        made = iter(stand_in(shapes, tensors))
        return pytree.tree_unflatten([next(made) if isinstance(s, _Shape) else s for s in run.given], run.outputs)


@dataclass(frozen=True, slots=True)
class _Shape:
    size: torch.Size
    dtype: torch.dtype
    device: torch.device
    requires_grad: bool

    def empty(self) -> Tensor:
        return torch.empty(self.size, dtype=self.dtype, device=self.device)


def _shape(value: Any) -> Any:
    return _Shape(value.shape, value.dtype, value.device, value.requires_grad) if isinstance(value, Tensor) else value


def shapes_of(tensors: list[Tensor], requires_grad: bool) -> list[_Shape]:
    """What :func:`stand_in` makes in their place."""
    return [replace(_shape(t), requires_grad=requires_grad and t.is_floating_point()) for t in tensors]


def stand_in(shapes: list[_Shape], tensors: list[Tensor]) -> list[Tensor]:
    """Tensors of these shapes that count, for autograd, as made from ``tensors``, all of which get a gradient."""
    result: tuple[Tensor, ...] = _StandIn.apply(shapes, *tensors)  # type: ignore[no-untyped-call]
    return list(result)


class _StandIn(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, shapes: list[_Shape], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.shapes = [_shape(t) for t in tensors]
        made = tuple(s.empty() for s in shapes)
        ctx.mark_non_differentiable(*(t for t, s in zip(made, shapes, strict=True) if not s.requires_grad))
        return made

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return None, *(s.empty() if s.requires_grad else None for s in ctx.shapes)
