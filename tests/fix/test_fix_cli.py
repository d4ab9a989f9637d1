"""check --fix, --unsafe-fixes and --diff as a user sees them."""

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from hplint.fix.write import NotWritten

Call = Callable[..., "tuple[int, str, str]"]
MODEL = ("--model", "tree:toy.json", "--mesh", "dp=2,tp=2", "--output-format", "concise")
BAD = """\
- match: model.layers.0.mpl  # a typo
  out_dst: auto
- match: model.layers.1.mlp
  params: {up_proj.weight: {tp: shrd(0)}, gate_proj.weight: {tp: shard(0)}, down_proj.weight: {tp: shard(1)}}
"""
SAFE = BAD.replace("mpl", "mlp")
WHOLE = SAFE.replace("shrd", "shard")

pytestmark = pytest.mark.usefixtures("known_fixes")


@pytest.fixture
def plan(project: Path) -> Path:
    path = project / "plan.yaml"
    path.write_text(BAD, encoding="utf-8")
    return path


def test_safe_fixes_are_made_and_the_rest_is_told(hplint: Call, plan: Path) -> None:
    code, out, err = hplint("plan.yaml", "--fix", *MODEL)
    assert (code, err) == (1, "") and plan.read_text() == SAFE
    lines = out.splitlines()
    assert lines[0].startswith("plan.yaml:4:33: HPL203 ")
    assert lines[1:] == [
        "Fixed 1 finding in 1 file.",
        "Found 1 error in 1 file (1 plan checked).",
        "1 fixable with --fix --unsafe-fixes.",
    ]


def test_unsafe_fixes_leave_nothing(hplint: Call, plan: Path) -> None:
    code, out, err = hplint("plan.yaml", "--fix", "--unsafe-fixes", *MODEL)
    assert plan.read_text() == WHOLE
    assert (code, out, err) == (0, "Fixed 2 findings in 1 file.\nAll checks passed: 1 plan, 2 entries.\n", "")


def test_a_second_run_changes_nothing(hplint: Call, plan: Path) -> None:
    hplint("plan.yaml", "--fix", *MODEL)
    before = plan.stat().st_mtime_ns
    assert "Fixed" not in hplint("plan.yaml", "--fix", *MODEL)[1]
    assert plan.stat().st_mtime_ns == before


def test_without_fix_the_summary_says_what_it_would_do(hplint: Call, plan: Path) -> None:
    last = hplint("plan.yaml", *MODEL)[1].splitlines()[-1]
    assert last == "1 fixable with --fix, 1 more with --unsafe-fixes."
    assert plan.read_text() == BAD


def test_the_full_format_marks_what_fix_fixes(hplint: Call, plan: Path) -> None:
    out = hplint("plan.yaml", *MODEL[:4])[1]
    assert "plan.yaml:1:10: HPL101 unknown-module (error) [*]\n" in out
    assert "plan.yaml:4:33: HPL203 not-a-placement (error)\n" in out


def test_unsafe_fixes_alone_shows_what_they_do(hplint: Call, plan: Path) -> None:
    out = hplint("plan.yaml", "--unsafe-fixes", *MODEL[:4])[1]
    assert "HPL203 not-a-placement (error) [*]\n" in out
    assert "  fix: replace `mpl` by `mlp`\n" in out and "  unsafe fix: replace it by `shard(0)`\n" in out
    assert out.endswith("2 fixable with --fix --unsafe-fixes.\n") and plan.read_text() == BAD


def test_json_carries_the_edits(hplint: Call, plan: Path) -> None:
    report = json.loads(hplint("plan.yaml", *MODEL[:4], "--output-format", "json")[1])
    first, second = (f["fixes"] for f in report["findings"])
    assert first == [
        {"title": "replace `mpl` by `mlp`", "safety": "safe", "edits": [{"start": 25, "end": 27, "text": "lp"}]}
    ]
    assert [(f["safety"], f["edits"][0]["text"]) for f in second] == [("unsafe", "a")]


def test_a_diff_shows_the_change_and_makes_none(hplint: Call, plan: Path) -> None:
    code, out, err = hplint("plan.yaml", "--diff", *MODEL)
    assert code == 1 and plan.read_text() == BAD
    assert out.startswith("--- plan.yaml\n+++ plan.yaml\n@@ -1,4 +1,4 @@\n-- match: model.layers.0.mpl")
    assert err == "Would fix 1 finding in 1 file.\n1 fixable with --fix --unsafe-fixes.\n"


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
@pytest.mark.parametrize("change", [str, lambda t: "\ufeff" + t.replace("\n", "\r\n"), lambda t: t.rstrip("\n")])
def test_patch_takes_the_diff(hplint: Call, plan: Path, change: Callable[[str], str]) -> None:
    (plan.parent / "my plans").mkdir()
    moved = plan.parent / "my plans" / "plan.yaml"
    moved.write_bytes(change(BAD).encode())
    diff = hplint("my plans", "--diff", "--unsafe-fixes", "-q", *MODEL)[1]
    done = subprocess.run(["patch", "-p0", "--binary"], input=diff.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    assert moved.read_bytes() == change(WHOLE).encode()


def test_a_diff_of_a_plan_that_is_right_is_empty(hplint: Call, plan: Path) -> None:
    plan.write_text(WHOLE, encoding="utf-8")
    assert hplint("plan.yaml", "--diff", *MODEL) == (0, "", "Nothing to fix.\n")


def test_line_ends_and_the_byte_order_mark_are_kept(hplint: Call, plan: Path) -> None:
    plan.write_bytes(("\ufeff" + BAD.replace("\n", "\r\n")).encode())
    hplint("plan.yaml", "--fix", "--unsafe-fixes", *MODEL)
    assert plan.read_bytes() == ("\ufeff" + WHOLE.replace("\n", "\r\n")).encode()


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


def test_text_from_the_standard_input_goes_on_and_the_report_goes_aside(
    hplint: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin(monkeypatch, BAD.encode())
    code, out, err = hplint("-", "--fix", *MODEL)
    assert (code, out) == (1, SAFE)
    assert err.startswith("-:4:33: HPL203 ") and "Fixed 1 finding in 1 file.\n" in err


@pytest.mark.parametrize("data", [WHOLE, "no: plan\n", "broken: [\n", ""])
def test_text_that_needs_no_fix_or_is_no_plan_goes_on_unchanged(
    hplint: Call, monkeypatch: pytest.MonkeyPatch, data: str
) -> None:
    stdin(monkeypatch, data.encode())
    assert hplint("-", "--fix", *MODEL)[1] == data


def test_a_diff_of_the_standard_input_bears_its_name(hplint: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, BAD.encode())
    out = hplint("-", "--stdin-filename", "plans/a.yaml", "--diff", *MODEL)[1]
    assert out.startswith("--- plans/a.yaml\n+++ plans/a.yaml\n")


def test_a_file_that_cannot_be_written_is_told_and_the_others_are_fixed(
    hplint: Call, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plan.parent / "a.yaml").write_text(BAD, encoding="utf-8")
    real = __import__("hplint.fix.write", fromlist=["write_fixed"]).write_fixed

    def write(path: str, before: bytes, after: bytes) -> None:
        if path == "a.yaml":
            raise NotWritten("Permission denied")
        real(path, before, after)

    monkeypatch.setattr("hplint.fix.write.write_fixed", write)
    code, out, err = hplint("a.yaml", "plan.yaml", "--fix", *MODEL)
    assert code == 2 and err == "error: a.yaml is not fixed: Permission denied\n"
    assert plan.read_text() == SAFE and (plan.parent / "a.yaml").read_text() == BAD
    assert [line.split(" ")[0] for line in out.splitlines()[:3]] == [
        "a.yaml:1:10:", "a.yaml:4:33:", "plan.yaml:4:33:",
    ]  # fmt: skip
    assert "Fixed 1 finding in 1 file." in out


def test_a_file_that_changed_meanwhile_is_noted(hplint: Call, plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(path: str, before: bytes, after: bytes) -> None:
        raise NotWritten("it changed while it was being fixed", changed=True)

    monkeypatch.setattr("hplint.fix.write.write_fixed", write)
    code, _, err = hplint("plan.yaml", "--fix", *MODEL)
    assert (code, err) == (1, "note: plan.yaml is not fixed: it changed while it was being fixed\n")


def test_a_file_that_is_not_utf8_is_left_alone(hplint: Call, plan: Path) -> None:
    data = BAD.encode() + b"# caf\xe9\n"
    plan.write_bytes(data)
    assert hplint("plan.yaml", "--fix", *MODEL)[0] == 1
    assert plan.read_bytes() == data


def test_the_statistics_count_what_is_left(hplint: Call, plan: Path) -> None:
    out = hplint("plan.yaml", "--fix", "--statistics", *MODEL)[1]
    assert "HPL203" in out and "HPL101" not in out


def test_fixes_hold_on_all_topologies(hplint: Call, plan: Path) -> None:
    code, _, _ = hplint("plan.yaml", "--fix", "--unsafe-fixes", *MODEL, "--mesh", "dp=4,tp=4")
    assert code == 0 and plan.read_text() == WHOLE
