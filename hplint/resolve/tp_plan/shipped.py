"""The plan that a model of the transformers library ships: put together from classes and configs as the library does.

A model takes the plan of its class; a base model adds that of its config and, where the plan is not empty and nothing
names ``embed_tokens``, a rule for it; then every direct child that is such a model adds its own plan under its name.
What comes later wins. Source: transformers 5.24, ``DistributedMixin.init_parallel_plans``.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hplint.model.tree import ModuleTree, PlanOwner

ADDED = "embedding_rowwise"
"""The word of the rule that the library adds for ``embed_tokens``."""


class Shipped(NamedTuple):
    """One rule as the root of the model has it: ``key`` and ``word`` (of pp plans: names of inputs and outputs),
    ``owner`` the model that brings it in, ``kind`` model (its class has it), config (its config) or added."""

    key: str
    word: Any
    owner: PlanOwner
    kind: str


Replaced = Mapping[tuple[str, str], Mapping[str, Any]]
"""(FQN of the owner, kind) -> the plan that stands there instead of the shipped one."""


def shipped_plan(tree: ModuleTree, section: str = "tp", replaced: Replaced | None = None) -> dict[str, Shipped]:
    """Key -> rule, in the library's order. Empty for models that are not the library's. Where a wrapper holds such
    models, their plans count under their names."""
    owners = {o.fqn: o for o in tree.owners}
    tops = [fqn for fqn in owners if not any(_is_below(fqn, other) for other in owners)]
    found: dict[str, Shipped] = {}
    for fqn in tops:
        prefix = f"{fqn}." if fqn else ""
        found |= {prefix + k: r._replace(key=prefix + k) for k, r in _of(tree, owners, fqn, section, replaced or {})}
    return found


def _is_below(fqn: str, other: str) -> bool:
    return fqn != other and (not other or fqn.startswith(f"{other}."))


def _of(
    tree: ModuleTree, owners: Mapping[str, PlanOwner], fqn: str, section: str, replaced: Replaced
) -> Iterator[tuple[str, Shipped]]:
    owner = owners[fqn]
    rules = {k: Shipped(k, w, owner, "model") for k, w in _plan(owner, "model", section, replaced).items()}
    if owner.is_base:
        rules |= {k: Shipped(k, w, owner, "config") for k, w in _plan(owner, "config", section, replaced).items()}
        if section == "tp" and rules and owner.embeds:
            rules = {"embed_tokens": Shipped("embed_tokens", ADDED, owner, "added"), **rules}
    prefix = f"{fqn}." if fqn else ""
    for name, _ in tree.modules[fqn].node.children:
        if f"{prefix}{name}" in owners:
            below = _of(tree, owners, f"{prefix}{name}", section, replaced)
            rules |= {f"{name}.{k}": rule._replace(key=f"{name}.{k}") for k, rule in below}
    yield from rules.items()


def _plan(owner: PlanOwner, kind: str, section: str, replaced: Replaced) -> Mapping[str, Any]:
    plans = owner.own if kind == "model" else owner.base
    return replaced.get((owner.fqn, kind), plans.get(section, {}))
