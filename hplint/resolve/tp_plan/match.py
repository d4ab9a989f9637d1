"""How Hugging Face's ``tp_plan`` keys are matched, and what a plan is laid over.

Numbers that stand between dots in the name of a module or parameter become ``*``; the result is looked up literally, so
that the order of keys does not matter and a key with a number in it matches nothing. A rule for a module covers its own
parameters, unless a rule names them, and hooks its forward. Source: transformers 5.24, ``_get_parameter_plan``.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hplint.model.tree import ModuleTree, PlanOwner
from hplint.plan.entry import Text
from hplint.plan.plan import Plan
from hplint.plan.style import Carrier, Style, StyleEntry
from hplint.resolve.styles.resolved import ResolvedStyles
from hplint.resolve.topology import Topology
from hplint.resolve.tp_plan.shipped import shipped_plan
from hplint.text.span import START

_NUMBER = re.compile(r"\.\d+(\.|$)")


def generic(name: str) -> str:
    """The name of a module or parameter as a key spells it. Of two numbers side by side the second one stays: the
    library looks past the dot between them."""
    return _NUMBER.sub(lambda m: ".*" + m.group(1), name)


class Names(NamedTuple):
    """What keys can name: generic name -> modules, and -> parameters. Of a tensor with several names the first one
    counts."""

    modules: Mapping[str, tuple[str, ...]]
    parameters: Mapping[str, tuple[str, ...]]

    def hits(self, key: str) -> tuple[str, ...]:
        """The modules of that generic name, else the parameters."""
        return self.modules.get(key) or self.parameters.get(key, ())


def names_of(tree: ModuleTree) -> Names:
    """The generic names of a tree."""
    again = {name for tie in tree.ties for name in tie[1:]}
    return Names(_grouped(n for n in tree.modules if n), _grouped(n for n in tree.parameters if n not in again))


def _grouped(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(generic(name), []).append(name)
    return {g: tuple(n) for g, n in found.items()}


class Roots(NamedTuple):
    """The modules that the keys of a plan count from; ``guessed`` where neither the file nor the model says so."""

    fqns: tuple[str, ...]
    guessed: bool = False
    owners: tuple[PlanOwner, ...] = ()


def match_tp_plan(plan: Plan, tree: ModuleTree, topology: Topology) -> ResolvedStyles:
    """Match every entry, and lay the plan over what the model ships beside it."""
    carrier = plan.carrier or Carrier()
    names = names_of(tree)
    roots = roots_of(plan, carrier, tree, names)
    keys: dict[int, tuple[str, ...]] = {}
    hits: dict[int, tuple[str, ...]] = {}
    for entry in plan.styles:
        if entry.key is not None:
            keys[entry.index] = tuple(_under(generic(fqn), entry.key.value) for fqn in roots.fqns)
            found = (name for key in dict.fromkeys(keys[entry.index]) for name in names.hits(key))
            hits[entry.index] = tuple(dict.fromkeys(found))
    beside = _beside(plan, carrier, roots, tree, {key for own in keys.values() for key in own})
    for entry in beside:
        assert entry.key is not None
        keys[entry.index] = (entry.key.value,)
        hits[entry.index] = names.hits(entry.key.value)
    # The entries of the plan come last: they win where both name something.
    ordered = [*beside, *(e for e in plan.styles if e.key is not None)]
    dropped = _to_experts(tree, carrier, topology, keys)
    return ResolvedStyles(
        hits=hits,
        by_module=_in_order(tree, ordered, hits),
        winners={n: e[-1] for n, e in _in_order(tree, [e for e in ordered if e.index not in dropped], hits).items()},
        unmatched=tuple(e for e in plan.styles if e.key is not None and not hits.get(e.index)),
        roots={e.index: roots.fqns for e in plan.styles if e.key is not None},
        guessed=frozenset(e.index for e in plan.styles) if roots.guessed else frozenset(),
        beside=tuple(beside),
    )


def _under(root: str, key: str) -> str:
    return f"{root}.{key}" if root else key


def _in_order(
    tree: ModuleTree, entries: list[StyleEntry], hits: Mapping[int, tuple[str, ...]]
) -> dict[str, tuple[StyleEntry, ...]]:
    """Name -> the entries that hit it; modules in order, then parameters."""
    found: dict[str, list[StyleEntry]] = {}
    for entry in entries:
        for name in hits.get(entry.index, ()):
            found.setdefault(name, []).append(entry)
    order = {name: rank for rank, name in enumerate((*tree.modules, *tree.parameters))}
    return {name: tuple(found[name]) for name in sorted(found, key=lambda n: order.get(n, len(order)))}


def roots_of(plan: Plan, carrier: Carrier, tree: ModuleTree, names: Names) -> Roots:
    """What the keys of a plan count from."""
    if carrier.kind in ("argument", "builtin"):
        return Roots(("",))
    if owners := _owners(carrier, tree):
        return Roots(tuple(o.fqn for o in owners), owners=owners)
    keys = [e.key.value for e in plan.styles if e.key]
    fqns = _fitting(keys, tree, names)
    if carrier.kind == "config" and (base := _base_for(keys, fqns, tree, names)):
        return base
    return Roots(fqns, guessed=True, owners=tuple(o for o in tree.owners if o.fqn in fqns))


def _owners(carrier: Carrier, tree: ModuleTree) -> tuple[PlanOwner, ...]:
    """The models that a plan of a class or of a config belongs to."""
    if carrier.kind == "model":
        return tuple(o for o in tree.owners if carrier.owner in o.classes)
    bases = tuple(o for o in tree.owners if o.is_base)
    if carrier.owner is not None:
        # Of several configs that derive from one another the plan is that of the class itself, where it is there.
        return tuple(o for o in bases if o.configs[:1] == (carrier.owner,)) or tuple(
            o for o in bases if carrier.owner in o.configs
        )
    config: Any = tree.config
    for step in carrier.steps:
        config = config.get(step) if isinstance(config, Mapping) else None
    kind = config.get("model_type") if isinstance(config, Mapping) else None
    return tuple(o for o in bases if kind and o.model_type == kind)


def _base_for(keys: list[str], fitting: tuple[str, ...], tree: ModuleTree, names: Names) -> Roots | None:
    """The base model that the plan of an unknown config is for: plans of configs count from nowhere else. The keys may
    have its name in front, by mistake."""
    bases = [o for o in tree.owners if o.is_base]
    scores = {o.fqn: sum(1 for k in keys if names.hits(_under(generic(o.fqn), k))) for o in bases}
    best = max(bases, key=lambda o: scores[o.fqn], default=None)
    if best is None:
        return None
    if scores[best.fqn]:
        return Roots((best.fqn,), True, (best,))
    within = [o for o in bases if any(generic(o.fqn).startswith(f) for f in map(generic, fitting))]
    return Roots((within[0].fqn,), False, (within[0],)) if within else None


def _fitting(keys: list[str], tree: ModuleTree, names: Names) -> tuple[str, ...]:
    """The modules, alike but for their numbers, from which most keys hit something; of several that are as good the one
    nearest to the root. None where no key hits anything from anywhere."""
    heads = [g for g, fqns in names.modules.items() if tree.modules[fqns[0]].node.children]
    best, score = "", 0
    for root in sorted(("", *heads), key=lambda g: g.count(".")):
        hit = sum(1 for key in keys if names.hits(_under(root, key)))
        if hit > score:
            best, score = root, hit
    return (names.modules[best] if best else ("",)) if score else ()


def _beside(plan: Plan, carrier: Carrier, roots: Roots, tree: ModuleTree, taken: set[str]) -> list[StyleEntry]:
    """What the model ships beside the plan: rules under other keys, from elsewhere than where this plan stands. An
    empty ``tp_plan`` argument takes the shipped one away."""
    if carrier.kind == "builtin" or (carrier.kind == "argument" and not plan.styles and carrier.section == "tp"):
        return []
    kind = "model" if carrier.kind == "model" else "config"
    replaced = {(o.fqn, kind): _written(plan) for o in roots.owners}
    start = len(plan.styles) + len(plan.other_styles)
    found: list[StyleEntry] = []
    for key, rule in shipped_plan(tree, carrier.section, replaced).items():
        if key not in taken:
            word = Style(str(rule.word), "hf", START) if isinstance(rule.word, str) else None
            found.append(StyleEntry(start + len(found), Text(key, START), word, START, shipped=True))
    return found


def _written(plan: Plan) -> dict[str, Any]:
    return {e.key.value: e.style.name if e.style else "" for e in plan.styles if e.key is not None}


def _to_experts(
    tree: ModuleTree, carrier: Carrier, topology: Topology, keys: Mapping[int, tuple[str, ...]]
) -> set[int]:
    """The entries of a tp plan that give way to the ep plan, where experts are spread over ranks."""
    if carrier.section != "tp" or (topology.ep or 1) < 2:
        return set()
    experts = tuple(shipped_plan(tree, "ep"))
    return {i for i, own in keys.items() if any(k == e or k.startswith(f"{e}.") for k in own for e in experts)}
