"""Dry runs of fixture models in this process, and the same steps recorded on real ranks."""

from collections import Counter
from typing import Any

import torch
from applying import plan_for
from verifying import FIXTURES, PLANS, ROOT, make, spec_of

from hplint.apply.applied import sync_gradients
from hplint.apply.applier import apply_plan
from hplint.apply.dry_run.dry_ledger import Ledger, totals
from hplint.apply.dry_run.dry_run import dry_run
from hplint.apply.mesh.meshes import build_meshes
from hplint.apply.plan import ApplyPlan
from hplint.apply.run.request import ApplyOptions, ApplyRequest
from hplint.apply.verify.inputs import adopt_layouts, local_inputs, make_inputs
from hplint.apply.verify.probe import Probe, local, named_tensors
from hplint.model.build import model_request
from hplint.model.make_model import make_model
from hplint.model.spec import parse_spec
from hplint.resolve.topology import Topology


def entries(plan: str) -> str:
    """The entries of a plan file of fixtures/plans/apply; other text is entries already."""
    if not plan.endswith(".yaml"):
        return plan
    return (PLANS / plan).read_text(encoding="utf-8").partition("plan_overrides:\n")[2]


def request_of(spec: str) -> dict[str, Any]:
    """What the child processes are told of a model."""
    return dict(model_request(parse_spec(spec, ROOT), (str(FIXTURES / "conformance"),)))


def ranks_of(on: Topology) -> int:
    """The product of the sizes."""
    return (on.dp or 1) * (on.cp or 1) * (on.tp or 1)


def dry(model: str, plan: str, on: Topology, batch: int | None = None, src: tuple[str, ...] = ()) -> dict[str, Any]:
    """The ``dry_run`` object for a fixture model (or a spec) and a plan (a file, or entries)."""
    asked = request_of(model if ":" in model else spec_of(model))
    resolved = plan_for(make_model(dict(asked)), entries(plan), on, src)
    request = ApplyRequest(resolved, asked, model, ranks_of(on), ApplyOptions(dry_run=True, batch=batch))
    found: dict[str, Any] = dry_run(request)["dry_run"]
    return found


def recorded(model: str, plan: str, on: Topology, batch: int) -> dict[str, Any]:
    """Runs on each rank: the same step with values, recorded; some of the keys of a dry run."""
    whole = make(model, cp=on.cp or 1)
    resolved: ApplyPlan = plan_for(whole, entries(plan), on)
    meshes = build_meshes(on)
    inputs = make_inputs(whole, resolved, meshes, 0, torch.device("cpu"), batch)
    probe = Probe().watch(whole, [b.fqn for b in resolved.boundaries])
    whole(**inputs.values)
    adopt_layouts(inputs, resolved, {n: probe.taken[id(v)] for n, v in inputs.values.items() if id(v) in probe.taken})
    probe.close()
    ledger, gradients = Ledger(), Ledger()
    applied = apply_plan(whole, resolved, meshes, recorder=ledger)
    outputs = named_tensors(whole(**local_inputs(inputs, meshes)))
    sum(local(v).square().sum() for v in outputs.values() if v.requires_grad).backward()
    applied.recorder = gradients
    sync_gradients(whole)
    return {
        "boundaries": ledger.boundaries(),
        "gradients": totals(row for rows in gradients.boundaries().values() for row in rows),
        "bytes": sum(local(p.data).numel() * p.element_size() for p in whole.parameters()),
    }


def rows(found: dict[str, Any], estimated: bool = False) -> dict[str, Counter[tuple[Any, ...]]]:
    """FQN -> its rows, in no order; ``estimated`` keeps those that depend on the router."""
    told = found["boundaries"]
    by_name = told if isinstance(told, dict) else {b["module"]: b["communication"] for b in told}
    return {
        fqn: Counter(
            (r["name"], r["direction"], r["collective"], r["axis"], r["count"], r["bytes"])
            for r in communication
            if estimated or not r["estimated"]
        )
        for fqn, communication in by_name.items()
    }


def sent(found: dict[str, Any], fqn: str) -> list[tuple[str, str, str, str, int]]:
    """What one boundary sends: name, direction, collective, axis, bytes."""
    [boundary] = [b for b in found["boundaries"] if b["module"] == fqn]
    assert all(r["count"] == 1 for r in boundary["communication"])
    return [(r["name"], r["direction"], r["collective"], r["axis"], r["bytes"]) for r in boundary["communication"]]
