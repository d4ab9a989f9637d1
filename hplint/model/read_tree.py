"""From an ``nn.Module`` to its module tree. Runs in the child process alone: it imports torch."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]

from hplint.model.failure import ModelError
from hplint.model.plan_owners import plan_owners
from hplint.model.tree import ForwardParameter, ModuleClass, ModuleTree, Node, Tensor

_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional_only",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional",
    inspect.Parameter.VAR_POSITIONAL: "var_positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_KEYWORD: "var_keyword",
}
_OWN_INTS = frozenset(vars(nn.Module)) | {"_version", "call_super_init"}
_LAYER_WORDS = ("idx", "index", "layer_id", "layer_number", "layer_num", "layer_no", "layer", "block_id", "depth")
_DEEPEST_CONFIG = 20


def read_tree(model: nn.Module, spec: str) -> ModuleTree:
    """Describe ``model``. Shared modules and tied parameters are found by identity; equal modules share one node.

    Only what lies in the instances' dictionaries and classes is looked at: no property of a module is called. Raises
    ModelError for a parameter that has no shape yet (lazily initialised).
    """
    return _Reader(model, spec).tree()


class _Reader:
    def __init__(self, model: nn.Module, spec: str) -> None:
        self.model = model
        self.spec = spec
        self.classes: dict[ModuleClass, int] = {}
        self.nodes: dict[tuple[Any, ...], int] = {}
        self.modules: dict[int, str] = {}
        """Identity -> first FQN, in the order of named_modules()."""
        self.live: dict[str, nn.Module] = {}
        """The same modules by that FQN."""
        self.aliases: dict[str, nn.Module] = {}
        self.class_of: dict[type, int] = {}
        self.class_ints: dict[type, dict[str, int]] = {}

    def tree(self) -> ModuleTree:
        root = self.number_nodes()
        return ModuleTree(
            classes=tuple(self.classes),
            nodes=tuple(_thaw(n) for n in self.nodes),
            root=root,
            aliases={path: self.modules[id(module)] for path, module in self.aliases.items()},
            ties=_ties(self.model, self.aliases),
            config=_config(self.model),
            spec=self.spec,
            owners=plan_owners(self.live.items()),
        )

    def number_nodes(self) -> int:
        """Number all nodes, children before parents, and return the root's. No recursion: depth is the user's."""
        children: dict[str, list[tuple[str, int]]] = {"": []}
        stack = [("", self.model, False)]
        root = 0
        while stack:
            fqn, module, leaving = stack.pop()
            owner, _, name = fqn.rpartition(".")
            if leaving:
                root = self.number(fqn, module, tuple(children.pop(fqn)))
                if fqn:
                    children[owner].append((name, root))
                continue
            if id(module) in self.modules:
                self.aliases[fqn] = module
                continue
            self.modules[id(module)] = fqn
            self.live[fqn] = module
            stack.append((fqn, module, True))
            children[fqn] = []
            below = [(f"{fqn}.{name}" if fqn else name, child, False) for name, child in _children(module)]
            stack.extend(reversed(below))
        return root

    def number(self, fqn: str, module: nn.Module, children: tuple[tuple[str, int], ...]) -> int:
        key = (
            self.class_number(module),
            tuple((k, _tensor(fqn, k, p)) for k, p in _named(module, "_parameters")),
            tuple((k, _tensor(fqn, k, b)) for k, b in _named(module, "_buffers")),
            tuple(self.ints(fqn, module)),
            children,
        )
        return self.nodes.setdefault(key, len(self.nodes))

    def class_number(self, module: nn.Module) -> int:
        cls = type(module)
        own_forward = "forward" in vars(module)
        if own_forward or cls not in self.class_of:
            mro = tuple(_dotted(c) for c in cls.__mro__[1:] if c is not object)
            described = ModuleClass(_dotted(cls), mro, _forward(module))
            number = self.classes.setdefault(described, len(self.classes))
            if own_forward:
                return number
            self.class_of[cls] = number
        return self.class_of[cls]

    def ints(self, fqn: str, module: nn.Module) -> Iterator[tuple[str, int | str]]:
        cls = type(module)
        if cls not in self.class_ints:
            found: dict[str, Any] = {}
            for base in reversed(cls.__mro__):
                found.update(vars(base))
            self.class_ints[cls] = dict(_plain_ints(found))
        numbers: list[str] | None = None
        for name, value in (self.class_ints[cls] | dict(_plain_ints(vars(module)))).items():
            if name.endswith(_LAYER_WORDS):
                numbers = [s for s in fqn.split(".") if s.isdecimal()] if numbers is None else numbers
                yield name, _as_layer_number(value, numbers)
            else:
                yield name, value


def _plain_ints(attributes: Mapping[str, Any]) -> Iterable[tuple[str, int]]:
    return (
        (name, value)
        for name, value in attributes.items()
        if type(value) is int and isinstance(name, str) and name not in _OWN_INTS and not name.startswith("__")
    )


def _as_layer_number(value: int, numbers: list[str]) -> int | str:
    """Layer numbers would make every layer a node of its own; they are stored as places in the FQN."""
    if str(value) in numbers:
        return f"@{numbers.index(str(value))}"
    if str(value - 1) in numbers:
        return f"@{numbers.index(str(value - 1))}+1"
    return value


def _children(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    return ((name, child) for name, child in _named(module, "_modules") if isinstance(child, nn.Module))


def _named(module: nn.Module, table: str) -> list[tuple[str, Any]]:
    """Entries of ``_modules``, ``_parameters`` or ``_buffers`` that are set. Scripted modules have other tables."""
    found = module.__dict__.get(table)
    if found is None:
        found = getattr(module, table, None)
    if not found:
        return []
    return [(str(name), value) for name, value in found.items() if value is not None]


def _thaw(key: tuple[Any, ...]) -> Node:
    cls, parameters, buffers, ints, children = key
    return Node(cls, dict(parameters), dict(buffers), dict(ints), children)


def _tensor(fqn: str, name: str, tensor: torch.Tensor) -> Tensor:
    try:
        shape = tuple(int(n) for n in tensor.shape)
    except Exception:
        if not isinstance(tensor, UninitializedTensorMixin):
            raise
        raise ModelError(
            f"`{fqn}.{name}` has no shape before a first forward: it is lazily initialised",
            "give the layer its sizes, or run one forward on meta tensors inside the factory",
        ) from None
    return Tensor(shape, str(tensor.dtype).removeprefix("torch."), bool(tensor.requires_grad))


def _dotted(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _forward(module: nn.Module) -> tuple[ForwardParameter, ...] | None:
    if getattr(type(module), "forward", None) is nn.Module.forward and "forward" not in vars(module):
        return None
    try:
        parameters = inspect.signature(module.forward).parameters.values()
        return tuple(
            ForwardParameter(p.name, _KINDS[p.kind], p.default is p.empty and not p.kind.name.startswith("VAR_"))
            for p in parameters
        )
    except Exception:
        # No signature (C++ or a broken decorator): anything may be passed.
        return (ForwardParameter("args", "var_positional", False), ForwardParameter("kwargs", "var_keyword", False))


def _ties(model: nn.Module, aliases: Mapping[str, nn.Module]) -> tuple[tuple[str, ...], ...]:
    """Names of parameters that are one tensor, those below the further names of shared modules included."""
    names: dict[int, list[str]] = {}
    stack: list[tuple[str, nn.Module, frozenset[int]]] = [("", model, frozenset())]
    while stack:
        prefix, module, above = stack.pop()
        for name, parameter in _named(module, "_parameters"):
            names.setdefault(id(parameter), []).append(prefix + name)
        if aliases:
            # Only shared modules can lead back to a module above.
            above = above | {id(module)}
        below = [(f"{prefix}{name}.", c, above) for name, c in _children(module) if id(c) not in above]
        stack.extend(reversed(below))
    return tuple(tuple(group) for group in names.values() if len(group) > 1)


def _config(model: nn.Module) -> dict[str, Any]:
    try:
        config = getattr(model, "config", None)
        to_dict = getattr(config, "to_dict", None)
        values = to_dict() if callable(to_dict) else vars(config) if hasattr(config, "__dict__") else config
    except Exception:
        # A config that cannot be read is a config that is not there.
        return {}
    return _plain(values) if isinstance(values, Mapping) else {}


def _plain(values: Mapping[Any, Any], depth: int = 0) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in values.items():
        if key == "_name_or_path":
            # A path of this machine: two builds of one model would differ.
            continue
        if isinstance(value, Mapping):
            if depth < _DEEPEST_CONFIG:
                kept[str(key)] = _plain(value, depth + 1)
        elif type(value) in (bool, int, float, str, type(None)):
            kept[str(key)] = value
        elif isinstance(value, list | tuple) and all(type(v) in (bool, int, float, str) for v in value):
            kept[str(key)] = list(value)
    return kept
