"""How a plan of styles cuts each parameter of a model, and which entry says so: the same for every dialect."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hplint.model.tree import Module, ModuleTree, Tensor
from hplint.plan.plan import Plan
from hplint.plan.style import TORCH, Style, StyleEntry
from hplint.resolve.styles.resolved import ResolvedStyles
from hplint.resolve.torch.layouts import cut_dims, is_known


class Cut(NamedTuple):
    """One parameter under its full name: the entry that decides on it (None: no entry does), the dim that is cut
    (None: whole on every rank) and the axis that cuts it."""

    name: str
    tensor: Tensor
    entry: StyleEntry | None = None
    dim: int | None = None
    axis: str = "tp"

    @property
    def is_unread(self) -> bool:
        """Whether the style cannot be read, or is one of the user's own: nobody knows how it cuts."""
        style = self.entry.style if self.entry else None
        return self.entry is not None and (style is None or (style.family == TORCH and not is_known(style)))

    @property
    def is_cut(self) -> bool:
        """Whether it is cut, or may be for all that can be read."""
        return self.dim is not None or self.is_unread


def style_cuts(plan: Plan, tree: ModuleTree, resolved: ResolvedStyles) -> Iterator[Cut]:
    """All parameters in module order, each name of a tied one. Where the plan says nothing, what the same code applies
    in other runs counts."""
    others: dict[str, list[StyleEntry]] = {}
    for entry in plan.other_styles:
        for fqn in resolved.hits.get(entry.index, ()) if entry.style else ():
            others.setdefault(fqn, []).append(entry)
    for module in tree.modules.values():
        here = list(module_cuts(plan, module, resolved.winners))
        if module.fqn not in resolved.winners:
            for entry in others.get(module.fqn, ()):
                there = module_cuts(plan, module, {module.fqn: entry})
                here = [old if old.is_cut else new for old, new in zip(here, there, strict=True)]
        yield from here


def module_cuts(plan: Plan, module: Module, winners: Mapping[str, StyleEntry]) -> Iterator[Cut]:
    """The parameters of the module itself. A rule of a parameter comes before that of its module."""
    own = winners.get(module.fqn)
    dims = cut_dims(own.style, module) if plan.dialect == TORCH and own and own.style else {}
    for name, tensor in module.parameters.items():
        full = f"{module.fqn}.{name}" if module.fqn else name
        entry = winners.get(full) or own
        if plan.dialect == TORCH or entry is None or entry.style is None:
            yield Cut(full, tensor, entry, _inside(dims.get(name), tensor))
        else:
            dim, axis = _by_word(entry.style, name, tensor)
            yield Cut(full, tensor, entry, _inside(dim, tensor), axis)


def _by_word(style: Style, name: str, tensor: Tensor) -> tuple[int | None, str]:
    from hplint.resolve.tp_plan.words import WORDS, cut_dim

    word = WORDS.get(style.kind)
    return cut_dim(style.kind, name, len(tensor.shape)), word.section if word else "tp"


def _inside(dim: int | None, tensor: Tensor) -> int | None:
    """A dim that the tensor has."""
    return dim if dim is not None and dim < len(tensor.shape) else None
