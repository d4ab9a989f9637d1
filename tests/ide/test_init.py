"""hplint init: every file that it writes is read by the tool that it is for."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator

from hplint.cli.main import run
from hplint.ide.jsonc import parse

ROOT = Path(__file__).parent.parent.parent
TARGETS = ("github", "gitlab", "pre-commit", "vscode")
PLAN = "# hplint: model=tree:../toy.json mesh=dp=2,tp=2\n- match: model.layers.0.mlp\n  out_dst: auto\n"
Init = Callable[..., tuple[int, str, str]]
CHECKER = shutil.which("check-jsonschema") or shutil.which("check-jsonschema", path=str(Path(sys.executable).parent))


@pytest.fixture
def init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Init:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "good.yaml").write_text(PLAN, encoding="utf-8")
    shutil.copy(ROOT / "fixtures" / "trees" / "toy.json", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(["init", *arguments])
        return code, *capsys.readouterr()

    return call


def files(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file() and ".cache" not in p.parts
    }


@pytest.mark.parametrize("target", TARGETS)
def test_a_second_time_nothing_changes(init: Init, tmp_path: Path, target: str) -> None:
    code, out, err = init(target)
    assert (code, err) == (0, "") and " is written\n" in out
    before = files(tmp_path)
    code, out, _ = init(target)
    assert code == 0 and "written" not in out and files(tmp_path) == before


@pytest.mark.parametrize("target", TARGETS)
def test_stdout_writes_nothing(init: Init, tmp_path: Path, target: str) -> None:
    before = files(tmp_path)
    assert init(target, "--stdout")[1] and files(tmp_path) == before


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("github", ".github/workflows/hplint.yml"),
        ("gitlab", ".gitlab-ci.yml"),
        ("pre-commit", ".pre-commit-config.yaml"),
        ("vscode", ".vscode/tasks.json"),
    ],
)
def test_what_is_there_is_never_overwritten_unasked(init: Init, tmp_path: Path, target: str, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("other: 1\n", encoding="utf-8")
    code, out, err = init(target)
    assert code == 2 and name in err and f"{name} is there already; add this to it:" in out and "hplint" in out
    assert path.read_text(encoding="utf-8") == "other: 1\n"
    assert init(target, "--force")[0] == 0
    assert "hplint" in path.read_text(encoding="utf-8")


@pytest.mark.skipif(CHECKER is None, reason="needs check-jsonschema, which carries the schemas of both")
@pytest.mark.parametrize(
    ("target", "name", "schema"),
    [("github", ".github/workflows/hplint.yml", "github-workflows"), ("gitlab", ".gitlab-ci.yml", "gitlab-ci")],
)
def test_ci_files_are_valid(init: Init, target: str, name: str, schema: str) -> None:
    assert init(target)[0] == 0
    done = subprocess.run(
        [str(CHECKER), "--builtin-schema", f"vendor.{schema}", name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_of_each_ci_file_runs(init: Init, capsys: pytest.CaptureFixture[str]) -> None:
    init("github")
    init("gitlab")
    steps = yaml.safe_load(Path(".github/workflows/hplint.yml").read_text(encoding="utf-8"))["jobs"]["hplint"]["steps"]
    matcher, command = steps[-1]["run"].splitlines()
    assert Path(matcher.removeprefix('echo "::add-matcher::').removesuffix('"')).is_file()
    job = yaml.safe_load(Path(".gitlab-ci.yml").read_text(encoding="utf-8"))["hplint"]
    for line in (command, job["script"][-1]):
        program, *arguments = line.split()
        assert program == "hplint" and run(arguments) == 0
    assert json.loads(Path(job["artifacts"]["reports"]["codequality"]).read_text(encoding="utf-8")) == []


def test_pre_commit_runs_the_hook(init: Init, tmp_path: Path) -> None:
    pytest.importorskip("pre_commit")
    if shutil.which("git") is None:
        pytest.skip("pre-commit needs git")
    init("pre-commit")
    program = tmp_path / "bin" / "hplint"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m hplint "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"PRE_COMMIT_HOME": str(tmp_path / ".home"), "PYTHONPATH": str(ROOT)}
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment['PATH']}"
    for bad in (False, True):
        if bad:
            plan = Path("plans/good.yaml")
            plan.write_text(PLAN.replace("mlp", "mpl"), encoding="utf-8")
        for command in (["git", "init", "-q"], ["git", "add", "plans", ".pre-commit-config.yaml", "toy.json"]):
            subprocess.run(command, check=True, capture_output=True, env=environment)
        command = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
        assert done.returncode == bad and ("HPL101" in done.stdout) == bad, done.stdout


def test_vscode_gets_tasks_and_a_schema_for_the_plans_that_are_there(init: Init) -> None:
    assert init("vscode", "--model", "tree:toy.json", "--mesh", "dp=2,tp=2")[0] == 0
    tasks = json.loads(Path(".vscode/tasks.json").read_text(encoding="utf-8"))["tasks"]
    for task in tasks:
        assert task["command"] == "hplint" and "concise" in task["args"] and task["problemMatcher"]["pattern"]["regexp"]
    ((schema, globs),) = json.loads(Path(".vscode/settings.json").read_text(encoding="utf-8"))["yaml.schemas"].items()
    assert globs == ["plans/*.yaml"]
    validator = Draft7Validator(json.loads(Path(schema).read_text(encoding="utf-8")))
    plan = yaml.safe_load(Path("plans/good.yaml").read_text(encoding="utf-8"))
    assert validator.is_valid(plan)
    plan[0]["match"] = "model.layers.0.mpl"
    assert not validator.is_valid(plan)


def test_vscode_settings_are_added_to_those_that_are_there(init: Init) -> None:
    Path(".vscode").mkdir()
    settings = '{\n  // tabs\n  "editor.tabSize": 2,\n  "yaml.schemas": {"x.json": "*.x"}\n}\n'
    Path(".vscode/settings.json").write_text(settings, encoding="utf-8")
    Path(".vscode/tasks.json").write_text('{"version": "2.0.0", "tasks": [{"label": "mine"}]}', encoding="utf-8")
    code, out, _ = init("vscode")
    assert code == 0 and ".vscode/settings.json has what it lacked\n" in out
    text = Path(".vscode/settings.json").read_text(encoding="utf-8")
    assert text.startswith('{\n  // tabs\n  "editor.tabSize": 2,\n')
    assert parse(text)["yaml.schemas"] == {"x.json": "*.x", ".vscode/hplint-schema.json": ["plans/*.yaml"]}
    tasks = parse(Path(".vscode/tasks.json").read_text(encoding="utf-8"))["tasks"]
    assert [t["label"] for t in tasks] == ["mine", "hplint", "hplint --watch"]
    assert "written" not in init("vscode")[1]


def test_a_schema_that_hplint_wrote_is_written_anew(init: Init) -> None:
    init("vscode")
    before = Path(".vscode/hplint-schema.json").read_bytes()
    assert ".vscode/hplint-schema.json is written\n" in init("vscode", "--model", "tree:toy.json")[1]
    assert Path(".vscode/hplint-schema.json").read_bytes() != before


def test_an_unknown_target_is_a_wrong_request(init: Init) -> None:
    code, _, err = init("pre-comit")
    assert code == 2 and "`pre-commit`" in err
