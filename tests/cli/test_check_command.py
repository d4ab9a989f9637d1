import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from hplint.lint import session

Call = Callable[..., "tuple[int, str, str]"]
Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
MODEL = ("--model", "tree:toy.json", "--mesh", "dp=2,tp=2")


def test_a_clean_plan_exits_with_0(hplint: Call) -> None:
    assert hplint("plans/good.yaml", *MODEL) == (0, "All checks passed: 1 plan, 1 entry.\n", "")


def test_findings_exit_with_1_and_are_told_at_once(hplint: Call) -> None:
    code, out, err = hplint("plans/bad.yaml", "--output-format", "concise", *MODEL)
    lines = out.splitlines()
    assert (code, err) == (1, "")
    assert lines[0].startswith("plans/bad.yaml:1:10: HPL101 ")
    assert lines[1].startswith("plans/bad.yaml:5:26: HPL203 ")
    assert lines[-2:] == ["Found 2 errors in 1 file (1 plan checked).", "2 fixable with --fix."]


def test_check_is_what_happens_without_a_command(hplint: Call) -> None:
    assert hplint("plans", *MODEL) == hplint("check", "plans", *MODEL) == hplint(*MODEL, "plans")


def test_without_paths_the_current_folder_is_checked(
    hplint: Call, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "plans")
    code, out, _ = hplint("--model", "tree:../toy.json", "--mesh", "tp=2", "--output-format", "concise")
    assert code == 1 and out.startswith("bad.yaml:1:10: HPL101 ")


def test_the_full_format_shows_the_place_and_the_way_out(hplint: Call) -> None:
    out = hplint("plans/bad.yaml", *MODEL)[1]
    assert out.startswith("plans/bad.yaml:1:10: HPL101 unknown-module (error) [*]\n")
    assert "1 │ - match: model.layers.0.mpl\n    │          ^^^^^^^^^^^^^^^^^^\n" in out
    assert "\n  help: " in out


def test_json_is_one_object_and_nothing_else(hplint: Call) -> None:
    code, out, err = hplint("plans", "--output-format", "json", *MODEL)
    report = json.loads(out)
    assert (code, err) == (1, "")
    assert (report["version"], report["files"]) == (1, 2)
    assert [(f["code"], f["line"], f["column"]) for f in report["findings"]] == [("HPL101", 1, 10), ("HPL203", 5, 26)]
    assert [p["path"] for p in report["plans"]] == ["plans/bad.yaml", "plans/good.yaml"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 1),
        (["--fail-on", "error"], 1),
        (["--fail-on", "never"], 0),
        (["--exit-zero"], 0),
        (["--ignore", "HPL101,HPL2"], 0),
        (["--ignore", "unknown-module", "--ignore", "HPL203"], 0),
        (["--select", "HPL4"], 0),
        (["--select", "HPL4", "--extend-select", "HPL101"], 1),
    ],
)
def test_what_fails_and_what_runs_can_be_chosen(hplint: Call, options: list[str], code: int) -> None:
    assert hplint("plans/bad.yaml", *MODEL, *options)[0] == code


@pytest.mark.parametrize(
    ("severity", "failing"),
    [("error", {"error", "warning", "info"}), ("warning", {"warning", "info"}), ("info", {"info"})],
)
def test_a_finding_fails_at_its_severity_and_below(severity: str, failing: set[str]) -> None:
    from hplint.cli.status import exit_code
    from hplint.lint.diagnostic import Diagnostic
    from hplint.lint.request import Run
    from hplint.text.source import Source

    found = Run(diagnostics=(Diagnostic("HPL101", "x", severity, "m", Source("a", "")),))
    assert {level for level in ("error", "warning", "info", "never") if exit_code(found, level)} == failing


def test_quiet_prints_findings_alone(hplint: Call) -> None:
    assert hplint("plans/good.yaml", "-q", *MODEL) == (0, "", "")
    assert "Found" not in hplint("plans/bad.yaml", "-q", "--output-format", "concise", *MODEL)[1]


def test_verbose_says_what_happens_at_run_time(hplint: Call) -> None:
    assert "\n  run time: " in hplint("plans/bad.yaml", "-v", *MODEL)[1]


def test_statistics_count_by_rule(hplint: Call) -> None:
    code, out, _ = hplint("plans/bad.yaml", "--statistics", *MODEL)
    assert code == 1 and out.splitlines()[:2] == [
        "1  HPL101  error    unknown-module",
        "1  HPL203  error    not-a-placement",
    ]


def test_show_files_lists_plans_and_checks_nothing(hplint: Call) -> None:
    assert hplint("plans", "--show-files") == (0, "plans/bad.yaml\nplans/good.yaml\n", "")


def test_an_output_file_gets_the_report_and_the_terminal_the_summary(hplint: Call, project: Path) -> None:
    code, out, _ = hplint("plans", "--output-format", "json", "--output-file", "report.json", *MODEL)
    assert code == 1 and out == "Found 2 errors in 1 file (2 plans checked).\n2 fixable with --fix.\n"
    assert json.loads((project / "report.json").read_text(encoding="utf-8"))["files"] == 2
    assert [p.name for p in project.iterdir() if "tmp" in p.name] == []


def test_several_meshes_are_each_checked(hplint: Call) -> None:
    out = hplint("plans/good.yaml", *MODEL, "--mesh", "dp=4,tp=1")[1]
    assert out == "All checks passed: 1 plan, 1 entry on 2 topologies.\n"


def test_unknown_sizes_and_models_are_said_in_one_line_each(hplint: Call) -> None:
    out = hplint("plans/good.yaml")[1]
    assert out.startswith("note: ") and "no mesh sizes are known" in out and "no model is named" in out


def test_the_configuration_names_model_mesh_and_rules(hplint: Call, project: Path) -> None:
    text = '[tool.hplint]\nmodel = "tree:toy.json"\nmesh = "dp=2,tp=2"\nignore = ["HPL203"]\n'
    (project / "pyproject.toml").write_text(text, encoding="utf-8")
    code, out, _ = hplint("plans", "--output-format", "concise")
    assert code == 1 and "HPL101" in out and "HPL203" not in out
    other = project / "other.toml"
    other.write_text('model = "tree:toy.json"\nmesh = "tp=2"\nignore = ["HPL101", "HPL203"]\n', encoding="utf-8")
    assert hplint("plans", "--config", "other.toml")[0] == 0


def test_the_standard_input_is_checked_under_its_name(
    hplint: Call, monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    data = (project / "plans" / "bad.yaml").read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    out = hplint("-", "--stdin-filename", "editor.yaml", "--output-format", "concise", *MODEL)[1]
    assert out.startswith("editor.yaml:1:10: HPL101 ")


def test_a_fault_of_hplint_exits_with_3_in_two_lines(hplint: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(session, "lint", broken)
    code, out, err = hplint("plans", *MODEL)
    assert (code, out) == (3, "")
    assert err.startswith("error: a fault of hplint itself: KeyError: 'oops' (test_check_command.py:")
    assert "HPLINT_DEBUG=1" in err and "Traceback" not in err
    monkeypatch.setenv("HPLINT_DEBUG", "1")
    with pytest.raises(KeyError):
        hplint("plans", *MODEL)


def test_an_interrupt_exits_with_130_in_silence(hplint: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "lint", interrupted)
    assert hplint("plans", *MODEL) == (130, "", "")


def test_colours_are_for_terminals_unless_asked_for(process: Process) -> None:
    arguments = ("plans/bad.yaml", *MODEL)
    assert b"\x1b[" not in process(*arguments).stdout
    assert b"\x1b[1;31m" in process(*arguments, "--color", "always").stdout
    assert b"\x1b[1;31m" in process(*arguments, FORCE_COLOR="1").stdout
    assert b"\x1b[" not in process(*arguments, FORCE_COLOR="1", NO_COLOR="1").stdout


def test_a_stream_of_any_encoding_gets_the_report(process: Process, project: Path) -> None:
    (project / "plans" / "odd.yaml").write_text("- match: 模型.mlp # ü\n  when: cpp\n", encoding="utf-8")
    for encoding in ("ascii", "latin-1", "utf-8", "cp1252", "utf-16"):
        done = process("plans", *MODEL, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
        assert (done.returncode, done.stderr) == (1, b"")
        assert "plans/odd.yaml:1:10: HPL101" in done.stdout.decode(encoding)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell with pipes")
def test_a_closed_pipe_is_silent(process: Process, project: Path) -> None:
    bad = "".join(f"- match: model.layers.{n}.mpl\n  out_dst: auto\n" for n in range(3000))
    (project / "plans" / "many.yaml").write_text(bad, encoding="utf-8")
    root = Path(__file__).parent.parent.parent
    command = f"'{sys.executable}' -m hplint plans {' '.join(MODEL)} | head -1"
    done = subprocess.run(
        command, shell=True, capture_output=True, env=os.environ | {"PYTHONPATH": str(root)}, timeout=120, check=False
    )
    assert done.stdout.startswith(b"plans/bad.yaml:1:10: HPL101") and done.stdout.count(b"\n") == 1
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told(project: Path) -> None:
    root = Path(__file__).parent.parent.parent
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "hplint", "plans", *MODEL]
        environment = os.environ | {"PYTHONPATH": str(root)}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment, timeout=120, check=False)
    assert done.returncode == 2 and done.stderr == b"error: the report cannot be written: No space left on device\n"


def test_a_closed_standard_output_is_no_fault(process: Process, project: Path) -> None:
    root = Path(__file__).parent.parent.parent
    command = f"'{sys.executable}' -m hplint plans {' '.join(MODEL)} >&-"
    done = subprocess.run(
        command, shell=True, capture_output=True, env=os.environ | {"PYTHONPATH": str(root)}, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")
