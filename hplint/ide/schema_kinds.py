"""Kinds of modules: what the contract fields of an entry may name depends on the modules that its match hits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hplint.derive.boundary import Boundary
from hplint.ide.schema_names import anchored, escaped, fold, regex
from hplint.ide.schema_values import Schema, contract, ref
from hplint.model.tree import Module, ModuleTree, Node, Tensor
from hplint.plan.layout import OUTPUT

MOST_PARAMETERS = 60
"""Folded parameter paths of a module that are named; what has more (a whole model, say) is nobody's boundary."""
_Facts = tuple[object, ...]


@dataclass(slots=True)
class Kind:
    """Modules alike in class, inputs, parameters and children, or those that one glob hits together.

    ``parameters`` maps relative paths (numbers folded) to tensors, None where the tensor is made while planning;
    ``names`` are the modules, ``globs`` the suggested globs that hit modules of this kind alone.
    """

    classes: tuple[str, ...] = ()
    parameters: dict[str, Tensor | None] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = (OUTPUT,)
    children: tuple[str, ...] = ()
    ints: tuple[str, ...] = ()
    names: list[str] = field(default_factory=list)
    globs: list[str] = field(default_factory=list)

    def condition(self) -> Schema:
        """Whether the match of an entry is about modules of this kind."""
        pattern = anchored(regex(shape) for shape in fold(self.names))
        exact: Schema = {"type": "string", "pattern": pattern}
        match = {"anyOf": [{"enum": self.globs}, exact]} if self.globs else exact
        return {"required": ["match"], "properties": {"match": match}}

    def fields(self) -> dict[str, Schema]:
        """The contract fields of an entry on such modules, and what else hangs on them."""
        known = {path: _parameter(tensor) for path, tensor in self.parameters.items() if "*" not in path}
        folded = {
            anchored([escaped(path).replace(r"\*", "[0-9]+")]): _parameter(tensor)
            for path, tensor in self.parameters.items()
            if "*" in path
        }
        inputs = contract({name: ref("layout") for name in self.inputs}, {})
        outputs = contract({name: ref("layout") for name in self.outputs}, {}, output=True)
        fields = {"params": contract(known, folded), "in_src": inputs, "in_dst": inputs}
        fields |= {"out_src": outputs, "out_dst": outputs}
        if self.children:
            fields["inner_target"] = {"anyOf": [{"enum": ["self", *self.children]}, {"type": ["string", "null"]}]}
        if self.ints:
            word = {"anyOf": [{"enum": list(self.ints)}, {"type": "string"}]}
            fields["tp_divide_attrs"] = {"anyOf": [{"type": "array", "items": word}, {"type": "null"}]}
        return fields


def kinds(tree: ModuleTree, boundaries: Mapping[str, Boundary]) -> dict[str, Kind]:
    """The kind of every module of a tree; modules of one kind share it."""
    found: dict[_Facts, Kind] = {}
    of: dict[str, Kind] = {}
    facts: dict[tuple[int, bool], _Facts] = {}
    paths: dict[int, dict[str, Tensor | None]] = {}
    for fqn, module in tree.modules.items():
        boundary = boundaries.get(fqn)
        key = (id(module.node), boundary is not None)
        if key not in facts:
            below = paths.setdefault(id(module.node), _parameters(tree, module.node))
            facts[key] = (module.cls, tuple(below), boundary is not None, tuple(n for n, _ in module.node.children))
        kind = found.get(facts[key])
        if kind is None:
            kind = found[facts[key]] = _kind(module, paths[id(module.node)], boundary)
        kind.names.append(fqn)
        of[fqn] = kind
    return of


def united(several: Iterable[Kind]) -> Kind:
    """What an entry may name that hits modules of several kinds."""
    parts = list(several)
    union = Kind(outputs=())
    for name in ("classes", "inputs", "outputs", "children", "ints"):
        setattr(union, name, tuple(dict.fromkeys(word for part in parts for word in getattr(part, name))))
    for part in parts:
        union.parameters |= part.parameters
    return union


def _kind(module: Module, below: dict[str, Tensor | None], boundary: Boundary | None) -> Kind:
    parameters = dict(below) if len(below) <= MOST_PARAMETERS else {}
    inputs = [p.name for p in module.forward or () if not p.kind.startswith("var_")]
    outputs = [OUTPUT]
    if boundary:
        parameters |= {path: None for path in (*boundary.ep_stack, *(boundary.params or {})) if path not in parameters}
        inputs += [name for name in (*(boundary.in_src or {}), *(boundary.in_dst or {})) if name not in inputs]
        outputs += [name for name in (*(boundary.out_src or {}), *(boundary.out_dst or {})) if name not in outputs]
        parameters = {
            path: tensor for path, tensor in parameters.items() if not any(s.isdecimal() for s in path.split("."))
        }
    children = tuple(name for name, _ in module.node.children if not name.isdecimal())
    ints = tuple(name for name in module.node.ints if not name.startswith("_"))
    return Kind((module.cls.short,) if module.cls else (), parameters, tuple(inputs), tuple(outputs), children, ints)


def _parameters(tree: ModuleTree, node: Node) -> dict[str, Tensor | None]:
    """Relative paths of the parameters of a module and of what lies below it, numbers folded into stars."""
    found: dict[str, Tensor | None] = {}
    seen: set[tuple[str, int]] = set()
    stack = [("", node)]
    while stack and len(found) <= MOST_PARAMETERS:
        prefix, here = stack.pop()
        found.update((prefix + name, tensor) for name, tensor in here.parameters.items())
        for child, number in reversed(here.children):
            below = (f"{prefix}{'*' if child.isdecimal() else child}.", number)
            if below not in seen:
                seen.add(below)
                stack.append((below[0], tree.nodes[number]))
    return found


def _parameter(tensor: Tensor | None) -> dict[str, Any]:
    if tensor is None:
        return ref("layout")
    dims = len(tensor.shape)
    told = f"[{', '.join(map(str, tensor.shape))}] {tensor.dtype}"
    return {**ref(f"layout{dims}" if 1 <= dims <= 3 else "layout"), "description": told}
