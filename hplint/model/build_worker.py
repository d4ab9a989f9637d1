"""The child process that builds a model on the meta device and prints its module tree as JSON.

The only module here that imports torch. It is started by ``build.py`` as ``python -m hplint.model.build_worker``.
"""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from hplint.model.tree import ForwardParameter, ModuleClass, ModuleTree, Node, Tensor

_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional_only",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional",
    inspect.Parameter.VAR_POSITIONAL: "var_positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_KEYWORD: "var_keyword",
}
_OWN_INTS = frozenset(vars(nn.Module)) | {"_version", "call_super_init"}


def read_tree(model: nn.Module, spec: str) -> ModuleTree:
    """Describe ``model``. Shared modules and tied parameters are found by identity; equal modules share one node."""
    return _Reader(model, spec).tree()


class _Reader:
    def __init__(self, model: nn.Module, spec: str) -> None:
        self.model = model
        self.spec = spec
        self.classes: dict[ModuleClass, int] = {}
        self.nodes: dict[tuple[Any, ...], int] = {}
        self.seen: dict[int, str] = {}
        self.aliases: dict[str, str] = {}

    def tree(self) -> ModuleTree:
        root = self.node("", self.model)
        return ModuleTree(
            classes=tuple(self.classes),
            nodes=tuple(_thaw(n) for n in self.nodes),
            root=root,
            aliases=self.aliases,
            ties=_ties(self.model),
            config=_config(self.model),
            spec=self.spec,
        )

    def node(self, fqn: str, module: nn.Module) -> int:
        self.seen[id(module)] = fqn
        children = []
        for name, child in _children(module):
            path = f"{fqn}.{name}" if fqn else name
            if id(child) in self.seen:
                self.aliases[path] = self.seen[id(child)]
            else:
                children.append((name, self.node(path, child)))
        key = (
            self.classes.setdefault(_class(module), len(self.classes)),
            tuple((k, _tensor(p)) for k, p in module._parameters.items() if p is not None),
            tuple((k, _tensor(b)) for k, b in module._buffers.items() if b is not None),
            tuple(_ints(fqn, module)),
            tuple(children),
        )
        return self.nodes.setdefault(key, len(self.nodes))


def _children(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    return ((name, child) for name, child in module._modules.items() if child is not None)


def _thaw(key: tuple[Any, ...]) -> Node:
    cls, parameters, buffers, ints, children = key
    return Node(cls, dict(parameters), dict(buffers), dict(ints), children)


def _tensor(tensor: torch.Tensor) -> Tensor:
    return Tensor(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), tensor.requires_grad)


def _ints(fqn: str, module: nn.Module) -> Iterator[tuple[str, int | str]]:
    found: dict[str, Any] = {}
    for cls in reversed(type(module).__mro__):
        found.update(vars(cls))
    found.update(vars(module))
    numbers = [s for s in fqn.split(".") if s.isdigit()]
    for name, value in found.items():
        if type(value) is int and name not in _OWN_INTS and not name.startswith("__"):
            # Layer numbers would make every layer a node of its own.
            if name.endswith(("idx", "index", "layer_id", "layer_number")) and str(value) in numbers:
                yield name, f"@{numbers.index(str(value))}"
            else:
                yield name, value


def _class(module: nn.Module) -> ModuleClass:
    cls = type(module)
    mro = tuple(_dotted(c) for c in cls.__mro__[1:] if c is not object)
    return ModuleClass(_dotted(cls), mro, _forward(module))


def _dotted(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _forward(module: nn.Module) -> tuple[ForwardParameter, ...] | None:
    if getattr(type(module), "forward", None) is nn.Module.forward and "forward" not in vars(module):
        return None
    try:
        signature = inspect.signature(module.forward)
    except (TypeError, ValueError):
        return None
    return tuple(
        ForwardParameter(
            p.name,
            _KINDS[p.kind],
            p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD),
        )
        for p in signature.parameters.values()
    )


def _ties(model: nn.Module) -> tuple[tuple[str, ...], ...]:
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return tuple(tuple(group) for group in names.values() if len(group) > 1)


def _config(model: nn.Module) -> dict[str, Any]:
    config = getattr(model, "config", None)
    to_dict = getattr(config, "to_dict", None)
    values = to_dict() if callable(to_dict) else vars(config) if hasattr(config, "__dict__") else config
    return _plain(values) if isinstance(values, Mapping) else {}


def _plain(values: Mapping[Any, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            kept[str(key)] = _plain(value)
        elif value is None or isinstance(value, bool | int | float | str):
            kept[str(key)] = value
        elif isinstance(value, list | tuple) and all(isinstance(v, bool | int | float | str) for v in value):
            kept[str(key)] = list(value)
    return kept
