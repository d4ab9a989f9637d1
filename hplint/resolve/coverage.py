"""Which boundary lays out which parameter: one pass over all boundaries, shared by the rules on parameters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hplint.derive.boundary import Boundary
from hplint.model.tree import ModuleTree, Node, Tensor
from hplint.plan.entry import Entry
from hplint.plan.layout import Layout
from hplint.plan.pattern import is_glob
from hplint.resolve.layouts import cutting_axes, is_expert
from hplint.resolve.match import Matcher
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.topology import CANONICAL_AXES, Topology
from hplint.text.near import near

if TYPE_CHECKING:
    from hplint.resolve.biases import BiasedWeight


class Declared(NamedTuple):
    """One key of one boundary's ``params``.

    ``path`` is relative to the boundary, ``name`` the full parameter name, ``tensor`` None where the model has no such
    parameter. Stacked expert parameters carry the stacked shape (experts first).
    """

    boundary: Boundary
    path: str
    name: str
    layout: Layout
    tensor: Tensor | None


@dataclass(slots=True)
class Coverage:
    """``laid`` are the declared parameters with any placement besides replicate; ``unknown`` those that the model
    does not have; ``twice`` pairs each parameter's first declaration with a further one, in boundary order."""

    tree: ModuleTree
    topology: Topology
    declared: list[Declared] = field(default_factory=list)
    laid: list[Declared] = field(default_factory=list)
    unknown: list[Declared] = field(default_factory=list)
    twice: list[tuple[Declared, Declared]] = field(default_factory=list)
    biased: "tuple[BiasedWeight, ...] | None" = None
    """The weights with a bias beside them, once somebody asked for them: see biases.py."""
    _covered: set[str] = field(default_factory=set)
    _unsettled: dict[str, set[str]] = field(default_factory=dict)
    _loose_keys: tuple[str, ...] = ()
    _replaced: frozenset[str] = frozenset()
    _below: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _near: dict[tuple[int, str, str], list[str]] = field(default_factory=dict)
    _axes: dict[tuple[int | None, bool], Mapping[str, int | None]] = field(default_factory=dict)

    def settled(self, boundary: Boundary, *fields: str) -> bool:
        """Whether these fields are what the runtime would see: nothing unreadable was written there, and no entry
        that was set aside would have changed them."""
        if boundary.broken and not boundary.broken.isdisjoint(fields):
            return False
        aside = self._unsettled.get(boundary.fqn)
        return aside is None or aside.isdisjoint(fields)

    def is_replaced(self, name: str) -> bool:
        """Whether a module, or one above it, is replaced before anything is planned. What the tree says of its
        parameters and its forward is then out of date. Takes parameter names as well."""
        return bool(self._replaced) and (name in self._replaced or not self._replaced.isdisjoint(_above(name)))

    def axes(self, parameter: Declared) -> Mapping[str, int | None]:
        """The axes whose placements count for a parameter, with their sizes (None: unknown)."""
        boundary, topology = parameter.boundary, self.topology
        kind = (boundary.ep_size, is_expert(parameter.path))
        if kind not in self._axes:
            sizes = {axis: topology.size(axis) for axis in cutting_axes(boundary, parameter.path, topology)}
            if "ep" in sizes and boundary.ep_size is not None and "ep" not in topology.assumed:
                sizes["ep"] = boundary.ep_size
            self._axes[kind] = sizes
        return self._axes[kind]

    def is_readable(self, layout: Layout) -> bool:
        """Whether all of it is understood: a misspelt axis may stand for any other."""
        known = layout.placements.keys() <= {*CANONICAL_AXES, *self.topology.mesh}
        return known and None not in layout.placements.values()

    def below(self, fqn: str) -> tuple[str, ...]:
        """Relative names of all parameters of a module and of what lies below it."""
        module = self.tree.modules.get(fqn)
        return self._names(module.node) if module else ()

    def _names(self, node: Node) -> tuple[str, ...]:
        known = self._below.get(id(node))
        if known is None:
            # Deep trees must not meet the recursion limit, so this walks with a stack, as the tree itself does.
            names: list[str] = []
            stack = [("", node)]
            while stack:
                prefix, here = stack.pop()
                names += [prefix + name for name in here.parameters]
                stack.extend((f"{prefix}{child}.", self.tree.nodes[n]) for child, n in reversed(here.children))
            known = self._below[id(node)] = tuple(names)
        return known

    def meant(self, parameter: Declared) -> list[str]:
        """The parameters that an unknown path probably means, nearest first: misspelt, without its last part
        (``q_proj``), or with the boundary's own name in front."""
        fqn, path = parameter.boundary.fqn, parameter.path
        module = self.tree.modules.get(fqn)
        if module is None:
            return []
        first = path.partition(".")[0]
        if f".{first}." in f".{fqn}.":
            names = self._names(module.node)
            outside = [n for n in names if path.endswith(f".{n}") and f".{fqn}.".endswith(f".{path[: -len(n)]}")]
            if outside:
                return outside[:1]
        # Equal layers share a node, so that one slip in a glob is looked up once, not once a layer.
        own = fqn.rpartition(".")[2]
        key = (id(module.node), path, "" if own.isdecimal() else own)
        if key not in self._near:
            names = self._names(module.node)
            found = near(path, names) or [n for n in names if n.startswith(f"{path}.")][:3]
            self._near[key] = found or _behind(own, path, names)
        return self._near[key]

    def uncovered(self, resolved: ResolvedPlan) -> Iterator[tuple[str, str | None]]:
        """(full name, nearest boundary above or None) of each trainable parameter that nothing covers (R141).

        Left out: parameters near a misspelt key, those below modules where an entry could not be applied or its
        ``params`` could not be read, those of replaced modules, and further names of tied parameters.
        """
        covered = self._covered | resolved.special.keys()
        for names in self.tree.ties:
            covered.update(names[1:])
        for parameter in self.unknown:
            prefix = f"{parameter.boundary.fqn}." if parameter.boundary.fqn else ""
            covered.update(prefix + name for name in self.meant(parameter))
        for name, tensor in self.tree.parameters.items():
            if name in covered or not tensor.requires_grad or (self._loose_keys and name.endswith(self._loose_keys)):
                continue
            if self.is_replaced(name):
                continue
            nearest: str | None = None
            for above in _above(name):
                if not self._may_declare(above, resolved):
                    break
                if nearest is None and above in resolved.boundaries:
                    nearest = above
            else:
                yield name, nearest

    def _may_declare(self, fqn: str, resolved: ResolvedPlan) -> bool:
        if "params" in self._unsettled.get(fqn, ()):
            return False
        boundary = resolved.boundaries.get(fqn)
        return boundary is None or "params" not in boundary.broken


def _behind(own: str, path: str, names: tuple[str, ...]) -> list[str]:
    """The parameters that a path means behind a module's own name, which it ought not to start with: as written, or
    misspelt. ``own`` is that name's last segment; one number is as good as another."""
    segments = path.split(".")
    for end, segment in enumerate(segments[:-1], 1):
        if segment == own or (own.isdecimal() and segment.isdecimal()):
            rest = ".".join(segments[end:])
            return [rest] if rest in names else near(rest, names)
    return []


def cover(resolved: ResolvedPlan, tree: ModuleTree, topology: Topology, entries: tuple[Entry, ...]) -> Coverage:
    """Walk all boundaries once. Linear in the declared parameters."""
    found = Coverage(tree, topology)
    first: dict[str, Declared] = {}
    for boundary in resolved.boundaries.values():
        readable = "params" not in boundary.broken
        prefix = f"{boundary.fqn}." if boundary.fqn else ""
        stacked = {source for sources in boundary.ep_stack.values() for source in sources}
        found._covered.update(prefix + source for source in stacked)
        for path, layout in (boundary.params or {}).items():
            if readable or layout.name_span:
                tensor, real = _tensor(tree, boundary, path, prefix + path)
                # What is stacked is gone, under its old names, by the time that parameters are looked up (S39).
                declared = Declared(boundary, path, prefix + path, layout, None if path in stacked else tensor)
                _note(found, first, declared, real)
    _set_aside(found, resolved, entries)
    found._replaced = _replaced(tree, topology, entries)
    return found


def _tensor(tree: ModuleTree, boundary: Boundary, path: str, name: str) -> tuple[Tensor | None, str]:
    """The parameter that a path leads to, and the name under which the tree has it."""
    tensor = tree.parameters.get(name)
    if tensor is not None:
        return tensor, name
    if sources := boundary.ep_stack.get(path):
        one = tree.parameters.get(name[: len(name) - len(path)] + sources[0])
        return one and one._replace(shape=(len(sources), *one.shape)), name
    real = _through_aliases(name, tree) if tree.aliases else name
    return tree.parameters.get(real), real


def _note(found: Coverage, first: dict[str, Declared], declared: Declared, real: str) -> None:
    found.declared.append(declared)
    found._covered.add(real)
    if declared.tensor is None:
        found.unknown.append(declared)
    for placement in declared.layout.placements.values():
        if placement is not None and placement.kind != "replicate":
            found.laid.append(declared)
            break
    if (earlier := first.setdefault(declared.name, declared)) is not declared:
        found.twice.append((earlier, declared))


def _through_aliases(name: str, tree: ModuleTree) -> str:
    """The name under which the tree has a parameter that is reached by way of a shared module's further name."""
    for above in _above(name):
        if (target := tree.aliases.get(above)) is not None:
            return f"{target}.{name[len(above) + 1 :]}"
    return name


def _above(name: str) -> Iterator[str]:
    """All modules above a full parameter name, nearest first, the root last."""
    while name:
        name = name.rpartition(".")[0]
        yield name


def _replaced(tree: ModuleTree, topology: Topology, entries: tuple[Entry, ...]) -> frozenset[str]:
    """FQNs of the modules that active replacements match."""
    matches = [
        match.value
        for entry in entries
        if (entry.replace_module or "replace_module" in entry.broken)
        and (entry.when is None or topology.when_active(entry.when.value))
        for match in entry.matches
    ]
    if not any(map(is_glob, matches)):
        return frozenset(matches)
    matcher = Matcher(tree)
    return frozenset(fqn for match in matches for fqn in (matcher.hits(match) if is_glob(match) else (match,)))


def _set_aside(found: Coverage, resolved: ResolvedPlan, entries: tuple[Entry, ...]) -> None:
    """Note what entries without effect would have written: where that is known, and which keys where it is not."""
    loose = [entry for entry in entries if not entry.matches]
    for aside in resolved.set_aside:
        fields = set(aside.entry.keys)
        if aside.entry.match and not is_glob(aside.entry.match.value):
            # An exact entry is about this one module: however it is put right, its parameters are its business.
            fields.add("params")
            if not aside.modules:
                loose.append(aside.entry)
        for fqn in aside.modules:
            found._unsettled.setdefault(fqn, set()).update(fields)
    params = [entry.contract.get("params") for entry in loose]
    found._loose_keys = tuple(f".{key}" for p in params if p for key in p.layouts or ())
