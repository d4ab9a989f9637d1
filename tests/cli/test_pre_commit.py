"""The hooks of .pre-commit-hooks.yaml, run by pre-commit itself in a repository of their own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
MANIFEST = ROOT / ".pre-commit-hooks.yaml"
PRE_COMMIT = [sys.executable, "-m", "pre_commit"]
DIRECTIVE = "# hplint: model=tree:toy.json mesh=dp=2,tp=2\n"
GOOD = DIRECTIVE + "- match: model.layers.0.mlp\n  out_dst: auto\n"
BAD = GOOD.replace("mlp", "mpl")
WORKFLOW = "on: push\njobs:\n  - match: all\n"

pytest.importorskip("pre_commit")
if shutil.which("git") is None:
    pytest.skip("pre-commit needs git", allow_module_level=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose hooks are those of the manifest, with the interpreter that runs the tests."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "pre-commit"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    here = tmp_path / "repository"
    here.mkdir()
    hooks = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    for hook in hooks:
        hook["language"] = "system"
        hook["entry"] = f"{sys.executable} -m {hook['entry']}"
    config = {"repos": [{"repo": "local", "hooks": hooks}]}
    (here / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    shutil.copy(ROOT / "fixtures" / "trees" / "toy.json", here)
    (here / "ordinary.yaml").write_text(WORKFLOW, encoding="utf-8")
    (here / "broken.yaml").write_text("a: b: c\n", encoding="utf-8")
    (here / "setup.py").write_text("print(1)\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(here)], check=True, capture_output=True)
    return here


@pytest.fixture
def hook(repository: Path) -> Callable[..., tuple[int, str]]:
    def call(name: str) -> tuple[int, str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        subprocess.run(["git", "add", "-A"], cwd=repository, check=True, capture_output=True, env=environment)
        command = [*PRE_COMMIT, "run", name, "--all-files", "--color", "never"]
        done = subprocess.run(
            command, cwd=repository, capture_output=True, text=True, env=environment, timeout=120, check=False
        )
        return done.returncode, done.stdout

    return call


def test_the_manifest_is_valid() -> None:
    done = subprocess.run([*PRE_COMMIT, "validate-manifest", str(MANIFEST)], capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    assert [h["id"] for h in yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))] == ["hplint", "hplint-fix"]


def test_a_hook_passes_over_files_that_are_no_plans(repository: Path, hook: Callable[..., tuple[int, str]]) -> None:
    (repository / "good.yaml").write_text(GOOD, encoding="utf-8")
    code, out = hook("hplint")
    assert code == 0 and "Passed" in out, out


def test_a_hook_fails_on_a_plan_with_findings(repository: Path, hook: Callable[..., tuple[int, str]]) -> None:
    (repository / "bad.yaml").write_text(BAD, encoding="utf-8")
    code, out = hook("hplint")
    assert code == 1 and "exit code: 1" in out, out
    assert "bad.yaml:2:10: HPL101 unknown-module" in out and "ordinary.yaml" not in out


def test_the_fixing_hook_fails_once_and_leaves_the_fixed_plan(
    repository: Path, hook: Callable[..., tuple[int, str]]
) -> None:
    plan = repository / "bad.yaml"
    plan.write_text(BAD, encoding="utf-8")
    code, out = hook("hplint-fix")
    assert code == 1 and "files were modified by this hook" in out, out
    assert plan.read_text(encoding="utf-8") == GOOD
    assert hook("hplint-fix")[0] == 0
