"""--verify: the unsharded and the sharded model on the same inputs, outputs and every gradient compared."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from hplint.apply.applied import full_gradient, sync_gradients
from hplint.apply.applier import Mode, apply_plan
from hplint.apply.errors import BoundaryError, LayoutMismatch, hint_on
from hplint.apply.mesh.meshes import Meshes, device_of
from hplint.apply.mesh.shares import Owners
from hplint.apply.plan import ApplyPlan, AxisLayout
from hplint.apply.run.peers import is_lost_peer
from hplint.apply.run.place import Place
from hplint.apply.verify.blame import blame
from hplint.apply.verify.compare import NEIGHBOUR, Comparison, compare, largest, worst
from hplint.apply.verify.inputs import Inputs, adopt_layouts, data_part, local_inputs, make_inputs
from hplint.apply.verify.parts import layout_of_output, part, settled
from hplint.apply.verify.probe import Probe, is_finite, local, named_tensors
from hplint.errors import HplintError, RequestError


@dataclass(slots=True)
class Fault:
    """Why the sharded model did not come to its outputs. ``boundary`` is the FQN where it stopped, or ``behind`` which
    it did, None before the first one; ``declared`` and ``actual`` (axis -> placement) tell a layout that validate mode
    did not find. ``ranks`` are those that told it."""

    message: str
    boundary: str | None
    declared: Mapping[str, str] = field(default_factory=dict)
    actual: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""
    behind: bool = False
    ranks: list[int] = field(default_factory=lambda: [dist.get_rank()])


@dataclass(slots=True)
class Verification:
    """What --verify found. ``first`` is the first boundary that differs (FQN), None where all agree or where none can
    be blamed."""

    outputs: list[Comparison] = field(default_factory=list)
    gradients: list[Comparison] = field(default_factory=list)
    first: str | None = None
    fault: Fault | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """Whether the sharded model computes what the unsharded one does."""
        return self.fault is None and all(c.agrees for c in (*self.outputs, *self.gradients))

    def to_json(self) -> dict[str, Any]:
        """The ``verified`` object of the machine output."""
        return {
            "agrees": self.agrees,
            "first_difference": self.fault.boundary if self.fault else self.first,
            "fault": asdict(self.fault) if self.fault else None,
            "outputs": [c.to_json() for c in self.outputs],
            "gradients": [c.to_json() for c in self.gradients],
            "notes": self.notes,
        }


Make = Callable[[], nn.Module]
"""Makes the model, with the same values at each call and on each rank."""


def verify(
    make: Make,
    plan: ApplyPlan,
    meshes: Meshes,
    mode: Mode = "local",
    seed: int = 0,
    inputs: Inputs | None = None,
    place: Place | None = None,
) -> Verification:
    """Run both models and compare them; every rank calls it and gets the same answer.

    Raises RequestError where the unsharded model cannot run, CannotApply and ApplyFailed where the plan cannot be
    applied; what goes wrong in the sharded model's forward and backward is the answer's ``fault``.
    """
    place = place or Place()
    place.at("making the unsharded model")
    run = _Run(make, plan, meshes, mode, place, device_of(meshes))
    reference = make()
    if inputs is None:
        inputs = make_inputs(reference, plan, meshes, seed, run.device)
    wanted = run.unsharded(reference, inputs, seed)
    place.at("making the model to shard")
    model = make()
    place.at("applying the plan")
    applied = apply_plan(model, plan, meshes, mode=mode)
    mine = local_inputs(inputs, meshes)
    try:
        found = run.sharded(model, mine, inputs, wanted)
    except Exception as error:
        if is_lost_peer(error):
            raise
        return Verification(fault=_fault(error, place), notes=inputs.notes)
    place.at("comparing")
    outputs = _gathered(found)
    gradients = _gathered(run.gradients(model, reference, wanted.gradients, applied.parted))
    result = Verification(outputs, gradients)
    if not result.agrees:
        result.notes = list(inputs.notes)
        place.at("looking for the first boundary that differs")
        if plan.styles is None:
            result.first = blame(outputs, gradients, reference, model, inputs, plan, meshes)
        else:
            from hplint.apply.styles.blame import first_that_differs

            result.first = first_that_differs(result, reference, model, mine, meshes, plan.styles.words)
    return result


@dataclass(slots=True)
class _Wanted:
    outputs: dict[str, Tensor]
    cotangents: dict[str, Tensor]
    gradients: dict[str, Tensor]


@dataclass(slots=True)
class _Run:
    make: Make
    plan: ApplyPlan
    meshes: Meshes
    mode: Mode
    place: Place
    device: torch.device

    def unsharded(self, model: nn.Module, inputs: Inputs, seed: int) -> _Wanted:
        """Outputs and gradients of the whole model on the whole batch; learns how inputs are laid out."""
        self.place.at("the unsharded model")
        probe = Probe().watch(model, self._names())
        try:
            outputs = named_tensors(model(**inputs.values))
            taken = {n: probe.taken[id(v)] for n, v in inputs.values.items() if id(v) in probe.taken}
        except Exception as error:
            raise _cannot_run(model, error) from error
        finally:
            probe.close()
        adopt_layouts(inputs, self.plan, taken)
        if not outputs:
            raise RequestError("the model returns no float tensor: there is nothing to compare")
        for name, value in outputs.items():
            if not is_finite(value):
                raise RequestError(
                    f"output `{name}` of the unsharded model is not finite on seeded values",
                    "try another --seed, or give --inputs module:function",
                )
        generator = torch.Generator("cpu").manual_seed(seed + 1)
        cotangents = {n: torch.randn(v.shape, generator=generator).to(v) for n, v in outputs.items()}
        loss = sum((v * cotangents[n]).sum() for n, v in outputs.items() if v.requires_grad)
        if isinstance(loss, Tensor):
            loss.backward()  # type: ignore[no-untyped-call]
        whole = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
        return _Wanted({n: v.detach() for n, v in outputs.items()}, cotangents, whole)

    def sharded(self, model: nn.Module, mine: Mapping[str, Any], inputs: Inputs, wanted: _Wanted) -> list[Comparison]:
        """Forward and backward of the sharded model on this rank's part of the inputs; its outputs compared here."""
        self.place.follow(model, self.plan)
        self.place.at("the sharded forward")
        probe = Probe().watch(model, self._names())
        try:
            raw = model(**mine)
            outputs = named_tensors(raw)
            layouts = {n: self._layout(n, v, probe, inputs, wanted) for n, v in outputs.items()}
        finally:
            probe.close()
        compared, loss = [], torch.zeros((), device=self.device)
        for name, whole in wanted.outputs.items():
            if name not in outputs:
                compared.append(Comparison(name, float("inf"), largest(whole), "is missing"))
                continue
            value = local(outputs[name])
            expected = part(whole, layouts[name], inputs.batch, self.meshes)
            compared.append(compare(name, settled(value.detach(), layouts[name], self.meshes), expected))
            cotangent = part(wanted.cotangents[name], layouts[name], inputs.batch, self.meshes)
            if value.requires_grad and cotangent.shape == value.shape:
                loss = loss + (value * cotangent).sum()
        self.place.at("the sharded backward")
        if loss.requires_grad:
            loss.backward()  # type: ignore[no-untyped-call]
        self.place.at("summing gradients")
        sync_gradients(model)
        return compared

    def gradients(
        self, model: nn.Module, reference: nn.Module, whole: Mapping[str, Tensor], parted: Mapping[str, str]
    ) -> list[Comparison]:
        """Every gradient on this rank; those of stacked experts against the stack of theirs. Of tied parameters that
        were ``parted`` (name -> first name) the first one has to have the sum, and the others differ for that alone."""
        wanted = self._stacked(reference, whole)
        owners = Owners(self.plan)
        floors: dict[str, float] = {}
        for name, gradient in wanted.items():
            owner = owners.of(name) or ""
            floors[owner] = max(floors.get(owner, 0.0), NEIGHBOUR * largest(gradient))
        compared = []
        for name, _ in model.named_parameters():
            expected, found = wanted.get(name), full_gradient(model, name)
            if name in parted:
                reason = f"is not tied to `{parted[name]}` any more: the two drift apart from the first step on"
                compared.append(Comparison(name, float("inf"), largest(wanted.get(parted[name])), reason))
                continue
            for other in (n for n, first in parted.items() if first == name):
                found = _sum(found, full_gradient(model, other))
            known = expected if expected is not None else found
            if known is not None:
                # A parameter that nothing uses has no gradient in one model and may have one of zeros in the other.
                expected = torch.zeros_like(known) if expected is None else expected
                found = torch.zeros_like(known) if found is None else found
                compared.append(compare(name, found, expected, floors.get(owners.of(name) or "", 0.0)))
        here = {name for name, _ in model.named_parameters()}
        lost = [n for n in wanted if n not in here]
        return compared + [Comparison(n, float("inf"), largest(wanted[n]), "is no parameter any more") for n in lost]

    def _stacked(self, reference: nn.Module, whole: Mapping[str, Tensor]) -> dict[str, Tensor]:
        wanted = dict(whole)
        parameters = dict(reference.named_parameters())
        for boundary in self.plan.boundaries:
            prefix = f"{boundary.fqn}." if boundary.fqn else ""
            for stacked, parts in boundary.ep_stack.items():
                names = [prefix + part for part in parts]
                if all(n in parameters for n in names):
                    found = [wanted.pop(n, None) for n in names]
                    wanted[prefix + stacked] = torch.stack(
                        [torch.zeros_like(parameters[n]) if g is None else g for n, g in zip(names, found, strict=True)]
                    )
        return wanted

    def _layout(self, name: str, value: Tensor, probe: Probe, inputs: Inputs, wanted: _Wanted) -> AxisLayout:
        whole = data_part(wanted.outputs[name], inputs.batch, self.meshes) if name in wanted.outputs else value
        return layout_of_output(value, whole, probe.made.get(id(value)), self.plan, self.meshes)

    def _names(self) -> list[str]:
        return [b.fqn for b in self.plan.boundaries]


def _sum(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    return other if one is None else one if other is None else one + other


def _gathered(mine: list[Comparison]) -> list[Comparison]:
    everywhere: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, mine)
    return worst(everywhere)


def _cannot_run(model: nn.Module, error: Exception) -> HplintError:
    reason = next(iter(str(error).splitlines()), "")
    return RequestError(
        f"the unsharded {type(model).__name__} cannot run: {type(error).__name__}: {reason}",
        "if the made-up inputs do not fit, give your own: --inputs module:function",
    )


def _fault(error: Exception, place: Place) -> Fault:
    behind = place.boundary is None and place.last is not None
    at = place.last if behind else place.boundary
    if isinstance(error, LayoutMismatch):
        return Fault(error.message, error.boundary, error.declared, error.actual, error.hint)
    if isinstance(error, BoundaryError):
        return Fault(error.message, error.boundary, hint=error.hint)
    if isinstance(error, HplintError):
        return Fault(error.message, at, hint=error.hint, behind=behind)
    reason = next(iter(str(error).splitlines()), "")
    hint = hint_on(error)
    return Fault(f"{place.phase} raised {type(error).__name__}: {reason}", at, hint=hint, behind=behind)
