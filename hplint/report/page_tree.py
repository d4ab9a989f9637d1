"""The module tree as the page of ``hplint report`` gets it: modules alike down to the last layout stand once."""

from collections.abc import Mapping, Sequence
from typing import Any

from hplint.model.tree import ModuleTree, Node
from hplint.resolve.memory import Memory, ParameterMemory

Told = Mapping[str, Sequence[int]]
"""FQN -> numbers of the findings that are told of this module."""


def page_tree(tree: ModuleTree, contracts: Mapping[str, int], memory: Memory | None, told: Told) -> dict[str, Any]:
    """``nodes`` are [class, children, parameters, contract, findings], children before parents, and ``root`` the last.

    A class is its number in ``classes`` (-1: unknown), children are [name, node], parameters [name, shape, dtype,
    bytes of the whole tensor, bytes on a rank, cuts] without the last three for further names of a tied tensor, a
    contract is its number in ``contracts`` (-1: no boundary). What a browser gets grows with what differs, not with
    the model.
    """
    sizes = {p.name: p for p in memory.parameters} if memory else {}
    numbers: dict[tuple[Any, ...], int] = {}
    nodes: list[list[Any]] = []
    made: dict[str, int] = {}
    for fqn, module in reversed(tree.modules.items()):
        node, prefix = module.node, f"{fqn}." if fqn else ""
        children = tuple((name, made.pop(prefix + name)) for name, _ in node.children)
        held = tuple(_bytes(sizes.get(prefix + name)) for name in node.parameters)
        contract, findings = contracts.get(fqn, -1), tuple(told.get(fqn, ()))
        key = (id(node), children, held, contract, findings)
        number = numbers.get(key)
        if number is None:
            number = numbers[key] = len(nodes)
            nodes.append([node.cls, [list(c) for c in children], _parameters(node, held), contract, list(findings)])
        made[fqn] = number
    return {"classes": [cls.name for cls in tree.classes], "root": made[""], "nodes": nodes}


def _bytes(found: ParameterMemory | None) -> tuple[Any, ...]:
    return (found.whole, found.local, found.cuts) if found else ()


def _parameters(node: Node, held: tuple[tuple[Any, ...], ...]) -> list[list[Any]]:
    return [
        [name, list(t.shape), t.dtype, *more] for (name, t), more in zip(node.parameters.items(), held, strict=True)
    ]
