"""A ``parallelize_module`` plan as it is applied: calls, one after the other, in plain values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hplint.errors import RequestError
from hplint.model.tree import ModuleTree
from hplint.plan.entry import UNKNOWN
from hplint.plan.plan import Plan
from hplint.plan.style import Application, Style, StyleEntry
from hplint.resolve.styles.resolved import ResolvedStyles, resolve_styles
from hplint.resolve.topology import Topology
from hplint.resolve.torch.layouts import KNOWN, ties_again
from hplint.text.wording import plural, quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from hplint.apply.mesh.meshes import Meshes
    from hplint.apply.plan import ApplyPlan
    from hplint.apply.run.place import Place
    from hplint.apply.verify.inputs import Inputs
    from hplint.apply.verify.verify import Verification

_HOME = "torch.distributed.tensor.parallel"
_DONE = {
    "fully_shard": "FSDP shards the same values once more, and changes none of them",
    "compile": "torch.compile changes no values",
    "checkpoint_wrapper": "checkpointing changes no values",
}
"""Calls of the file that are left out, and why that is right."""
_TIES = "the file ties weights itself; here those are tied again that are laid out alike"


@dataclass(frozen=True, slots=True)
class StyleItem:
    """One item of the dict that a call is given. ``style`` is a class of torch.distributed.tensor.parallel,
    ``arguments`` its keywords (placements as :class:`~hplint.plan.placement.Placement`), ``modules`` the FQNs that the
    key hits from this root, ``place`` is ``path:line``."""

    key: str
    style: str
    arguments: Mapping[str, Any]
    modules: tuple[str, ...]
    place: str


@dataclass(frozen=True, slots=True)
class StyleCall:
    """One call of ``parallelize_module`` on the module ``root`` (FQN)."""

    root: str
    items: tuple[StyleItem, ...]


@dataclass(frozen=True, slots=True)
class TorchPlan:
    """A :class:`~hplint.apply.styles.dialect.StyledPlan`: ``calls`` in the order of the file. ``ties``: the file ties
    weights itself after the calls, which is done here where the two are laid out alike."""

    calls: tuple[StyleCall, ...]
    topology: Topology
    path: str = ""
    notes: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    ties: bool = False

    def place(self, name: str) -> str:
        """Where the entry stands that counts for a module or for the module of a parameter."""
        return self.places.get(name) or self.places.get(name.rpartition(".")[0], "")

    def apply(self, model: "nn.Module", meshes: "Meshes") -> None:
        """Hand every call to torch's own ``parallelize_module``."""
        from hplint.apply.styles.torch_styles import parallelize

        parallelize(model, self, meshes)

    def verify(
        self,
        make: "Callable[[], nn.Module]",
        plan: "ApplyPlan",
        meshes: "Meshes",
        seed: int,
        inputs: "Inputs | None",
        place: "Place | None",
    ) -> "Verification":
        """Compare outputs, gradients and ties with those of a single-process run."""
        from hplint.apply.verify.verify import verify

        return verify(make, plan, meshes, "local", seed, inputs, place)


def torch_plan_of(plan: Plan, tree: ModuleTree, topology: Topology) -> TorchPlan:
    """Freeze a plan. Raises RequestError, with the line, for what cannot be read, for classes that are not torch's own,
    and for axes of the mesh that such a plan says nothing about."""
    _check_axes(topology)
    resolved = resolve_styles(plan, tree, topology)
    reader = _Reader(plan, tree, resolved)
    calls = tuple(reader.calls())
    if not any(item.modules for call in calls for item in call.items):
        raise RequestError(f"the plan {quote(plan.source.path)} names no module of this model")
    words = {m: item.style for call in calls for item in call.items for m in item.modules}
    places = {m: item.place for call in calls for item in call.items for m in item.modules}
    ties = bool(tree.ties) and ties_again(plan.source.text)
    notes = (*_notes(plan, topology), *([_TIES] if ties else []))
    return TorchPlan(calls, topology, plan.source.path, notes, words, places, ties)


def _check_axes(topology: Topology) -> None:
    if (topology.tp or 1) < 2:
        raise RequestError(
            "a parallelize_module plan cuts over tp, and the mesh has tp=1", "give the size, as in --mesh tp=2"
        )
    for axis in ("cp", "ep"):
        if (size := topology.size(axis) or 1) > 1:
            raise RequestError(
                f"a parallelize_module plan is applied over tp, and the mesh has {axis}={size}",
                f"leave {axis} out of --mesh: such a plan says nothing about it",
            )


@dataclass(frozen=True, slots=True)
class _Reader:
    plan: Plan
    tree: ModuleTree
    resolved: ResolvedStyles

    def calls(self) -> Iterator[StyleCall]:
        """One call for each module that a plan is applied to, in the order of the file."""
        groups: dict[int, list[StyleEntry]] = {}
        for entry in self.plan.styles:
            groups.setdefault(id(entry.applied), []).append(entry)
        for entries in groups.values():
            roots = dict.fromkeys(r for e in entries for r in self.resolved.roots.get(e.index, ()))
            items = {e.index: self._item(e) for e in entries}
            for root in roots:
                here = [e for e in entries if root in self.resolved.roots.get(e.index, ())]
                yield StyleCall(root, tuple(self._at(items[e.index], e, root) for e in here))

    def _at(self, item: StyleItem, entry: StyleEntry, root: str) -> StyleItem:
        """The item with what it hits from one root."""
        from hplint.resolve.torch.match import descend, segments

        below = descend(self.tree, (root,), segments(item.key))
        hits = self.resolved.hits.get(entry.index, ())
        return StyleItem(item.key, item.style, item.arguments, tuple(m for m in below if m in hits), item.place)

    def _item(self, entry: StyleEntry) -> StyleItem:
        if entry.key is None:
            raise self._refused(entry, "a key", "cannot be read without running the file")
        if entry.style is None:
            raise self._refused(entry, f"the style of `{entry.key.value}`", "cannot be read without running the file")
        if not self.resolved.hits.get(entry.index) and entry.applied is not None and entry.applied.narrowed:
            raise self._refused(
                entry,
                f"`{entry.style.name}`",
                "is given to some modules of a loop, and the file alone does not tell which",
            )
        style = entry.style
        self._check_class(entry, style)
        if style.open:
            raise self._refused(entry, f"`{style.name}` of `{entry.key.value}`", "gets arguments that cannot be read")
        arguments = {name: keyword.value for name, keyword in style.arguments.items()}
        if unread := [name for name, value in arguments.items() if value is UNKNOWN]:
            what = f"`{unread[0]}` of `{style.name}` at `{entry.key.value}`"
            raise self._refused(entry, what, "cannot be read without running the file")
        return StyleItem(entry.key.value, style.name, arguments, (), self.place(entry))

    def _check_class(self, entry: StyleEntry, style: Style) -> None:
        if style.base is not None:
            base = style.base or "ParallelStyle"
            what = f"`{style.name}`, which derives from {base} and has code of its own,"
            hint = f"write {base} itself to apply the plan" if style.base else "plans of torch's own styles are applied"
            raise self._refused(entry, what, "would have to be run", hint)
        if style.name not in KNOWN:
            hint = "apply the plan without it (float8 and other number formats are not applied)"
            raise self._refused(entry, f"`{style.name}`", f"is no style of {_HOME}", hint)

    def place(self, entry: StyleEntry) -> str:
        return f"{self.plan.source.path}:{self.plan.source.position(entry.span.start).line}"

    def _refused(self, entry: StyleEntry, what: str, why: str, hint: str = "") -> RequestError:
        return RequestError(f"{self.place(entry)}: {what} {why}: the plan is not applied", hint)


def _notes(plan: Plan, topology: Topology) -> Iterator[str]:
    if (topology.dp or 1) > 1:
        yield f"the plan concerns tp alone: the model is replicated over dp={topology.dp}, and gradients are summed"
    lines = [str(plan.source.position(e.span.start).line) for e in plan.styles if e.conditional]
    if lines:
        entries = plural(len(lines), "entry", "entries")
        yield (
            f"{entries} under a condition (line {', '.join(dict.fromkeys(lines))}): "
            "applied as in one run of the file, the first that the checks see"
        )
    earlier = {e.kind: e for a in _applications(plan) for e in a.before}
    for kind, call in earlier.items():
        line = plan.source.position(call.span.start).line
        yield f"{kind} (line {line}) is left out: {_DONE.get(kind, 'it is not part of the plan')}"


def _applications(plan: Plan) -> list[Application]:
    return list({id(e.applied): e.applied for e in plan.styles if e.applied is not None}.values())
