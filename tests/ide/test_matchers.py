"""The expressions of problem matchers against what hplint really prints, colours on and off."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hplint.cli.main import run
from hplint.ide.matchers import CONCISE, github_matcher, vscode_matcher

ROOT = Path(__file__).parent.parent.parent
BAD = """\
- match: model.layers.0.mpl
  out_dst: auto
- match: model.layers.1.mlp
  params:
    up_proj.weight: {tp: shrd(0), cp: shard(0)}
  when: nwo
"""


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """The lines of a concise report and the findings of a JSON one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    shutil.copy(ROOT / "fixtures" / "trees" / "toy.json", tmp_path)

    def call(name: str, color: str) -> tuple[list[str], list[dict[str, Any]]]:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(BAD, encoding="utf-8")
        asked = [name, "--model", "tree:toy.json", "--mesh", "dp=2,tp=2", "--fail-on", "never"]
        assert run([*asked, "--output-format", "json"]) == 0
        findings = json.loads(capsys.readouterr().out)["findings"]
        assert run([*asked, "--output-format", "concise", "--color", color]) == 0
        return capsys.readouterr().out.splitlines(), findings

    return call


@pytest.mark.parametrize("color", ["always", "never"])
@pytest.mark.parametrize("name", ["bad.yaml", "plans with spaces/a-b_c.v2.yaml", "plans/ünicode.yaml"])
def test_every_line_of_a_finding_is_matched_with_its_place_and_code(
    printed: Callable[..., Any], color: str, name: str
) -> None:
    lines, findings = printed(name, color)
    assert len(findings) >= 3 and ("\x1b" in lines[0]) == (color == "always")
    found = [m.groups() for line in lines if (m := re.search(CONCISE, line))]
    assert [(f[0], int(f[1]), int(f[2]), f[3]) for f in found] == [
        (f["path"], f["line"], f["column"], f["code"]) for f in findings
    ]
    assert all(m[4].startswith(f["message"]) for m, f in zip(found, findings, strict=True))


@pytest.mark.parametrize("line", ["Found 3 errors in 1 file.", "hplint: checking", "", "note: 12:30: something"])
def test_no_other_line_is_matched(line: str) -> None:
    assert re.search(CONCISE, line) is None


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("color", ["always", "never"])
def test_javascript_reads_the_expressions_alike(printed: Callable[..., Any], color: str) -> None:
    lines, findings = printed("bad.yaml", color)
    (github,) = github_matcher()["problemMatcher"][0]["pattern"]
    script = """
    const [pattern, lines] = JSON.parse(require("fs").readFileSync(0));
    const found = lines.map(l => new RegExp(pattern.regexp).exec(l)).filter(Boolean);
    const told = m => [m[pattern.file], +m[pattern.line], +m[pattern.column], m[pattern.code]];
    console.log(JSON.stringify(found.map(told)));
    """
    for pattern in (github, vscode_matcher()["pattern"], vscode_matcher(background=True)["pattern"]):
        done = subprocess.run(
            ["node", "-e", script], input=json.dumps([pattern, lines]), capture_output=True, text=True, check=True
        )
        assert json.loads(done.stdout) == [[f["path"], f["line"], f["column"], f["code"]] for f in findings]
