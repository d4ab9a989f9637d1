"""What a warm check imports: start-up is most of the time of a run. The allow-list is warm_imports.txt."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
REPORTER = """\
import atexit, sys
atexit.register(lambda: print("MODULES " + " ".join(sys.modules), file=sys.stderr))
import runpy
sys.argv = ["hplint", *sys.argv[1:]]
runpy.run_module("hplint", run_name="__main__", alter_sys=True)
"""
LINES = (Path(__file__).parent / "warm_imports.txt").read_text(encoding="utf-8").splitlines()
ALLOWED = {word for line in LINES if not line.startswith("#") for word in line.split()}
AUTO = "".join(f"  {field}: auto\n" for field in ("params", "in_src", "in_dst", "out_src", "out_dst"))
LAYER = f"""\
# The feed-forward block: column-wise, then row-wise
- match: model.layers.LAYER.mlp
  params:
    gate_proj.weight: {{tp: shard(0)}}
    up_proj.weight: {{tp: shard(0)}}
    down_proj.weight: {{tp: shard(1)}}
  in_src: {{hidden_states: {{tp: replicate}}}}
  in_dst: {{hidden_states: {{tp: replicate}}}}
  out_src: {{output: {{tp: partial}}}}
  out_dst: {{output: {{tp: replicate}}}}
- match: model.layers.LAYER.self_attn
{AUTO}- match: model.layers.LAYER.input_layernorm
{AUTO}- match: model.layers.LAYER.post_attention_layernorm
{AUTO}"""
HEAD = "accelerator:\n  tp_size: 2\n  sequence_parallel: false\nplan_overrides:\n"
PLAN = HEAD + "".join(LAYER.replace("LAYER", str(layer)) for layer in range(2))


def imported(*arguments: str) -> set[str]:
    """Modules that the process of a command line has imported at its end."""
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", REPORTER, *arguments]
    done = subprocess.run(command, capture_output=True, env=variables, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return set(done.stderr.decode().rpartition("MODULES ")[2].split())


def startup_of_python() -> set[str]:
    """Modules that this environment loads before anything asks for it (.pth files, an editable install)."""
    done = subprocess.run([sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, check=True)
    return set(done.stdout.decode().split())


def unexpected(modules: Iterable[str]) -> set[str]:
    """Top-level names that nobody allowed. Parts of importlib that cost time are judged by their full names."""
    heavy = {m for m in modules if m.startswith(("importlib.metadata", "importlib.resources", "concurrent", "email"))}
    mine = set(modules) - startup_of_python()
    tops = {m.partition(".")[0] for m in mine if not m.startswith("_cython_")}  # a module per Cython version
    return heavy | tops - ALLOWED


@pytest.fixture
def plan(project: Path) -> Path:
    path = project / "sixty.yaml"
    path.write_text(PLAN, encoding="utf-8")
    return path


def test_a_warm_check_against_a_tree_imports_what_is_allowed(plan: Path) -> None:
    arguments = (plan.name, "--model", "tree:toy.json", "--mesh", "dp=2,tp=2", "--fail-on", "never")
    imported(*arguments)
    assert unexpected(imported(*arguments)) == set()


@pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="building needs transformers")
def test_a_warm_check_against_a_cached_model_imports_what_is_allowed(plan: Path) -> None:
    model = ROOT / "fixtures" / "conformance" / "models" / "llama"
    arguments = (plan.name, "--model", f"hf:{model}", "--mesh", "dp=2,tp=2", "--fail-on", "never")
    imported(*arguments)
    assert unexpected(imported(*arguments)) == set()


def test_a_configuration_file_costs_the_toml_reader_and_nothing_else(plan: Path, project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.hplint]\nmodel = "tree:toy.json"\nmesh = "tp=2"\n', encoding="utf-8")
    arguments = (plan.name, "--fail-on", "never")
    imported(*arguments)
    assert unexpected(imported(*arguments)) == {"tomllib", "string", "_string"}


def test_the_version_needs_hardly_anything(project: Path) -> None:
    mine = imported("--version") - startup_of_python()
    assert not {m.partition(".")[0] for m in mine} & {"click", "yaml", "json", "pathlib", "dataclasses", "inspect"}


def test_commands_are_imported_when_they_are_called(project: Path) -> None:
    modules = imported("explain", "HPL203")
    assert "hplint.cli.explain" in modules
    assert not {"hplint.cli.check", "hplint.cli.model", "hplint.lint.session", "rich"} & modules


def test_the_allow_list_names_nothing_heavy() -> None:
    heavy = (
        "torch transformers numpy libcst rich pathspec asyncio subprocess tempfile shutil difflib random socket logging"
    )
    assert not ALLOWED & set(heavy.split())


def test_telling_findings_imports_nothing_further(plan: Path) -> None:
    bad = PLAN.replace("layers.1.mlp", "layers.1.mpl").replace("shard(1)", "shrd(1)")
    plan.write_text(bad, encoding="utf-8")
    arguments = (plan.name, "--model", "tree:toy.json", "--mesh", "dp=2,tp=2", "--fail-on", "never")
    imported(*arguments)
    assert unexpected(imported(*arguments)) == set()
