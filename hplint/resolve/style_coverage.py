"""How much of a model a plan of styles cuts: bytes per rank with and without it, and what it leaves whole."""

from dataclasses import dataclass, field
from math import prod

from hplint.model.tree import Module, ModuleTree
from hplint.plan.plan import Plan
from hplint.plan.style import TORCH, Style
from hplint.resolve.styles import ResolvedStyles
from hplint.resolve.torch_layouts import cut_dims

_BYTES = {
    "float64": 8, "int64": 8, "complex64": 8, "float32": 4, "int32": 4, "bfloat16": 2, "float16": 2, "int16": 2,
}  # fmt: skip


@dataclass(slots=True)
class StyleCoverage:
    """Bytes of parameters: ``whole`` on one rank without the plan, ``per_rank`` with it; ``weights`` of tensors with
    two dims or more, ``cut`` those of them that the plan cuts. ``largest`` are weights without a rule, equal ones of
    several layers under one name with ``*`` and their bytes together. ``odd`` are layers of which parts stay whole that
    are cut in most layers beside them."""

    whole: int = 0
    per_rank: int = 0
    weights: int = 0
    cut: int = 0
    largest: list[tuple[str, int]] = field(default_factory=list)
    odd: list[tuple[str, list[str]]] = field(default_factory=list)


def cuts(plan: Plan, style: Style, module: Module) -> dict[str, int]:
    """The parameters that a style cuts and along which dim, as the plan's dialect has it."""
    if plan.dialect == TORCH:
        return cut_dims(style, module)
    from hplint.resolve.tp_plan_layouts import cut_dims as cut_by_word

    return cut_by_word(style, module)


def style_coverage(plan: Plan, tree: ModuleTree, resolved: ResolvedStyles, size: int) -> StyleCoverage:
    """Count over all parameters; a tensor with several names counts once. What other runs of the same code cut is no
    gap."""
    found = StyleCoverage()
    again = {name for group in tree.ties for name in group[1:]}
    elsewhere = {fqn for e in plan.other_styles if e.style for fqn in resolved.hits.get(e.index, ())}
    gaps: dict[str, int] = {}
    layers: dict[tuple[str, str], dict[str, bool]] = {}
    for fqn, module in tree.modules.items():
        entry = resolved.winners.get(fqn)
        cut = cuts(plan, entry.style, module) if entry and entry.style else {}
        unread = fqn in elsewhere or (entry is not None and entry.style is None)
        for name, tensor in module.parameters.items():
            full = f"{fqn}.{name}" if fqn else name
            if full in again:
                continue
            count = prod(tensor.shape) * _BYTES.get(tensor.dtype, 1)
            is_cut = name in cut or unread
            found.whole += count
            found.per_rank += count // size if is_cut else count
            if len(tensor.shape) < 2:
                continue
            found.weights += count
            found.cut += count if is_cut else 0
            generic, layer, rest = _layer(full)
            if not is_cut:
                gaps[generic] = gaps.get(generic, 0) + count
            if layer:
                layers.setdefault((generic, rest), {})[layer] = is_cut
    found.largest = sorted(gaps.items(), key=lambda g: (-g[1], g[0]))
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
