"""Runs the command line, in-process and as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from hplint.cli.main import run

ROOT = Path(__file__).parent.parent.parent
GOOD = """\
- match: model.layers.0.mlp
  out_dst: auto
"""
BAD = """\
- match: model.layers.0.mpl
  out_dst: auto
- match: model.layers.1.mlp
  params:
    up_proj.weight: {tp: shrd(0)}
"""


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in: a good plan, a bad plan, a tree, and a cache of its own."""
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "good.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "plans" / "bad.yaml").write_text(BAD, encoding="utf-8")
    (tmp_path / "toy.json").write_bytes((ROOT / "fixtures" / "trees" / "toy.json").read_bytes())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "HPLINT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def hplint(project: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run a command line in-process."""

    def call(*arguments: str) -> Result:
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def process(project: Path) -> Callable[..., "subprocess.CompletedProcess[bytes]"]:
    """Run a command line as a process; keyword arguments are environment variables, ``stdin`` is its input."""

    def call(*arguments: str, stdin: bytes = b"", **environment: str) -> "subprocess.CompletedProcess[bytes]":
        command = [sys.executable, "-m", "hplint", *arguments]
        variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
        return subprocess.run(command, input=stdin, capture_output=True, env=variables, timeout=120, check=False)

    return call
