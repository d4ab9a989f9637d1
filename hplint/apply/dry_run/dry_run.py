"""--dry-run: what a plan costs on any mesh, without values and without other ranks.

torch's fake process group stands for all ranks, this process being rank 0; tensors are on the meta device. The plan is
applied by the very function that applies it to real models, and one step runs: forward, backward, sums of gradients.
"""

import copy
from dataclasses import dataclass, replace
from math import lcm
from typing import Any

import torch.distributed as dist
from torch import nn

from hplint.apply.applier import apply_plan
from hplint.apply.dry_run.dry_bytes import parameter_bytes
from hplint.apply.dry_run.dry_ledger import totals
from hplint.apply.dry_run.dry_step import Step, inputs_without_values, main_dtype, run_step
from hplint.apply.dry_run.equal_layers import EqualLayers, equal_layers
from hplint.apply.dry_run.without_values import WithoutValues, reason_of
from hplint.apply.errors import ApplyFailed, CannotApply
from hplint.apply.mesh.meshes import Meshes, build_meshes
from hplint.apply.plan import ApplyPlan
from hplint.apply.run.job import attention_for, of_styles, sizes
from hplint.apply.run.place import Place
from hplint.apply.run.request import ApplyRequest
from hplint.errors import RequestError
from hplint.model.failure import ModelError
from hplint.model.make_model import make_model
from hplint.model.meta_device import build_on_meta

LENGTH = 4096
"""Tokens of a sequence where nothing says how many."""
SEQUENCES = 1
"""Sequences of a data-parallel rank where nothing says how many."""


def dry_run(request: ApplyRequest, place: Place | None = None) -> dict[str, Any]:
    """The machine output of a dry run, as docs/dry-run.md describes it.

    Raises CannotApply where this process is part of a process group, RequestError where the model cannot be made,
    BoundaryError where the plan does not fit what flows through it.
    """
    if dist.is_initialized():
        raise CannotApply(
            "--dry-run makes a process group of its own, and this process has one already",
            "run it in a process of its own",
        )
    from torch.testing._internal.distributed.fake_pg import FakeStore

    place = place or Place()
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=request.ranks)
    try:
        place.at("making the meshes")
        meshes = build_meshes(request.plan.topology, "cpu")
        return _head(request) | {"dry_run": _DryRun(request, meshes, place).run()}
    finally:
        dist.destroy_process_group()


def _head(request: ApplyRequest) -> dict[str, Any]:
    return {
        "version": 1,
        "path": request.plan.path,
        "model": request.spec,
        "topology": request.plan.topology.to_json(),
        "mesh": sizes(request.plan.topology),
        "ranks": request.ranks,
        "applier": request.options.applier,
        "mode": request.options.mode,
        "backend": dist.get_backend(),
    } | of_styles(request.plan)


@dataclass(slots=True)
class _Measured:
    """``modules`` are the FQNs of the model, in its order."""

    parameters: dict[str, Any]
    step: Step
    dtype: str
    modules: list[str]


class _DryRun:
    def __init__(self, request: ApplyRequest, meshes: Meshes, place: Place) -> None:
        self.request, self.meshes, self.place = request, meshes, place
        self.sequences = request.options.batch or SEQUENCES
        self.plan = _with_length(request.plan)

    def run(self) -> dict[str, Any]:
        """Measure; where something cannot run without values, leave it out and measure anew."""
        trouble = WithoutValues(self.plan)
        measured: _Measured | None = None
        folds = True
        while measured is None:
            measured, folds = self._measure(trouble, folds)
        return self._to_json(measured, trouble)

    def _measure(self, trouble: WithoutValues, folds: bool) -> tuple[_Measured | None, bool]:
        self.place.at("making the model")
        model = self._make()
        trouble.leave_out_missing(model)
        trouble.prepare(model)
        plan = trouble.plan
        layers = equal_layers(model, plan) if folds else EqualLayers()
        dtype = str(main_dtype(model)).removeprefix("torch.")
        modules = [name for name, _ in model.named_modules()]
        step, inputs, runs = Step(), None, False
        try:
            inputs, runs = inputs_without_values(model, plan, self.meshes, self.sequences, layers)
        except RequestError as error:
            trouble.give_up(error.message.removeprefix("--verify "))
        self.place.at("applying the plan")
        try:
            applied = apply_plan(model, plan, self.meshes, recorder=step.boundaries)
        except ApplyFailed as error:
            if not trouble.give_way(error, error.boundary, runs):
                raise
            return None, folds
        parameters = parameter_bytes(model, applied.layouts, self.meshes)
        if inputs is None:
            return _Measured(parameters, step, dtype, modules), folds
        try:
            run_step(model, applied, inputs, step, layers, self.place)
        except Exception as error:
            if trouble.give_way(error, self.place.boundary, runs):
                return None, folds
            trouble.give_up(reason_of(error))
            return _Measured(parameters, Step(), dtype, modules), folds
        if layers.again:
            return None, False
        return _Measured(parameters, step, dtype, modules), folds

    def _make(self) -> nn.Module:
        attention = attention_for(self.plan.topology)
        try:
            model = make_model(dict(self.request.model), build_on_meta, attention)
        except ModelError as error:
            raise RequestError(f"the model cannot be made: {error.reason}", error.hint) from None
        if self.request.model["kind"] == "py":
            model = copy.deepcopy(model)  # a spec may name a module itself, which the next attempt would meet changed
        model.to(device="meta").eval()
        for parameter in model.parameters():
            parameter.requires_grad_(parameter.is_floating_point())
        return model

    def _to_json(self, measured: _Measured, trouble: WithoutValues) -> dict[str, Any]:
        told = measured.step.boundaries.boundaries()
        order = {name: i for i, name in enumerate(measured.modules)}
        boundaries: list[dict[str, Any]] = [
            {"module": fqn, "kind": b.kind if b else None, "place": b.place if b else "", "communication": rows}
            for fqn, rows in sorted(told.items(), key=lambda item: order.get(item[0], len(order)))
            for b in [self.plan.boundary(fqn)]
        ]
        gradients = [row for rows in measured.step.gradients.boundaries().values() for row in rows]
        return {
            "batch": self.sequences,
            "batch_is_given": self.request.options.batch is not None,
            "seq_len": self.plan.topology.seq_len,
            "seq_len_is_given": self.request.plan.topology.seq_len is not None,
            "dtype": measured.dtype,
            "output_dtypes": measured.step.activations,
            "parameters": measured.parameters,
            "boundaries": boundaries,
            "totals": totals(row for b in boundaries for row in b["communication"]),
            "gradients": totals(gradients),
            "not_counted": [o.to_json() for o in trouble.omissions],
        }


def _with_length(plan: ApplyPlan) -> ApplyPlan:
    topology = plan.topology
    if topology.seq_len is not None:
        return plan
    step = lcm(2 * (topology.cp or 1) * (topology.tp or 1), 2)
    return replace(plan, topology=replace(topology, seq_len=step * -(-LENGTH // step)))
