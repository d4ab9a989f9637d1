"""hplint --apply --dry-run on the command line: what is refused, and one run from end to end."""

import json
from pathlib import Path

import pytest

from hplint.cli.main import run

ROOT = Path(__file__).parent.parent.parent
PLAN = "fixtures/plans/apply/dense.yaml"
MODEL = ("--model", "fixtures/configs/tiny_llama")
DRY = (PLAN, *MODEL, "--apply", "--dry-run")


@pytest.fixture(autouse=True)
def _stand_in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((PLAN, *MODEL, "--dry-run"), "--dry-run says how to apply a plan, but --apply is not given"),
        ((PLAN, *MODEL, "--batch", "2"), "--batch says how to apply a plan, but --apply is not given"),
        ((PLAN, *MODEL, "--apply", "--batch", "2"), "--batch says how much flows in --dry-run, which is not asked for"),
        ((*DRY, "--mesh", "tp=2", "--nproc", "2"), "--dry-run starts no ranks: --nproc has no meaning"),
        ((*DRY, "--mesh", "tp=2", "--verify"), "--verify and --dry-run exclude each other"),
        ((*DRY, "--mesh", "tp=2", "--inputs", "x:y"), "--inputs gives the inputs of --verify, which is not asked for"),
        ((*DRY, "--mesh", "tp=2", "--mode", "validate"), "--dry-run counts in mode local, not in mode validate"),
        ((*DRY, "--mesh", "tp=2", "--batch", "0"), "--batch"),
        (DRY, "--apply needs the sizes of the mesh, and none are known"),
        ((*DRY, "--mesh", "dp=8,tp=2,pp=4"), "a pipeline cannot be applied"),
    ],
)
def test_a_request_that_makes_no_sense_exits_with_2(arguments, message, capsys, monkeypatch):
    monkeypatch.setattr("hplint.apply.run.launch.launch", lambda request: pytest.fail("a process was started"))
    assert run([*arguments]) == 2
    told = capsys.readouterr()
    assert message in told.err and told.out == ""


def test_under_torchrun_it_is_refused(capsys, monkeypatch):
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    assert run([*DRY, "--mesh", "tp=2"]) == 2
    assert "--dry-run needs one process alone" in capsys.readouterr().err


def test_a_plan_with_errors_is_refused_before_anything_runs(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("hplint.apply.run.launch.launch", lambda request: pytest.fail("a process was started"))
    plan = tmp_path / "plan.yaml"
    plan.write_text((ROOT / PLAN).read_text(encoding="utf-8") + "  - match: model.layerz.0.mlp\n", encoding="utf-8")
    assert run([str(plan), *MODEL, "--mesh", "tp=2", "--apply", "--dry-run", "--output-format", "json"]) == 1
    assert [f["code"] for f in json.loads(capsys.readouterr().out)["findings"]] == ["HPL101"]


def test_8192_ranks_are_counted_in_one_process(capsys, tmp_path):
    report = tmp_path / "dry.json"
    formats = ("--output-format", "full", "--output-format", f"json:{report}")
    sizes = ("--mesh", "dp=2048,cp=2,tp=2", "--sequence-parallel", "--seq-len", "64", "--batch", "3")
    assert run([*DRY, *sizes, *formats]) == 0
    told = capsys.readouterr()
    assert told.out.startswith(f"Dry run of {PLAN}: fixtures/configs/tiny_llama on dp=2048,cp=2,tp=2 (8,192 ranks).\n")
    found = json.loads(report.read_text(encoding="utf-8"))
    assert (found["ranks"], found["backend"], found["path"]) == (8192, "fake", PLAN)
    assert (found["dry_run"]["batch"], found["dry_run"]["seq_len"]) == (3, 64)
    assert found["dry_run"]["not_counted"] == []
