"""A module tree in few lines: equal neighbours folded, with classes, shapes and counts."""

from collections.abc import Iterator
from typing import NamedTuple

from hplint.model.tree import ModuleTree, Node, Tensor


class Row(NamedTuple):
    """One line of an outline.

    ``kind`` is module, parameter or buffer. ``name`` is the name below the parent row (``3-60`` for folded layers).
    ``detail`` is the short class name, or shape and dtype. ``copies`` is the number of modules that the row stands for,
    ``elements`` the number of parameter elements below all of them (shared tensors counted under each name).
    """

    depth: int
    kind: str
    name: str
    detail: str
    copies: int
    elements: int


class Totals(NamedTuple):
    """Counts of a whole model, tied and shared tensors once. ``trainable`` and ``elements`` count elements."""

    modules: int
    parameters: int
    elements: int
    trainable: int


def outline(tree: ModuleTree, depth: int | None = None) -> list[Row]:
    """Rows from the root down, at most ``depth`` levels below it. Siblings with consecutive numbers and equal contents
    make one row."""
    elements = _elements(tree)
    rows: list[Row] = []
    stack = [("", tree.root, 0, 1)]
    while stack:
        name, number, level, copies = stack.pop()
        node = tree.nodes[number]
        cls = tree.classes[node.cls].short if node.cls >= 0 else ""
        # The root counts tied tensors once, as the model's size is told elsewhere.
        count = elements[number] * copies if level else totals(tree).elements
        rows.append(Row(level, "module", name, cls, copies, count))
        if depth is not None and level >= depth:
            continue
        for kind, tensors in (("parameter", node.parameters), ("buffer", node.buffers)):
            rows.extend(Row(level + 1, kind, k, _shape(t), copies, _size(t) * copies) for k, t in tensors.items())
        below = [(label, child, level + 1, times) for label, child, times in _folded(node)]
        stack.extend(reversed(below))
    return rows


def totals(tree: ModuleTree) -> Totals:
    """Counts of the whole model; every name of a tied group but the first is left out."""
    again = {name for group in tree.ties for name in group[1:]}
    tensors = [t for name, t in tree.parameters.items() if name not in again]
    trainable = sum(_size(t) for t in tensors if t.requires_grad)
    return Totals(len(tree.modules), len(tensors), sum(map(_size, tensors)), trainable)


def lines(tree: ModuleTree, depth: int | None = None) -> Iterator[str]:
    """The outline as text, shared modules, ties and totals at the end."""
    for row in outline(tree, depth):
        indent = "  " * row.depth
        if row.kind == "module":
            count = f"  {short_count(row.elements)}" if row.elements else ""
            times = f" x{row.copies}" if row.copies > 1 else ""
            label = f"{row.name}: {row.detail}" if row.name and row.detail else row.name or row.detail or "(model)"
            yield f"{indent}{label}{times}{count}"
        else:
            yield f"{indent}{row.name} {row.detail}{' buffer' if row.kind == 'buffer' else ''}"
    for alias, fqn in tree.aliases.items():
        yield f"{alias} is {fqn or 'the model itself'}"
    for group in tree.ties:
        yield " = ".join(group)
    sums = totals(tree)
    fixed = f", {short_count(sums.trainable)} trainable" if sums.trainable != sums.elements else ""
    yield f"{sums.modules:,} modules, {sums.parameters:,} parameters, {short_count(sums.elements)} elements{fixed}"


def short_count(count: int) -> str:
    """671.03 B, 7.24 B, 12.5 M, 960."""
    for size, unit in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:,.2f}".rstrip("0").rstrip(".") + f" {unit}"
    return str(count)


def _folded(node: Node) -> Iterator[tuple[str, int, int]]:
    """Children as (label, node number, copies): runs of consecutive numbers with one node become ``3-60``."""
    children = node.children
    start = 0
    while start < len(children):
        end = start
        while end + 1 < len(children) and _follows(children[end], children[end + 1]):
            end += 1
        first, number = children[start]
        yield (first if end == start else f"{first}-{children[end][0]}"), number, end - start + 1
        start = end + 1


def _follows(one: tuple[str, int], other: tuple[str, int]) -> bool:
    if one[1] != other[1] or not (one[0].isdecimal() and other[0].isdecimal()):
        return False
    return int(other[0]) == int(one[0]) + 1


def _elements(tree: ModuleTree) -> list[int]:
    found: list[int] = []
    for node in tree.nodes:
        found.append(sum(map(_size, node.parameters.values())) + sum(found[child] for _, child in node.children))
    return found


def _size(tensor: Tensor) -> int:
    size = 1
    for n in tensor.shape:
        size *= n
    return size


def _shape(tensor: Tensor) -> str:
    return f"[{', '.join(map(str, tensor.shape))}] {tensor.dtype}"
