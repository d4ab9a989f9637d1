"""hplint --apply on the command line, as far as it comes without ranks: what is refused, and how."""

import json
from pathlib import Path

import pytest

from hplint.cli.main import run

ROOT = Path(__file__).parent.parent.parent
PLAN = "fixtures/plans/apply/stack.yaml"
MODEL = ("--model", "py:fixtures/models/runnable.py:stack")
ON = (*MODEL, "--mesh", "tp=2")


@pytest.fixture(autouse=True)
def _stand_in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*ON, "--verify"), "--verify says how to apply a plan, but --apply is not given"),
        ((*ON, "--seed", "0"), "--seed says how to apply a plan, but --apply is not given"),
        (("--apply",), "--apply needs a model, and none is named"),
        (("--apply", *MODEL), "--apply needs the sizes of the mesh, and none are known"),
        (("--apply", *ON, "--mesh", "cp=2"), "--apply runs on one mesh; there are 2: `tp=2` and `cp=2`"),
        (("--apply", *ON, "--nproc", "3"), "--nproc asks for 3 ranks, and the mesh tp=2 has 2"),
        (("--apply", *MODEL, "--mesh", "tp=2,pp=2"), "the mesh has pp=2: a pipeline cannot be applied"),
        (("--apply", *ON, "--inputs", "x:y"), "--inputs gives the inputs of --verify, which is not asked for"),
        (("--apply", *ON, "--verify", "--inputs", "x"), "--inputs: `x` names no function"),
        (("--apply", *ON, "--verify", "--dry-run"), "--verify and --dry-run exclude each other"),
        (("--apply", *ON, "--add-ignore"), "--add-ignore and --apply exclude each other"),
        (("--apply", *ON, "--watch"), "--watch and --apply exclude each other"),
        (("--apply", *ON, "--fix"), "--fix and --apply exclude each other"),
        (("--apply", *ON, "--show-files"), "--show-files and --apply exclude each other"),
        (("--apply", *ON, "--output-format", "sarif"), "--apply reports as full or json, not as sarif"),
        (("--apply", *ON, "--applier", "hyper_parallel", "--verify"), "--verify works on hplint's own applier"),
        (("--apply", *ON, "--applier", "hyper_parallel"), "HyperParallel is not installed here"),
    ],
)
def test_a_request_that_makes_no_sense_exits_with_2(arguments, message, capsys):
    assert run([PLAN, *arguments]) == 2
    told = capsys.readouterr()
    assert message in told.err and told.out == ""


def test_a_model_of_names_and_shapes_alone_cannot_run(capsys):
    plan = "fixtures/plans/apply/toy.yaml"
    assert run([plan, "--apply", "--model", "tree:fixtures/trees/toy.json", "--mesh", "tp=2"]) == 2
    assert "has names and shapes alone: --apply needs a model that can run" in capsys.readouterr().err


def test_several_plans_are_refused_with_a_word_on_how_to_name_one(capsys, tmp_path):
    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_bytes((ROOT / PLAN).read_bytes())
    assert run([str(tmp_path), "--apply", *ON]) == 2
    told = capsys.readouterr().err
    assert "--apply takes one plan; there are 2: " in told and "name the file of one" in told


TWO = """\
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


def apply(model, mesh, deep):
    plan = {"model.layers.*.mlp.up_proj": ColwiseParallel(), "model.layers.*.mlp.gate_proj": ColwiseParallel()}
    plan["model.layers.*.mlp.down_proj"] = RowwiseParallel()
    if deep:
        plan["model.layers.*.self_attn.o_proj"] = RowwiseParallel()
    else:
        plan["model.layers.*.mlp.act_fn"] = None
        plan["model.embed_tokens"] = ColwiseParallel()
    parallelize_module(model, mesh, plan)
"""


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ((), "holds 2 plans"),
        (("--plan", "plan"), "holds 2 plans, 2 of them called `plan`"),
        (("--plan", "paln"), "did you mean `plan`?"),
        (("--plan", "3"), "holds no plan `3`"),
    ],
)
def test_a_file_with_several_plans_is_refused_with_a_list_of_them(wanted, message, capsys, tmp_path):
    (tmp_path / "plans.py").write_text(TWO, encoding="utf-8")
    asked = ("--apply", *wanted, "--model", "hf:fixtures/configs/tiny_llama", "--mesh", "tp=2", "--ignore", "HPL606")
    assert run([str(tmp_path / "plans.py"), *asked]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "1: plan of line 5, 4 entries; 2: plan of line 5, 4 entries" in told


class Launched(BaseException):
    """Ranks would start now."""


def test_one_of_several_plans_is_applied_by_its_number(tmp_path, monkeypatch):
    taken = []

    def launch(request):
        taken.append(repr(request.plan.styles))
        raise Launched

    monkeypatch.setattr("hplint.apply.run.launch.launch", launch)
    (tmp_path / "plans.py").write_text(TWO, encoding="utf-8")
    asked = ("--model", "hf:fixtures/configs/tiny_llama", "--mesh", "tp=2", "--ignore", "HPL606")
    for number in ("1", "2"):
        with pytest.raises(Launched):
            run([str(tmp_path / "plans.py"), "--apply", "--plan", number, *asked])
    assert sorted("embed_tokens" in plan for plan in taken) == [False, True]
    assert sorted("self_attn.o_proj" in plan for plan in taken) == [False, True]


def test_a_plan_with_errors_is_refused_before_any_rank_starts(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("hplint.apply.run.launch.launch", lambda request: pytest.fail("ranks were started"))
    plan = tmp_path / "plan.yaml"
    plan.write_text((ROOT / PLAN).read_text(encoding="utf-8").replace("up.weight", "op.weight"), encoding="utf-8")
    assert run([str(plan), "--apply", *ON, "--output-format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [f["code"] for f in report["findings"]] == ["HPL104"]


@pytest.mark.parametrize(
    ("mesh", "flags", "ranks", "dp"),
    [
        (("--mesh", "tp=2"), (), 2, 1),
        (("--mesh", "dp=3,tp=2"), (), 6, 3),
        ((), (), 2, 1),
        ((), ("--nproc", "8"), 8, 4),
    ],
)
def test_the_ranks_are_those_of_the_mesh_and_an_unknown_dp_takes_what_is_left(
    mesh, flags, ranks, dp, tmp_path, monkeypatch
):
    asked = []
    monkeypatch.setattr("hplint.apply.run.launch.launch", lambda request: asked.append(request) or {"verified": {}})
    monkeypatch.setattr("hplint.cli.apply._report", lambda result, voice: None)
    plan = tmp_path / "plan.yaml"
    text = (ROOT / PLAN).read_text(encoding="utf-8")
    plan.write_text(text if mesh else "accelerator: {tp_size: 2}\n" + text, encoding="utf-8")
    assert run([str(plan), "--apply", *MODEL, *mesh, *flags, "--seed", "5", "--time-limit", "9"]) == 0
    [request] = asked
    assert (request.ranks, request.plan.topology.dp, request.plan.topology.tp) == (ranks, dp, 2)
    assert (request.options.seed, request.options.time_limit, request.options.job) == (5, 9.0, "apply")
    assert [b.fqn for b in request.plan.boundaries] == ["layers.0", "layers.1", "mishap"]


def test_an_ignored_error_still_keeps_a_plan_from_being_applied(capsys, tmp_path):
    plan = tmp_path / "plan.yaml"
    text = (ROOT / PLAN).read_text(encoding="utf-8")
    plan.write_text(text + "  - match: no.such.module  # hplint: ignore[HPL101]\n    out_dst: auto\n", encoding="utf-8")
    model = f"py:{ROOT}/fixtures/models/runnable.py:stack"
    assert run([str(plan), "--apply", "--model", model, "--mesh", "tp=2"]) == 1
    told = capsys.readouterr().err
    assert "HPL101" in told and "cannot run with them" in told


def test_a_plan_that_replaces_modules_is_refused(capsys):
    model = ("--model", "py:fixtures/conformance/toy_models.py:toy")
    assert run(["fixtures/plans/ok/toy_replacements.yaml", "--apply", *model, "--mesh", "tp=2"]) == 2
    assert "replaces modules, which is not applied here" in capsys.readouterr().err
