"""Ranks started by the command itself or by torchrun: reports, and ranks that end, hang or fail in the middle."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parent.parent.parent
PLAN = "fixtures/plans/apply/stack.yaml"
HPLINT = (sys.executable, "-m", "hplint")
pytestmark = pytest.mark.xdist_group("launch")


def _model(happens: str = "") -> tuple[str, ...]:
    return ("--model", f"py:fixtures/models/runnable.py:stack?happens={happens}", "--mesh", "tp=2")


def _variables(**more: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)} | more


def _run(*command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, cwd=ROOT, env=_variables(**variables), capture_output=True, text=True, timeout=300, check=False
    )


def test_verify_reports_every_output_and_gradient_as_json():
    done = _run(*HPLINT, PLAN, *_model(), "--apply", "--verify", "--output-format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert (report["version"], report["path"], report["ranks"], report["mesh"]) == (1, PLAN, 2, {"tp": 2})
    verified = report["verified"]
    assert (verified["agrees"], verified["first_difference"], verified["fault"]) == (True, None, None)
    assert [c["name"] for c in verified["outputs"]] == ["output"]
    assert [c["name"] for c in verified["gradients"]] == [
        f"layers.{n}.{part}.{kind}" for n in (0, 1) for part in ("up", "down") for kind in ("weight", "bias")
    ]


def test_applying_alone_tells_what_was_cut_and_how_much_each_rank_holds():
    done = _run(*HPLINT, PLAN, *_model(), "--apply")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"Applied {PLAN} to py:fixtures/models/runnable.py:stack?happens= on tp=2 (2 ranks, gloo, mode local).",
        "  3 boundaries, 3 touched by the plan",
        "  6 parameters sharded, 1.1 KiB a rank",
        "  2 parameters whole on each rank, 64 B",
    ]


def test_a_rank_that_is_killed_takes_the_others_down_with_one_message():
    done = _run(*HPLINT, PLAN, *_model("kill"), "--apply", "--verify")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "error: rank 1 failed (the sharded forward, in `mishap`): "
        "it was killed by signal 9 (SIGKILL), as it is when memory runs out",
        "help: the last line that it wrote: about to kill",
    ]


def test_a_rank_that_raises_alone_is_named_with_its_boundary():
    done = _run(*HPLINT, PLAN, *_model("raise"), "--apply", "--verify")
    assert (done.returncode, done.stderr) == (1, "")
    assert "  on 1 rank of 2 (1): the sharded forward raised KeyError: 'no such expert'\n" in done.stdout
    assert f"  stopped in mishap  {PLAN}:13\n" in done.stdout


def test_a_rank_that_hangs_ends_the_run_at_the_time_limit():
    for limit in (12, 90):  # the ranks have to import torch first, which takes long on a busy machine
        start = time.monotonic()
        done = _run(*HPLINT, PLAN, *_model("hang"), "--apply", "--verify", "--time-limit", str(limit))
        assert (done.returncode, done.stdout) == (2, "")
        assert time.monotonic() - start >= limit
        assert done.stderr.startswith(f"error: the ranks were not done after {limit} seconds (rank")
        if "mishap" in done.stderr:
            break
    assert "(rank 0: the sharded forward, in `layers.1`; rank 1: the sharded forward, in `mishap`)\n" in done.stderr


def test_an_interrupt_ends_all_ranks():
    command = [*HPLINT, PLAN, *_model("hang"), "--apply", "--verify"]
    process = subprocess.Popen(command, cwd=ROOT, env=_variables(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ranks: list[str] = []
    until = time.monotonic() + 200
    while len(ranks) < 2 and time.monotonic() < until:
        found = subprocess.run(["pgrep", "-P", str(process.pid), "-f", "hplint.apply.run.rank"], capture_output=True)
        ranks = found.stdout.decode().split()
        time.sleep(0.1)
    assert len(ranks) == 2
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)


TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--no-python", "--")


def test_under_torchrun_it_joins_the_group_and_one_rank_reports():
    done = _run(*TORCHRUN, *HPLINT, PLAN, *_model(), "--apply", "--verify", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("computes what the unsharded one does") == 1


def test_under_torchrun_a_wrong_request_is_told_once():
    done = _run(*TORCHRUN, *HPLINT, PLAN, *_model()[:2], "--mesh", "tp=4", "--apply", OMP_NUM_THREADS="1")
    assert done.returncode != 0
    assert done.stderr.count("torchrun started 2 ranks, and the mesh tp=4 has 4") == 1


STUB = """\
import torch.distributed as dist
from torch import nn


class ModuleShardingSpec:
    def __init__(self, **fields):
        self.__dict__.update(fields)


class ShardingPlanner:
    def __init__(self, plan_overrides, derive=True, allow_uncovered_params=False):
        assert not derive
        self.overrides = plan_overrides

    def plan(self, model, mesh, **sizes):
        assert (mesh.mesh_dim_names, sizes["tp_size"], sizes["sequence_parallel"]) == (("tp",), 2, False)
        return self


def apply_sharding_plan(model, plan, mesh):
    spec = plan.overrides["layers.0"]
    assert spec.params["up.weight"]["tp"].dim == 0 and spec.out_src["output"]["tp"].is_partial()
    assert dist.get_world_size() == 2 and isinstance(model, nn.Module)
    open(f"FOLDER/applied-{dist.get_rank()}", "w").close()
"""


def test_a_plan_is_handed_to_an_installed_hyper_parallel(tmp_path):
    package = tmp_path / "hyper_parallel" / "distributed"
    package.mkdir(parents=True)
    (tmp_path / "hyper_parallel" / "__init__.py").write_text("", encoding="utf-8")
    (package / "__init__.py").write_text(STUB.replace("FOLDER", str(tmp_path)), encoding="utf-8")
    done = _run(
        *HPLINT, PLAN, *_model(), "--apply", "--applier", "hyper_parallel", PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "by HyperParallel on tp=2 (2 ranks, gloo)." in done.stdout
    assert {p.name for p in tmp_path.glob("applied-*")} == {"applied-0", "applied-1"}


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_ranks_get_a_cuda_device_each_where_there_are_enough():
    done = _run(*HPLINT, PLAN, *_model(), "--apply", "--verify", "--output-format", "json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["backend"], report["verified"]["agrees"]) == (0, "nccl", True)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_one_rank_on_cuda_verifies():
    plan = "fixtures/plans/apply/dense.yaml"
    model = ("--model", "hf:fixtures/configs/tiny_llama", "--mesh", "tp=1")
    done = _run(*HPLINT, plan, *model, "--apply", "--verify", "--output-format", "json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["backend"], report["verified"]["agrees"]) == (0, "nccl", True)
