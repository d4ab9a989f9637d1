"""What a plan communicates at its boundaries, as far as shapes can be told without a run."""

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from hplint.derive.boundary import Boundary
from hplint.model.tree import ModuleTree
from hplint.plan.layout import Layout, Layouts
from hplint.plan.placement import Placement
from hplint.resolve.layouts import complete
from hplint.resolve.memory import item_size
from hplint.resolve.topology import Topology


class Move(NamedTuple):
    """One tensor that changes its layout on one axis when a boundary is entered or left.

    ``side`` is in or out, ``name`` the input or output. ``forward`` and ``backward`` are collectives: all-gather,
    all-reduce, reduce-scatter, all-to-all, or "" where nothing is sent that way. ``bytes`` is the size of the message
    as communication benchmarks count it (the gathered result, the whole input of a reduce-scatter, the tensor itself
    otherwise), for one call on one rank; None where the tensor's shape cannot be told.
    """

    boundary: str
    side: str
    name: str
    axis: str
    forward: str
    backward: str
    bytes: int | None


class Batch(NamedTuple):
    """Sequences of one data-parallel rank, and tokens of one sequence before any axis cuts it."""

    size: int = 1
    length: int = 1


_FORWARD = {
    ("shard", "replicate"): "all-gather",
    ("shard", "shard"): "all-to-all",
    ("partial", "replicate"): "all-reduce",
    ("partial", "shard"): "reduce-scatter",
}


def moves(boundary: Boundary, tree: ModuleTree, topology: Topology, batch: Batch) -> Iterator[Move]:
    """All that one boundary sends, inputs first. Backward moves are those of the gradients (facts 2.10)."""
    for side, source, destination in (
        ("in", boundary.in_src, boundary.in_dst),
        ("out", boundary.out_src, boundary.out_dst),
    ):
        if side == "out" and (source is None or destination is None):
            continue
        for name in dict.fromkeys((*(source or {}), *(destination or {}))):
            yield from _moves(boundary, side, name, source or {}, destination or {}, tree, topology, batch)


def _moves(
    boundary: Boundary, side: str, name: str, source: Layouts, destination: Layouts, tree: ModuleTree,
    topology: Topology, batch: Batch,
) -> Iterator[Move]:  # fmt: skip
    axes = topology.active_axes
    before = complete(source.get(name, Layout({})), axes)
    after = complete(destination.get(name, Layout({})), axes)
    whole = _bytes(boundary, side, tree, batch)
    shares = boundary_shares(boundary, topology)
    held = dict(before)
    for axis in axes:
        here, there = held[axis], after[axis]
        if here is None or there is None:
            continue
        forward = _FORWARD.get((here.kind, there.kind), "") if here != there else ""
        # Token ids have no gradient.
        backward = "" if boundary.kind == "embed" and side == "in" else _backward(here, there, side, axis in shares)
        if forward or backward:
            others = prod(_cut(held, a, topology) for a in axes if a != axis)
            yield Move(boundary.fqn, side, name, axis, forward, backward, None if whole is None else whole // others)
        held[axis] = there


def boundary_shares(boundary: Boundary, topology: Topology) -> frozenset[str]:
    """Axes on which what each rank computes in the region is a share of the whole: gradients of what it holds whole
    must then be added up."""
    if boundary.ep_size is not None:
        return frozenset(topology.active_axes)  # experts take tokens from all ranks
    layouts = [*(boundary.out_src or {}).values(), *(boundary.params or {}).values(), *(boundary.in_dst or {}).values()]
    return frozenset(
        axis
        for axis in topology.active_axes
        for layout in layouts
        if (p := layout.placements.get(axis)) is not None and p.kind != "replicate"
    )


def _backward(source: Placement, destination: Placement, side: str, shares: bool) -> str:
    match source.kind, destination.kind:
        case "shard", "replicate" if side == "in" and shares:
            return "reduce-scatter"
        case "replicate", "replicate" if side == "in" and shares:
            return "all-reduce"
        case "replicate" | "partial", "shard":
            return "all-gather"
        case "shard", "shard" if source != destination:
            return "all-to-all"
    return ""


def _cut(layouts: dict[str, Placement | None], axis: str, topology: Topology) -> int:
    placement = layouts[axis]
    return (topology.size(axis) or 1) if placement is not None and placement.is_shard else 1


def _bytes(boundary: Boundary, side: str, tree: ModuleTree, batch: Batch) -> int | None:
    """Bytes of the whole activation: tokens times the width that a boundary of its kind carries."""
    tokens = batch.size * batch.length
    hidden = _number(tree, "hidden_size")
    if boundary.kind == "embed" and side == "in":
        return tokens * item_size("int64")
    if boundary.kind == "lm_head" and side == "out":
        hidden = _number(tree, "vocab_size")
    if boundary.kind is None or hidden is None:
        return None
    return tokens * hidden * _activation_item(tree)


def _number(tree: ModuleTree, key: str) -> int | None:
    """A size of the model's configuration, or of the text part of a model of several."""
    for table in (tree.config, tree.config.get("text_config") or {}):
        value = table.get(key) if isinstance(table, dict) else None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _activation_item(tree: ModuleTree) -> int:
    """Activations have the dtype that most parameters have."""
    sizes: dict[str, int] = {}
    for node in tree.nodes:
        for tensor in node.parameters.values():
            sizes[tensor.dtype] = sizes.get(tensor.dtype, 0) + prod(tensor.shape)
    return item_size(max(sizes, key=lambda d: sizes[d])) if sizes else item_size("float32")
