"""The module tree: all that the linter knows of a model."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

FORMAT = "hplint-tree"
VERSION = 1
MOST_MODULES = 10_000_000


class Tensor(NamedTuple):
    """A parameter or buffer: shape in elements, dtype as torch spells it without ``torch.`` (``bfloat16``)."""

    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool = False


class ForwardParameter(NamedTuple):
    """One parameter of a forward, ``self`` left out. ``kind`` is positional_only, positional (or keyword), keyword
    (only), var_positional or var_keyword."""

    name: str
    kind: str
    required: bool


class ModuleClass(NamedTuple):
    """A module class: ``name`` and ``bases`` (its whole method resolution order without itself) are dotted paths;
    ``forward`` is None where the class has none of its own (containers)."""

    name: str
    bases: tuple[str, ...]
    forward: tuple[ForwardParameter, ...] | None

    @property
    def short(self) -> str:
        """The class name alone."""
        return self.name.rpartition(".")[2]

    def is_a(self, dotted: str) -> bool:
        """Whether it is that class or derives from it."""
        return dotted == self.name or dotted in self.bases


class Node(NamedTuple):
    """The contents of one module. Equal layers share one node."""

    cls: int
    """Index into the tree's classes; -1 where the class is unknown (a tree read from a checkpoint)."""
    parameters: Mapping[str, Tensor]
    buffers: Mapping[str, Tensor]
    ints: Mapping[str, Any]
    """Plain int attributes (bools left out). "@0" means: the first number in the module's own FQN (a layer index),
    "@1" the second, "@0+1" one more than the first (layers counted from 1)."""
    children: tuple[tuple[str, int], ...]


class Module(NamedTuple):
    """One module of the tree under its FQN."""

    fqn: str
    node: Node
    cls: ModuleClass | None

    @property
    def forward(self) -> tuple[ForwardParameter, ...] | None:
        return self.cls.forward if self.cls else None

    @property
    def parameters(self) -> Mapping[str, Tensor]:
        """Its own parameters, by name."""
        return self.node.parameters

    @property
    def ints(self) -> dict[str, int]:
        """Its plain int attributes, by name."""
        ints = self.node.ints
        if not any(isinstance(v, str) for v in ints.values()):
            return dict(ints)
        numbers = [int(s) for s in self.fqn.split(".") if s.isdecimal()]
        return {k: _layer_number(v, numbers) if isinstance(v, str) else v for k, v in ints.items()}


class PlanOwner(NamedTuple):
    """A model of the transformers library inside the tree (the root, its base model, a vision tower), with the plans
    that it ships.

    ``classes`` and ``configs`` are the short names of its class and of its config's class with their bases, the class
    itself first. ``is_base``: it is a base model, which takes the plans of its config. ``embeds``: it has an
    nn.Embedding ``embed_tokens``. ``own`` (of the class) and ``base`` (of the config) map tp, ep, pp to plans.
    """

    fqn: str
    classes: tuple[str, ...]
    configs: tuple[str, ...]
    model_type: str
    is_base: bool
    embeds: bool
    own: Mapping[str, Mapping[str, Any]]
    base: Mapping[str, Mapping[str, Any]]


class ModuleTree:
    """Modules, classes, parameters, signatures and configuration of one model.

    ``modules`` maps every FQN that ``named_modules()`` would give to its module, in that order, the root ``""`` first.
    ``aliases`` maps the further names of shared modules to the FQN under which ``modules`` has them. ``ties`` are
    groups of full parameter names that are one tensor, the first-seen name first. ``config`` holds the plain values
    of the model's config (nested mappings kept), empty for models without one. In ``nodes`` children come before
    their parents. ``owners`` are the models of the transformers library in it, in module order.
    """

    def __init__(
        self,
        *,
        classes: tuple[ModuleClass, ...],
        nodes: tuple[Node, ...],
        root: int,
        aliases: Mapping[str, str],
        ties: tuple[tuple[str, ...], ...],
        config: Mapping[str, Any],
        spec: str = "",
        owners: tuple[PlanOwner, ...] = (),
    ) -> None:
        self.classes = classes
        self.nodes = nodes
        self.root = root
        self.aliases = aliases
        self.ties = ties
        self.config = config
        self.spec = spec
        self.owners = owners

    @cached_property
    def modules(self) -> dict[str, Module]:
        # An explicit stack: trees read from files may be deeper than Python's recursion limit. Written for speed:
        # this is most of what a warm check pays for a large model.
        found: dict[str, Module] = {}
        classes = (*self.classes, None)  # so that -1 gives None
        below = [tuple((f".{name}", child) for name, child in n.children[::-1]) for n in self.nodes]
        parts = [(n, classes[n.cls], children) for n, children in zip(self.nodes, below, strict=True)]
        module, make = Module, tuple.__new__
        stack: list[tuple[str, int]] = [(name, child) for name, child in self.nodes[self.root].children[::-1]]
        found[""] = module("", *parts[self.root][:2])
        while stack:
            fqn, number = stack.pop()
            node, cls, children = parts[number]
            found[fqn] = make(module, (fqn, node, cls))
            for name, child in children:
                stack.append((fqn + name, child))
        return found

    @cached_property
    def parameters(self) -> dict[str, Tensor]:
        """Full parameter name -> tensor, every name of a tied parameter included, modules in order."""
        return {
            (f"{m.fqn}.{name}" if m.fqn else name): tensor
            for m in self.modules.values()
            for name, tensor in m.node.parameters.items()
        }

    @property
    def has_classes(self) -> bool:
        """False for trees read from a checkpoint: no classes, no forward signatures, no attributes."""
        return bool(self.classes)

    @property
    def class_name(self) -> str:
        """Short class name of the root module ("" when unknown)."""
        cls = self.nodes[self.root].cls
        return self.classes[cls].short if cls >= 0 else ""

    def children(self, fqn: str) -> tuple[str, ...]:
        """Names of the direct children of a module, aliases included."""
        prefix = f"{fqn}." if fqn else ""
        named = [name for name, _ in self.modules[fqn].node.children]
        further = (a[len(prefix) :] for a in self.aliases if a.startswith(prefix))
        return (*named, *(a for a in further if "." not in a))

    def to_json(self) -> dict[str, Any]:
        """The tree as plain JSON values (``hplint model build`` and the cache write this)."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "spec": self.spec,
            "config": dict(self.config),
            "classes": [[c.name, list(c.bases), c.forward and [list(p) for p in c.forward]] for c in self.classes],
            "nodes": [
                {
                    "class": n.cls,
                    "parameters": {k: [list(t.shape), t.dtype, t.requires_grad] for k, t in n.parameters.items()},
                    "buffers": {k: [list(t.shape), t.dtype] for k, t in n.buffers.items()},
                    "ints": dict(n.ints),
                    "children": [list(c) for c in n.children],
                }
                for n in self.nodes
            ],
            "root": self.root,
            "aliases": dict(self.aliases),
            "ties": [list(t) for t in self.ties],
            "owners": [list(o) for o in self.owners],
        }

    @classmethod
    def from_json(cls, data: Any) -> "ModuleTree":
        """Rebuild a tree. Raises ValueError with a plain reason for anything that :meth:`to_json` did not write."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError("not a module tree written by hplint")
        if data.get("version") != VERSION:
            raise ValueError(f"a module tree of version {data.get('version')!r}; this hplint reads version {VERSION}")
        try:
            tree = cls(
                classes=tuple(
                    ModuleClass(n, tuple(b), None if f is None else tuple(ForwardParameter(*p) for p in f))
                    for n, b, f in data["classes"]
                ),
                nodes=tuple(_node(n) for n in data["nodes"]),
                root=data["root"],
                aliases=data["aliases"],
                ties=tuple(tuple(t) for t in data["ties"]),
                config=data["config"],
                spec=data["spec"],
                owners=tuple(_owner(*o) for o in data.get("owners", ())),
            )
            tree._validate()
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise ValueError(f"a damaged module tree ({type(error).__name__}: {error})") from None
        return tree

    def _validate(self) -> None:
        """Refuse what would make a walk endless or fail later: children that do not come first, bad indexes."""
        sizes: list[int] = []
        for number, node in enumerate(self.nodes):
            if not -1 <= node.cls < len(self.classes):
                raise IndexError(f"node {number} names class {node.cls}")
            size = 1
            for name, child in node.children:
                if not 0 <= child < number or not isinstance(name, str):
                    raise IndexError(f"node {number} names child {child}")
                size += sizes[child]
            if size > MOST_MODULES:
                raise ValueError(f"more than {MOST_MODULES:,} modules")
            sizes.append(size)
        if not 0 <= self.root < len(self.nodes):
            raise IndexError(f"no node {self.root}")
        if not all(isinstance(m, dict) for m in (self.aliases, self.config)) or not isinstance(self.spec, str):
            raise TypeError("aliases, config and spec")


def _owner(fqn: str, classes: Any, configs: Any, kind: str, is_base: bool, embeds: bool, *plans: Any) -> PlanOwner:
    own, base = ({s: dict(plan) for s, plan in sections.items()} for sections in plans)
    return PlanOwner(fqn, tuple(classes), tuple(configs), kind, is_base, embeds, own, base)


def _layer_number(text: str, numbers: list[int]) -> int:
    """The value of "@0" or "@0+1"; -1 in a tree that was put together by hand and has no such number."""
    place, _, more = text[1:].partition("+")
    return numbers[int(place)] + int(more or 0) if int(place) < len(numbers) else -1


def _node(data: Mapping[str, Any]) -> Node:
    return Node(
        data["class"],
        {k: Tensor(tuple(s), d, r) for k, (s, d, r) in data["parameters"].items()},
        {k: Tensor(tuple(s), d) for k, (s, d) in data["buffers"].items()},
        data["ints"],
        tuple((name, n) for name, n in data["children"]),
    )
