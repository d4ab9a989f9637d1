"""Boundaries from an installed HyperParallel, in place of derivation: its planner runs in a child process."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from hplint.derive.boundary import Boundary
from hplint.derive.given import boundaries_from
from hplint.derive.run import RunShape
from hplint.errors import RequestError
from hplint.model.tree import ModuleTree

TIME_LIMIT = 300.0
"""Seconds that the planner may take, the import of its packages included."""
_HINT = 'set planner = "built-in" to derive boundaries without it'


def plan_boundaries(tree: ModuleTree, topology: RunShape, time_limit: float = TIME_LIMIT) -> dict[str, Boundary]:
    """The boundaries that HyperParallel derives for this model and topology, no overrides applied.

    It plans on a stand-in for the model (names, classes, parameters on the meta device) and for the mesh. Unknown sizes
    count as 1. Raises RequestError, in one line, when it is not installed, fails, or takes too long.
    """
    import subprocess

    # -P: nothing in the working directory may pass for a module; hplint itself may run from where it lies.
    here = str(Path(__file__).parents[2])
    path = os.pathsep.join(p for p in (os.environ.get("PYTHONPATH"), here) if p)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "hplint.model.plan_worker"],
            env={**os.environ, "PYTHONPATH": path},
            input=json.dumps(_question(tree, topology)),
            capture_output=True, encoding="utf-8", errors="replace", timeout=time_limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RequestError(f"HyperParallel's planner took more than {time_limit:g} seconds", _HINT) from None
    answer = _answer(done.stdout)
    if answer is None:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise RequestError(f"HyperParallel's planner could not be run: {reason}", _HINT)
    if answer.get("missing"):
        reason = f" ({answer['error']})" if answer["error"] else ""
        raise RequestError(f'planner = "hyper_parallel", but HyperParallel is not installed here{reason}', _HINT)
    if "error" in answer:
        raise RequestError(f"HyperParallel's planner failed: {answer['error']}", _HINT)
    try:
        return boundaries_from(answer["boundaries"])
    except ValueError as error:
        raise RequestError(f"HyperParallel's planner gave a boundary that hplint cannot read: {error}", _HINT) from None


def _question(tree: ModuleTree, topology: RunShape) -> dict[str, Any]:
    sizes = {axis: topology.size(axis) or 1 for axis in ("cp", "tp", "ep")}
    mesh = dict(topology.mesh or {a: sizes[a] for a in ("cp", "tp")})
    return {
        "tree": tree.to_json(),
        "mesh": mesh,
        "sizes": {f"{axis}_size": sizes[axis] for axis in ("tp", "cp", "ep")},
        "flags": {"sequence_parallel": topology.sequence_parallel, "loss_parallel": topology.loss_parallel},
    }


def _answer(text: str) -> dict[str, Any] | None:
    try:
        answer = json.loads(text)
    except json.JSONDecodeError:
        return None
    return answer if isinstance(answer, dict) else None
