"""How much of a model a plan of styles cuts: bytes per rank with and without it, and what it leaves whole."""

from dataclasses import dataclass, field
from typing import NamedTuple

from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan
from hplint.resolve.styles.cuts import style_cuts
from hplint.resolve.styles.memory import held
from hplint.resolve.styles.resolved import ResolvedStyles
from hplint.resolve.topology import Topology


class Gap(NamedTuple):
    """Weights that no entry cuts, equal ones of several layers under one name with ``*``: how many they are, and their
    bytes together."""

    name: str
    bytes: int
    times: int


@dataclass(slots=True)
class StyleCoverage:
    """Bytes of parameters: ``whole`` on one rank without the plan, ``per_rank`` with it on the rank that holds most;
    ``weights`` of tensors with two dims or more, ``cut`` those of them that the plan cuts. ``largest`` are weights
    without a rule that cuts them. ``odd`` are layers of which parts stay whole that are cut in most layers beside
    them. ``unsized`` are axes that cut and whose sizes are not known: they count as size 1."""

    whole: int = 0
    per_rank: int = 0
    weights: int = 0
    cut: int = 0
    largest: list[Gap] = field(default_factory=list)
    odd: list[tuple[str, list[str]]] = field(default_factory=list)
    unsized: tuple[str, ...] = ()


def style_coverage(plan: Plan, tree: ModuleTree, resolved: ResolvedStyles, topology: Topology) -> StyleCoverage:
    """Count over all parameters; a tensor with several names counts once. What other runs of the same code cut is no
    gap."""
    cuts = list(style_cuts(plan, tree, resolved))
    memory = held(plan, tree, topology, cuts)
    sizes = {p.name: p.whole for p in memory.parameters}
    found = StyleCoverage(memory.whole, memory.local, unsized=memory.unsized)
    gaps: dict[str, Gap] = {}
    layers: dict[tuple[str, str], dict[str, bool]] = {}
    for cut in cuts:
        count = sizes.get(cut.name)
        if count is None or len(cut.tensor.shape) < 2:
            continue
        found.weights += count
        found.cut += count if cut.is_cut else 0
        generic, layer, rest = _layer(cut.name)
        if not cut.is_cut:
            before = gaps.get(generic, Gap(generic, 0, 0))
            gaps[generic] = Gap(generic, before.bytes + count, before.times + 1)
        if layer:
            layers.setdefault((generic, rest), {})[layer] = cut.is_cut
    found.largest = sorted(gaps.values(), key=lambda g: (-g.bytes, g.name))
    found.odd = _odd(layers)
    return found


def _layer(name: str) -> tuple[str, str, str]:
    """A parameter's name with ``*`` for numbers, the layer that it stands in ("" for none), and the rest."""
    parts = name.split(".")
    at = next((i for i, p in enumerate(parts) if p.isdecimal()), None)
    generic = ".".join("*" if p.isdecimal() else p for p in parts)
    if at is None:
        return generic, "", ""
    return generic, ".".join(parts[: at + 1]), ".".join(parts[at + 1 :])


def _odd(layers: dict[tuple[str, str], dict[str, bool]]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for (_, rest), by_layer in layers.items():
        whole = [layer for layer, is_cut in by_layer.items() if not is_cut]
        if whole and 2 * len(whole) < len(by_layer):
            for layer in whole:
                found.setdefault(layer, []).append(rest)
    return list(found.items())
