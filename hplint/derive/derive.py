"""Boundaries that exist before any override: roles, then groups, then templates.

Equal layers of a tree share their nodes, and nothing here depends on a layer's number, so each kind of layer is worked
out once. Contracts of boundaries are shared between equal layers too: whoever changes one works on a copy.
"""

from collections.abc import Mapping
from typing import NamedTuple

from hplint.derive import roles
from hplint.derive.boundary import Boundary
from hplint.derive.experts import marked_experts, stacks
from hplint.derive.families import FAMILIES, Rules, check_families, family_of, rules_of
from hplint.derive.grouping import type_of
from hplint.derive.roles import role_of
from hplint.derive.run import RunShape
from hplint.derive.templates import MARKED_EXPERT, Flags, activations, parameter
from hplint.model.tree import ModuleTree, Tensor
from hplint.plan.layout import OUTPUT, Layouts


class Held(NamedTuple):
    """One parameter of a group: its path from the group's module, its role, its shape."""

    path: str
    role: str
    tensor: Tensor


class Draft(NamedTuple):
    """A boundary without its name: what equal layers share."""

    kind: str
    params: Layouts
    in_src: Layouts
    in_dst: Layouts
    out_src: Layouts | None
    out_dst: Layouts | None
    region_dispatch: bool | None = None
    ep_size: int | None = None
    ep_stack: Mapping[str, tuple[str, ...]] = {}

    def boundary(self, fqn: str) -> Boundary:
        """The boundary at ``fqn``."""
        return Boundary(
            fqn=fqn, kind=self.kind, params=self.params, in_src=self.in_src, in_dst=self.in_dst,
            out_src=self.out_src, out_dst=self.out_dst, region_dispatch=self.region_dispatch, ep_size=self.ep_size,
            ep_stack=dict(self.ep_stack),
        )  # fmt: skip


class _Part(NamedTuple):
    """What a subtree gives: boundaries by relative name, and parameters handed up to the parent."""

    found: list[tuple[str, Draft]]
    left: list[Held]


def derive_boundaries(
    tree: ModuleTree, topology: RunShape, families: Mapping[str, Rules] | None = None
) -> dict[str, Boundary]:
    """The boundaries that the planner recognises in ``tree``, by FQN in module order; {} with derivation off.

    ``families`` adds family rules (family -> role -> name parts) to the built-in ones. ``ep_size`` of a marked boundary
    is 1 where expert parallelism is only assumed: a size that divides everything. Raises RequestError for families that
    are not of that form.
    """
    if not topology.derive:
        return {}
    if families:
        check_families(families)
    part, left = _Deriver(tree, topology, families or {}).run()
    found = {fqn: draft.boundary(fqn) for fqn, draft in part}
    if left and all(h.role == roles.REPLICATED for h in left):
        for fqn, draft in _replicated(left).items():
            found.setdefault(fqn, draft.boundary(fqn))
        found = {fqn: found[fqn] for fqn in tree.modules if fqn in found}
    return found


def _replicated(left: list[Held]) -> dict[str, Draft]:
    """A group of nothing but replicated parameters: a boundary per owning module."""
    owners: dict[str, Layouts] = {}
    for path, role, tensor in left:
        owner, _, name = path.rpartition(".")
        layout = parameter(role, path, len(tensor.shape), False)
        if layout is not None:
            owners.setdefault(owner, {})[name] = layout
    return {owner: Draft("replicated", params, {}, {}, None, None) for owner, params in owners.items()}


class _Deriver:
    def __init__(self, tree: ModuleTree, topology: RunShape, families: Mapping[str, Rules]) -> None:
        self.tree = tree
        self.flags = Flags(
            topology.sequence_parallel, topology.loss_parallel, topology.is_active("cp"), topology.has_ep_axis
        )
        self.ep_size = (topology.size("ep") or 1) if topology.is_active("ep") else None
        self.family = rules_of(family_of(tree.config, tree.class_name), families)
        # A second name of a tied parameter owns nothing; no memory where one lies below.
        self.dropped = {name for group in tree.ties for name in group[1:]}
        self.exact = {""} if self.dropped else set()
        for name in self.dropped:
            path = name.rpartition(".")[0]
            while path:
                self.exact.add(path)
                path = path.rpartition(".")[0]
        built_in = {p.lower() for rules in FAMILIES.values() for patterns in rules.values() for p in patterns}
        self.numbers_count = any(c.isdecimal() for p, _ in self.family if p not in built_in for c in p)
        self.memory: dict[tuple[int, str], _Part] = {}

    def run(self) -> tuple[list[tuple[str, Draft]], list[Held]]:
        """All boundaries in module order, and the parameters that no module took."""
        root = (self.tree.root, "", "")
        stack = [root]
        while stack:
            index, fqn, path = stack[-1]
            key = self._key(index, fqn, path)
            if key in self.memory:
                stack.pop()
                continue
            below = self._children(index, fqn, path)
            missing = {k: child for child in below if (k := self._key(*child)) not in self.memory}
            if missing:
                stack.extend(missing.values())
                continue
            self.memory[key] = self._part(index, fqn, path, [self.memory[self._key(*c)] for c in below])
            stack.pop()
        return self.memory[self._key(*root)]

    def _key(self, index: int, fqn: str, path: str) -> tuple[int, str]:
        return (index, f"={fqn}" if fqn in self.exact else path)

    def _children(self, index: int, fqn: str, path: str) -> list[tuple[int, str, str]]:
        """(node, FQN, path in lower case with layer numbers as 0) of each child."""
        before, lead = (f"{fqn}.", f"{path}.") if fqn else ("", "")
        return [(n, before + name, lead + self._segment(name)) for name, n in self.tree.nodes[index].children]

    def _segment(self, name: str) -> str:
        return "0" if name.isdecimal() and not self.numbers_count else name.lower()

    def _part(self, index: int, fqn: str, path: str, below: list[_Part]) -> _Part:
        node = self.tree.nodes[index]
        before, lead = (f"{fqn}.", f"{path}.") if fqn else ("", "")
        left = [
            Held(name, role_of(lead + name.lower(), self.family), tensor)
            for name, tensor in node.parameters.items()
            if before + name not in self.dropped
        ]
        found: list[tuple[str, Draft]] = []
        for (name, _), part in zip(node.children, below, strict=True):
            left.extend(Held(f"{name}.{path_}", role, tensor) for path_, role, tensor in part.left)
            found.extend((f"{name}.{rel}" if rel else name, draft) for rel, draft in part.found)
        kind = type_of(path, {h.role for h in left}) if left else None
        if kind is None:
            return _Part(found, left)
        return _Part([("", self._draft(kind, path, left)), *found], [])

    def _draft(self, kind: str, path: str, group: list[Held]) -> Draft:
        lead = f"{path}." if path else ""
        params: Layouts = {}
        for held in group:
            layout = parameter(held.role, lead + held.path.lower(), len(held.tensor.shape), self.flags.ep_axis)
            if layout is not None:
                params[held.path] = layout
        draft = Draft(kind, params, *activations(kind, self.flags))
        if kind != "moe_mlp":
            return draft
        draft = draft._replace(region_dispatch=False)
        return draft if self.ep_size is None else self._expert_parallel(draft, group)

    def _expert_parallel(self, draft: Draft, group: list[Held]) -> Draft:
        """Mark the experts for the (edp, ep) mesh; with an ep axis in the mesh itself only stack them."""
        experts = [(h.path, len(h.tensor.shape)) for h in group if h.role == roles.EXPERT]
        known = marked_experts(experts)
        if known is None:
            return draft
        stack = stacks([path for path, _ in experts])
        params: Layouts = {}
        into = {source: target for target, sources in stack.items() for source in sources}
        paths = {path for path, _ in experts}
        for path, layout in draft.params.items():
            marked = path in paths and not self.flags.ep_axis
            params.setdefault(into.get(path, path), MARKED_EXPERT if marked else layout)
        if self.flags.ep_axis:
            return draft._replace(params=params, ep_stack=stack)
        (layout,) = draft.in_src.values()
        return draft._replace(
            params=params,
            in_dst=draft.in_src,
            out_src={OUTPUT: layout},
            out_dst={OUTPUT: layout},
            region_dispatch=None if known else draft.region_dispatch,
            ep_size=self.ep_size,
            ep_stack=stack,
        )
