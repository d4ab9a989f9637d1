"""Applying overrides to boundaries: merge, insert, glob.

Faults recorded here, with their data:

- ``unknown-module`` (R119), at the match of every entry: ``problem``, ``near`` (see nearest.py), and where known
  ``alias``, ``owner``, ``parent`` and ``children``.
- ``glob-matches-nothing`` (R121), at the match of every entry: no data.
- ``merge-only-glob`` (R120), at the match: ``modules`` without a boundary, in module order.
- ``sentinel-on-insert`` (R124), at the value, per module and field: ``sentinel``.
- ``missing-contract`` (R125), at the match, per module: no data.
- ``dropped-parameters`` (R122), at the key, per module: ``dropped`` paths, in order, with their ``layouts``.
"""

from collections.abc import Mapping

from hplint.derive.boundary import Boundary
from hplint.model.tree import ModuleTree
from hplint.plan.entry import Entry
from hplint.plan.fault import Fault
from hplint.plan.layout import INPUT_FIELDS
from hplint.plan.pattern import Pattern, is_glob
from hplint.resolve.match import Matcher
from hplint.resolve.nearest import Nearest
from hplint.resolve.overrides import Change, Override
from hplint.resolve.resolved import Hits, SetAside


class Merger:
    """Boundaries while overrides apply. Derived ones are shared: each is copied when it is first touched."""

    def __init__(self, tree: ModuleTree, derived: dict[str, Boundary], matcher: Matcher | None = None) -> None:
        self.tree = tree
        self.boundaries = dict(derived)
        self.faults: list[Fault] = []
        self.hits: dict[int, Hits] = {}
        self.set_aside: list[SetAside] = []
        self._derived = derived
        self._strangers = [f for f in derived if f not in tree.modules]
        self._matcher = matcher
        self._nearest: Nearest | None = None

    def apply(self, override: Override) -> None:
        """Apply one override where it lands."""
        if is_glob(override.match.value):
            self._glob(override)
        else:
            self._exact(override)

    def own(self, fqn: str) -> Boundary:
        """The boundary at ``fqn``, as a copy that may be changed."""
        boundary = self.boundaries[fqn]
        if boundary is self._derived.get(fqn):
            boundary = self.boundaries[fqn] = copy_of(boundary)
        return boundary

    def _exact(self, override: Override) -> None:
        fqn = override.match.value
        if fqn in self.boundaries:
            self._merge(override, fqn)
            self._landed(override, merged=(fqn,))
        elif fqn not in self.tree.modules:
            self._unknown(override)
        elif override.contract:
            self._insert(override, fqn)
            self._landed(override, inserted=(fqn,))
        else:
            self._fault("missing-contract", override.entries[0], module=fqn)
            self._aside(override, (fqn,))

    def _unknown(self, override: Override) -> None:
        if self._nearest is None:
            self._nearest = Nearest(self.tree)
        guess = self._nearest.to(override.match.value)
        for entry in override.entries:
            self._fault("unknown-module", entry, data=guess.data())
        self._aside(override, guess.near)

    def _glob(self, override: Override) -> None:
        if self._matcher is None:
            self._matcher = Matcher(self.tree)
        found = self._matcher.hits(override.match.value)
        there = [f for f in found if f in self.boundaries] + self._outside_the_tree(override.match.value)
        absent = tuple([f for f in found if f not in self.boundaries])
        if not found and not there:
            for entry in override.entries:
                self._fault("glob-matches-nothing", entry)
            return
        for fqn in there:
            self._merge(override, fqn)
        if absent and not override.inserts:
            self._fault("merge-only-glob", override.entries[0], data={"modules": absent})
            self._aside(override, absent)
            absent = ()
        for fqn in absent:
            self._insert(override, fqn)
        self._landed(override, tuple(there), absent)

    def _outside_the_tree(self, text: str) -> list[str]:
        # Boundaries that were given, not derived, may name modules that this tree lacks.
        if not self._strangers:
            return []
        pattern = Pattern(text)
        return [f for f in self._strangers if pattern.matches(f)]

    def _merge(self, override: Override, fqn: str) -> None:
        boundary = self.own(fqn)
        boundary.mode = "merged"
        boundary.touched.extend(override.entries)
        for change in override.changes.values():
            if change.field == "params":
                self._dropped(boundary, change)
            if change.sentinel != "auto":
                _set(boundary, change)

    def _dropped(self, boundary: Boundary, change: Change) -> None:
        # An empty mapping says plainly that nothing is meant to be laid out: the runtime does not warn of it either.
        if not change.value or change.broken or "params" in boundary.broken or not boundary.params:
            return
        dropped = tuple([path for path in boundary.params if path not in change.value])
        if dropped:
            data = {"dropped": dropped, "layouts": {path: boundary.params[path] for path in dropped}}
            self._fault("dropped-parameters", change.entry, module=boundary.fqn, field="params", data=data)

    def _insert(self, override: Override, fqn: str) -> None:
        boundary = Boundary(fqn=fqn, mode="inserted", touched=list(override.entries))
        for change in override.changes.values():
            if change.sentinel:
                data = {"sentinel": change.sentinel}
                self._fault("sentinel-on-insert", change.entry, module=fqn, field=change.field, data=data)
                boundary.broken.add(change.field)
            else:
                _set(boundary, change)
        self.boundaries[fqn] = boundary

    def _landed(self, override: Override, merged: tuple[str, ...] = (), inserted: tuple[str, ...] = ()) -> None:
        for entry in override.entries:
            self.hits[entry.index] = Hits(merged, inserted)

    def _aside(self, override: Override, modules: tuple[str, ...]) -> None:
        self.set_aside.extend(SetAside(entry, modules) for entry in override.entries)

    def _fault(
        self,
        rule: str,
        entry: Entry,
        module: str | None = None,
        field: str | None = None,
        data: Mapping[str, object] | None = None,
    ) -> None:
        match = entry.match
        span = match.span if match else entry.span
        if field and (written := entry.contract.get(field)):
            span = written.span if rule == "sentinel-on-insert" else written.key_span
        self.faults.append(Fault(rule, span, entry.index, field, module, data or {}))


def _set(boundary: Boundary, change: Change) -> None:
    """Give a field its new value; a field of which nothing is known keeps what it had and is marked."""
    name = change.field
    if change.broken:
        boundary.broken.add(name)
    else:
        boundary.broken.discard(name)
    if change.broken and change.value is None:
        return
    value = change.value
    if change.sentinel == "none" and (name in INPUT_FIELDS or name == "params"):
        value = {}
    setattr(boundary, name, value)
    boundary.origin[name] = change.entry


def copy_of(boundary: Boundary) -> Boundary:
    """A copy whose fields may be replaced. Layouts stay shared: fields are replaced whole, never changed inside."""
    return Boundary(
        boundary.fqn, boundary.kind, boundary.mode, boundary.params, boundary.in_src, boundary.in_dst,
        boundary.out_src, boundary.out_dst, boundary.out_names, boundary.region_dispatch, boundary.inner_target,
        boundary.inner_wrapper, boundary.inner_out_src, boundary.local_compute_fn, boundary.tp_divide_attrs,
        boundary.auto_divided, boundary.deferred_biases, boundary.ep_size, boundary.ep_stack, dict(boundary.origin),
        list(boundary.touched), set(boundary.broken),
    )  # fmt: skip
