"""What one plan is checked against: which model, on which topologies.

Each setting comes from the first that says it: the command line, a ``# hplint:`` directive of the file, the project's
configuration, the plan file itself (its ``accelerator:`` and ``model:`` sections, or a ``.plan(…)`` call).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from hplint.config.config import PlanSettings
from hplint.config.mesh import MeshError, parse_mesh
from hplint.lint.request import Request
from hplint.plan.entry import Flag
from hplint.plan.fault import Fault
from hplint.plan.plan import Accelerator, Directive, Document, Plan
from hplint.resolve.topology import Topology
from hplint.text.span import START, Span


@dataclass(slots=True)
class ModelChoice:
    """A model spec as written, the folder that its relative paths count from, and where it was written (None: on the
    command line or in a configuration file). ``implied``: the file's own ``model:`` section, which may well name a path
    of another machine."""

    spec: str
    base: str
    span: Span | None = None
    implied: bool = False


@dataclass(slots=True)
class Pairing:
    """``topologies`` come with the faults of that topology alone (size-mismatch: data axis, declared, mesh)."""

    model: ModelChoice | None
    topologies: list[tuple[Topology, tuple[Fault, ...]]]
    src: tuple[str, ...]
    sizes_known: bool
    faults: tuple[Fault, ...] = ()
    """Directives whose values cannot be used (wrong-type)."""


class _Directives:
    """The directives of one file; the last one of a key counts."""

    def __init__(self, directives: tuple[Directive, ...]) -> None:
        self.last = {d.key: d for d in directives}
        self.faults: list[Fault] = []
        self.meshes = tuple(m for d in directives if d.key == "mesh" and (m := self._mesh(d)))
        self.src = tuple(d.value for d in directives if d.key == "src")

    def _mesh(self, directive: Directive) -> dict[str, int] | None:
        try:
            return parse_mesh(directive.value)
        except MeshError as error:
            allowed = f"axis sizes, such as `dp=2,tp=4` ({error.hint or error.message})"
            data = {"key": "mesh", "value": directive.value, "type": "a string", "allowed": allowed}
            data["section"] = "directive"
            self.faults.append(Fault("wrong-type", directive.span, data=data))
            return None

    def number(self, key: str) -> int | None:
        return int(self.last[key].value) if key in self.last else None

    def flag(self, key: str) -> bool | None:
        return self.last[key].value == "true" if key in self.last else None


def pair(document: Document, plan: Plan, request: Request) -> Pairing:
    """Work out model, topologies and source folders of a plan."""
    path = plan.source.path
    settings = request.config.settings_for(path) if request.config else PlanSettings()
    said = _Directives(document.directives)
    folder = str(Path(path).parent)
    src = (*request.src, *(str(Path(folder, s)) for s in said.src), *settings.src, folder, request.here)
    meshes = request.meshes or said.meshes or settings.mesh
    base = _base(plan, request, said, settings)
    return Pairing(
        _model(plan, request, said, settings, folder),
        [_on_mesh(base, mesh, plan) for mesh in meshes] or [_without_mesh(base, plan)],
        tuple(dict.fromkeys(src)),
        bool(meshes or plan.accelerator),
        tuple(said.faults),
    )


def _model(plan: Plan, request: Request, said: _Directives, settings: PlanSettings, folder: str) -> ModelChoice | None:
    if request.model is not None:
        return ModelChoice(request.model, ".")
    if directive := said.last.get("model"):
        return ModelChoice(directive.value, folder, directive.span)
    if settings.model is not None and request.config:
        return ModelChoice(settings.model, request.config.base)
    if plan.model:
        return ModelChoice(plan.model.value, folder, plan.model.span, implied=True)
    return None


def _base(plan: Plan, request: Request, said: _Directives, settings: PlanSettings) -> Topology:
    """Flags and the expert-parallel size; axis sizes still unknown."""
    written = plan.accelerator
    sequence = written.sequence_parallel if written else None
    loss = written.loss_parallel if written else None
    key = "sequence_parallel"
    sequence_parallel = _first(request.sequence_parallel, said.flag(key), settings.sequence_parallel, _value(sequence))
    loss_parallel = _first(request.loss_parallel, said.flag("loss_parallel"), settings.loss_parallel, _value(loss))
    derive = _first(request.derive, said.flag("derive"), settings.derive)
    in_config = request.config.seq_len if request.config else None
    return Topology(
        ep=_first(request.ep, said.number("ep"), settings.ep),
        # The runtime's own defaults: false in the trainer's YAML, true in ShardingPlanner.plan.
        sequence_parallel=plan.dialect == "python" if sequence_parallel is None else sequence_parallel,
        loss_parallel=bool(loss_parallel),
        derive=plan.derive if derive is None else derive,
        seq_len=_first(request.seq_len, said.number("seq_len"), in_config),
    )


T = TypeVar("T")


def _first(*options: T | None) -> T | None:
    """The first option that says something."""
    return next((o for o in options if o is not None), None)


def _value(flag: Flag | None) -> bool | None:
    return flag.value if flag else None


def _on_mesh(base: Topology, mesh: Mapping[str, int], plan: Plan) -> tuple[Topology, tuple[Fault, ...]]:
    written = plan.accelerator
    faults = list(_mismatches(written, mesh, base.ep)) if written else []
    ep = base.ep
    if ep is not None and mesh.get("ep", ep) != ep:
        # What the mesh says counts from here on: one fault is told.
        if all(f.data["axis"] != "ep" for f in faults):
            faults.append(_mismatch("ep", ep, mesh["ep"], plan.anchor, given=True))
        ep = mesh["ep"]
    if ep is None:
        declared = written.sizes.get("ep") if written else None
        ep = mesh.get("ep") or (declared.value if declared else 1)
    topology = replace(
        base, tp=mesh.get("tp", 1), cp=mesh.get("cp", 1), pp=mesh.get("pp", 1), dp=_dp(mesh), ep=ep, mesh=dict(mesh)
    )
    return topology, tuple(faults)


def _dp(mesh: Mapping[str, int]) -> int:
    size = 1
    for axis in ("dp", "dp_replicate", "dp_shard"):
        size *= mesh.get(axis, 1)
    return size


def _without_mesh(base: Topology, plan: Plan) -> tuple[Topology, tuple[Fault, ...]]:
    written = plan.accelerator
    if written is None:
        return base, ()
    tp, cp, pp = (_size(written, a) for a in ("tp", "cp", "pp"))
    faults = []
    ep = base.ep
    if ep is None:
        ep = _size(written, "ep")
    elif "ep" in written.sizes and written.sizes["ep"].value != ep:
        faults.append(_mismatch("ep", written.sizes["ep"].value, ep, written.sizes["ep"].span))
    return replace(base, tp=tp, cp=cp, pp=pp, ep=ep), tuple(faults)


def _size(written: Accelerator, axis: str) -> int | None:
    """The size of an axis as the file says it; None where it is not known."""
    if axis in written.sizes:
        return written.sizes[axis].value
    return 1 if written.implied and axis not in written.unread else None


def _mismatches(written: Accelerator, mesh: Mapping[str, int], ep: int | None) -> list[Fault]:
    """Sizes that the file declares against those of the mesh (R98, R99, R100). An axis that the mesh lacks has size 1;
    ep is compared only where something else than the file gives it."""
    found = []
    for axis in ("tp", "cp", "pp", "ep"):
        there = mesh.get(axis, ep if axis == "ep" else 1)
        number = written.sizes.get(axis)
        if there is None or (number is None and (not written.implied or axis in written.unread)):
            continue
        declared = number.value if number else 1
        if declared != there:
            found.append(_mismatch(axis, declared, there, number.span if number else written.span, number is None))
    return found


def _mismatch(
    axis: str, declared: int, mesh: int, span: Span = START, by_default: bool = False, given: bool = False
) -> Fault:
    return Fault(
        "size-mismatch", span, field=f"{axis}_size",
        data={"axis": axis, "declared": declared, "mesh": mesh, "by_default": by_default, "given": given},
    )  # fmt: skip
