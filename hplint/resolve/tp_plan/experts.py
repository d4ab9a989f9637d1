"""Experts whose weights are parameters of one module, of three dims each: which dims lie between the two weights, and
the words of a ``tp_plan`` that cut along them."""

from collections.abc import Iterator
from typing import NamedTuple

from hplint.model.tree import Module, ModuleTree

_UPS = ("gate_up_proj", "up_proj", "gate_proj")
_DOWN = "down_proj"
_PACKED = "gate_up_proj"


class ExpertWeight(NamedTuple):
    """One of the weights under its full name: ``dim`` is the one that the two have in common, ``word`` cuts it."""

    name: str
    dim: int
    word: str


class Experts(NamedTuple):
    """The module, its first weight (gate and up, one after the other where ``packed``) and its last one."""

    fqn: str
    up: ExpertWeight
    down: ExpertWeight
    packed: bool


def experts_in(tree: ModuleTree) -> Iterator[Experts]:
    """All such modules of a model, but for those whose shapes leave open which dim is which."""
    for module in tree.modules.values():
        if _DOWN in module.parameters and (found := experts_of(module)):
            yield found


def experts_of(module: Module) -> Experts | None:
    """What a module is as experts; None where it is none, or its shapes leave that open."""
    name = next((n for n in _UPS if n in module.parameters), None)
    if name is None or _DOWN not in module.parameters:
        return None
    up, down = module.parameters[name].shape, module.parameters[_DOWN].shape
    if len(up) != 3 or len(down) != 3:
        return None
    packed = name == _PACKED
    parts = 2 if packed else 1
    # Experts, features, inputs is how most models have them; some turn the last two round.
    usual = down[1] == up[2] and up[1] == down[2] * parts
    turned = down[2] == up[1] and up[2] == down[1] * parts
    if usual == turned:
        return None
    if usual:
        words = (1, "packed_colwise" if packed else "colwise"), (2, "rowwise")
    else:
        words = (2, "packed_rowwise" if packed else "rowwise"), (1, "colwise")
    first, last = (ExpertWeight(f"{module.fqn}.{n}", *w) for n, w in zip((name, _DOWN), words, strict=True))
    return Experts(module.fqn, first, last, packed)
