"""Runs the command line in a folder of its own, against rules whose fixes are known here."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from hplint.cli.main import run
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.proposal import Proposal, Rename, Rewrite
from hplint.lint.session import Examined, Session
from hplint.plan.plan import Document

ROOT = Path(__file__).parent.parent.parent


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with the toy tree and a cache of its own."""
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
def known_fixes(monkeypatch: pytest.MonkeyPatch) -> None:
    """`mpl` is safely `mlp`, `shrd(0)` perhaps `shard(0)`, and nothing else can be fixed."""
    examine = Session.examine

    def proposing(diagnostic: Diagnostic) -> Diagnostic:
        proposals: tuple[Proposal, ...] = ()
        if diagnostic.code == "HPL101":
            text = diagnostic.source.cut(diagnostic.span)
            proposals = (
                Proposal("replace `mpl` by `mlp`", (Rename(diagnostic.span, text.replace("mpl", "mlp")),), True),
            )
        elif diagnostic.code == "HPL203":
            proposals = (Proposal("replace it by `shard(0)`", (Rewrite(diagnostic.span, "shard(0)"),)),)
        return dataclasses.replace(diagnostic, proposals=proposals)

    def proposed(self: Session, document: Document) -> Examined:
        found = examine(self, document)
        return found._replace(diagnostics=[proposing(d) for d in found.diagnostics])

    monkeypatch.setattr(Session, "examine", proposed)
