"""Verify plans inside of the shared ranks: what the command line does there, without starting processes."""

from pathlib import Path
from typing import Any

import torch

from hplint.apply.mesh.meshes import build_meshes
from hplint.apply.plan import ApplyPlan
from hplint.apply.run.job import attention_for
from hplint.apply.run.model_values import model_with_values
from hplint.apply.verify.verify import verify
from hplint.model.build import model_request
from hplint.model.spec import parse_spec

ROOT = Path(__file__).parent.parent.parent
FIXTURES = ROOT / "fixtures"
PLANS = FIXTURES / "plans" / "apply"


def spec_of(model: str) -> str:
    """``tiny_llama`` is a folder of fixtures/configs, ``toy`` a factory of the toy models."""
    if model.startswith("tiny_"):
        return f"hf:{FIXTURES / 'configs' / model}"
    return f"py:{FIXTURES / 'conformance' / 'toy_models.py'}:{model}"


def make(model: str, plan: ApplyPlan | None = None, cp: int = 1) -> torch.nn.Module:
    """A model of the fixtures with seeded values."""
    attention = attention_for(plan.topology) if plan else "sdpa" if cp > 1 else "eager"
    request = model_request(parse_spec(spec_of(model), ROOT), (str(FIXTURES / "conformance"),))
    return model_with_values(request, 0, torch.device("cpu"), attention)


def verified(
    model: str,
    plan: str,
    mesh: dict[str, int],
    mode: str = "local",
    ep: int = 1,
    src: tuple[str, ...] = (),
    **flags: Any,
) -> dict[str, Any]:
    """Runs on each rank: check the plan (a file of fixtures/plans/apply, or text), apply it, compare."""
    from hplint.apply.live import resolve_plan

    torch.use_deterministic_algorithms(True)
    text = str(PLANS / plan) if "\n" not in plan else plan
    resolved = resolve_plan(text, make(model, cp=mesh.get("cp", 1)), mesh, ep=ep, src=src, **flags)
    return verified_plan(model, resolved, mode)


def verified_plan(model: str, plan: ApplyPlan, mode: str = "local") -> dict[str, Any]:
    """Runs on each rank: apply a resolved plan, compare."""
    meshes = build_meshes(plan.topology)
    return verify(lambda: make(model, plan), plan, meshes, mode).to_json()  # type: ignore[arg-type]


def unlinted(model: str, plan: str, sequence_parallel: bool, mode: str, mesh: dict[str, int]) -> dict[str, Any]:
    """Runs on each rank: a plan (its entries alone) that the linter would not let pass, applied and compared."""
    from applying import plan_for, topology

    return verified_plan(model, plan_for(make(model), plan, topology(sequence_parallel, **mesh)), mode)
