"""The first module whose output differs under a plan of styles: what each rank holds of it is told from its shape.

A whole output has to be equal; a slice has to be the rank's own part. An output that adds up over the ranks, or that is
cut in strides, is right where what is made of it is right.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

from hplint.apply.mesh.meshes import Meshes
from hplint.apply.verify.compare import compare
from hplint.apply.verify.probe import Probe
from hplint.apply.verify.verify import Verification

SAME, PARTS, STRIDES, OTHER = "same", "parts", "strides", "other"
"""How an output compares: equal, adding up over the ranks, equal to a strided part, or none of them."""


def first_that_differs(
    result: Verification,
    reference: nn.Module,
    model: nn.Module,
    values: Mapping[str, Any],
    meshes: Meshes,
    words: Mapping[str, str],
) -> str | None:
    """FQN of the first module in forward order whose output differs; where all outputs agree, of the module that holds
    the wrong gradient nearest to the output. None where no module can be blamed. ``words`` are the rules by name. Every
    rank has to call it."""
    without = all(c.agrees for c in result.outputs if not c.name.endswith("gradients"))
    order, states = _states(reference, model, values, meshes, grad=not without)
    if not all(c.agrees for c in result.outputs):
        # Where every module is right, what leaves the model is a part of what should: the last one gave it.
        return _with_rule(blamed(order, states), reference, words) or next(reversed(order), None)
    ranks = {fqn: i for i, fqn in enumerate(order)}
    wrong = [c.name.rpartition(".")[0] for c in result.gradients if not c.agrees]
    return max((o for o in wrong if o in ranks), key=lambda o: ranks[o], default=None)


def _with_rule(fqn: str | None, model: nn.Module, words: Mapping[str, str]) -> str | None:
    """The module itself, or the one right around where that alone has a rule: an activation between two weights of
    experts cannot be wrong by itself."""
    if not fqn or fqn in words or next(model.get_submodule(fqn).parameters(), None) is not None:
        return fqn
    parent = fqn.rpartition(".")[0]
    return parent if parent in words else fqn


def blamed(order: list[str], states: Mapping[str, str]) -> str | None:
    """The first module that differs, or that gives parts or strides which nothing puts right. ``order`` is that in
    which a forward leaves modules; ``states`` lack those that cannot be compared."""
    compared = [fqn for fqn in order if fqn in states]
    for position, fqn in enumerate(compared):
        state = states[fqn]
        if state == OTHER or (state != SAME and not _put_right(fqn, position, compared, states)):
            return fqn
    return None


def _put_right(fqn: str, position: int, compared: list[str], states: Mapping[str, str]) -> bool:
    later = compared[position + 1 :]
    around = next((f for f in later if fqn.startswith(f"{f}.") or not f), None)
    if around is not None and states[around] == SAME:
        return True
    if states[fqn] != STRIDES or not later:
        return False
    parent = fqn.rpartition(".")[0]
    return states[later[0]] == SAME and later[0].rpartition(".")[0] == parent


class _Output(NamedTuple):
    """The rank's own part, and the size of the whole as its DTensor has it: None for plain tensors."""

    part: Tensor
    size: torch.Size | None


class _Seen(NamedTuple):
    whole: Tensor
    mine: Tensor
    size: torch.Size | None = None


def _states(
    reference: nn.Module, model: nn.Module, values: Mapping[str, Any], meshes: Meshes, grad: bool
) -> tuple[list[str], dict[str, str]]:
    """Modules in the order in which a forward leaves them, and how their first outputs compare on all ranks."""
    names = [name for name, _ in reference.named_modules() if name]
    whole, mine = _outputs(reference, values, names, grad), _outputs(model, values, names, grad)
    seen = {n: _Seen(whole[n].part, *mine[n]) for n in whole if n in mine}
    axis = meshes.axis("tp")
    states = {n: state for n, s in seen.items() if (state := _state(s, axis.rank, axis.size)) is not None}
    everywhere: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, {n: (s, tuple(seen[n].mine.shape)) for n, s in states.items()})
    found: dict[str, str] = {}
    for name in states:
        told = [of_rank.get(name) for of_rank in everywhere]
        if any(t is None for t in told):
            continue
        kinds = {state for state, _ in told}
        found[name] = next(iter(kinds)) if len(kinds) == 1 else OTHER
        if found[name] == OTHER and all(shape == seen[name].whole.shape for _, shape in told):
            total = seen[name].mine.clone()
            dist.all_reduce(total, group=axis.group)
            if compare("", total, seen[name].whole).agrees:
                found[name] = PARTS
    return list(whole), found


def _outputs(model: nn.Module, values: Mapping[str, Any], names: list[str], grad: bool) -> dict[str, _Output]:
    """The first float tensor that each module gives."""
    probe = Probe(copies=True).watch(model, names)
    try:
        with torch.set_grad_enabled(grad):
            model(**values)
    finally:
        probe.close()
    found: dict[str, _Output] = {}
    for name, tensors in probe.outputs.items():
        position = next((p for p, v in tensors.items() if v.is_floating_point()), None)
        if position is not None:
            found[name] = _Output(tensors[position], probe.sizes[name].get(position))
    return found


def _state(seen: _Seen, rank: int, size: int) -> str | None:
    """None where the shapes tell nothing."""
    whole, mine = seen.whole, seen.mine
    if seen.size is not None and seen.size != whole.shape:
        return OTHER
    if whole.shape == mine.shape:
        return SAME if compare("", mine, whole).agrees else OTHER
    if whole.dim() != mine.dim():
        return None
    if any(m > w for w, m in zip(whole.shape, mine.shape, strict=True)):
        return OTHER
    cut = [d for d in range(whole.dim()) if whole.shape[d] != mine.shape[d]]
    if len(cut) != 1:
        return None
    part = _chunk(whole, size, rank, cut[0])
    if part.shape != mine.shape:
        return None
    if compare("", mine, part).agrees:
        return SAME
    halves = [_chunk(half, size, rank, cut[0]) for half in whole.chunk(2, cut[0])]
    strided = torch.cat(halves, cut[0])
    return STRIDES if strided.shape == mine.shape and compare("", mine, strided).agrees else OTHER


def _chunk(whole: Tensor, size: int, rank: int, dim: int) -> Tensor:
    """The rank's part as DTensor cuts: the first ranks get the larger ones."""
    parts = whole.chunk(size, dim)
    return parts[rank] if rank < len(parts) else whole.narrow(dim, 0, 0)
