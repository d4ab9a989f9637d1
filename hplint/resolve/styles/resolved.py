"""Plan of styles x module tree -> which module gets which style."""

from dataclasses import dataclass, field

from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan
from hplint.plan.style import TORCH, StyleEntry
from hplint.resolve.topology import Topology


@dataclass(slots=True)
class ResolvedStyles:
    """``hits`` maps an entry's index to the modules (in ``tp_plan``s: or parameters) that its key names, in module
    order; ``by_module`` a module to the entries that hit it, in order of application. ``unmatched`` are the entries
    that name nothing; entries whose key cannot be read are in none of them. ``roots`` maps an entry's index to the
    modules that its key counts from; ``guessed`` holds the entries whose root the file does not tell.

    ``winners`` maps a module or parameter to the entry that counts: a rule of a parameter comes before that of its
    module. ``beside`` are entries that the model ships and that count together with the plan's own; they have no place
    in a file."""

    hits: dict[int, tuple[str, ...]] = field(default_factory=dict)
    by_module: dict[str, tuple[StyleEntry, ...]] = field(default_factory=dict)
    winners: dict[str, StyleEntry] = field(default_factory=dict)
    unmatched: tuple[StyleEntry, ...] = ()
    roots: dict[int, tuple[str, ...]] = field(default_factory=dict)
    guessed: frozenset[int] = frozenset()
    beside: tuple[StyleEntry, ...] = ()


def resolve_styles(plan: Plan, tree: ModuleTree, topology: Topology) -> ResolvedStyles:
    """Match every entry of a plan of styles as its dialect does. Nothing raises."""
    if plan.dialect == TORCH:
        from hplint.resolve.torch.match import match_torch

        return collected(plan, tree, *match_torch(plan, tree))
    from hplint.resolve.tp_plan.match import match_tp_plan

    return match_tp_plan(plan, tree, topology)


def collected(
    plan: Plan,
    tree: ModuleTree,
    hits: dict[int, tuple[str, ...]],
    roots: dict[int, tuple[str, ...]],
    guessed: frozenset[int] = frozenset(),
) -> ResolvedStyles:
    """What follows from the hits of the entries. Of several on one module the last one counts."""
    by_module: dict[str, list[StyleEntry]] = {}
    for entry in plan.styles:
        for fqn in hits.get(entry.index, ()):
            by_module.setdefault(fqn, []).append(entry)
    ranks = {fqn: i for i, fqn in enumerate(tree.modules)}
    order = sorted(by_module, key=lambda fqn: ranks.get(fqn, len(ranks)))
    return ResolvedStyles(
        hits=hits,
        by_module={fqn: tuple(by_module[fqn]) for fqn in order},
        winners={fqn: by_module[fqn][-1] for fqn in order},
        unmatched=tuple(e for e in plan.styles if e.key is not None and not hits.get(e.index)),
        roots=roots,
        guessed=guessed,
    )
