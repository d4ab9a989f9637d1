"""Report formats from the command line: where they go, what they do to each other, and in GitHub Actions."""

import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_start_up import imported

from hplint.report.formats import FORMATS

Call = Callable[..., "tuple[int, str, str]"]
MODEL = ("--model", "tree:toy.json", "--mesh", "dp=2,tp=2")
JSON = ("json", "sarif", "gitlab", "rdjson")
PAINTED = ("full", "concise", "grouped")
ACTIONS = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary.md"}


@pytest.fixture
def actions(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The summary file of a step of GitHub Actions."""
    summary = project / "summary.md"
    for name, value in {**ACTIONS, "GITHUB_STEP_SUMMARY": str(summary)}.items():
        monkeypatch.setenv(name, value)
    return summary


def parsed(form: str, text: str) -> None:
    """Fails where the text of a format is not what its name says."""
    if form in JSON:
        json.loads(text)
    elif form == "jsonl":
        assert all(json.loads(line) for line in text.splitlines())
    elif form == "junit":
        ElementTree.fromstring(text)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_tells_both_findings_and_nothing_goes_to_the_error_stream(hplint: Call, form: str) -> None:
    code, out, err = hplint("plans", "--output-format", form, *MODEL)
    assert (code, err) == (1, "") and "HPL101" in out and "HPL203" in out
    parsed(form, out)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_has_a_form_for_no_findings_and_keeps_it_when_quiet(hplint: Call, form: str) -> None:
    code, out, err = hplint("plans/good.yaml", "--output-format", form, *MODEL)
    assert (code, err) == (0, "")
    parsed(form, out)
    assert hplint("plans/good.yaml", "-q", "--output-format", form, *MODEL) == (0, "" if form in PAINTED else out, "")


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_names_the_standard_input(
    hplint: Call, project: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (project / "plans" / "bad.yaml").read_bytes()
    for name in (None, "editor.yaml"):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        named = ("--stdin-filename", name) if name else ()
        code, out, err = hplint("-", *named, "--output-format", form, *MODEL)
        assert (code, err) == (1, "") and (name or "-") in out
        parsed(form, out)


def test_several_formats_are_written_in_one_run(hplint: Call, project: Path) -> None:
    formats = ("--output-format", "sarif:a.sarif", "--output-format", "concise", "--output-format", "junit:plans/b.xml")
    code, out, err = hplint("plans", *formats, *MODEL)
    assert (code, err) == (1, "") and out == hplint("plans", "--output-format", "concise", *MODEL)[1]
    assert json.loads((project / "a.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert ElementTree.parse(project / "plans" / "b.xml").getroot().get("tests") == "3"
    assert not [p for p in project.rglob("*") if "tmp" in p.name]


def test_where_all_formats_go_to_files_the_terminal_gets_the_summary(hplint: Call, project: Path) -> None:
    summary = "Found 2 errors in 1 file (2 plans checked).\n2 fixable with --fix.\n"
    assert hplint("plans", "--output-format", "json:a.json", *MODEL) == (1, summary, "")
    assert hplint("plans", "--output-format", "json", "--output-file", "b.json", *MODEL) == (1, summary, "")
    assert hplint("plans", "-q", "--output-format", "json:a.json", *MODEL) == (1, "", "")
    assert (project / "a.json").read_bytes() == (project / "b.json").read_bytes()


def test_a_file_is_replaced_whole_and_its_text_is_never_painted(hplint: Call, project: Path) -> None:
    (project / "a.txt").write_text("old" * 9999, encoding="utf-8")
    assert hplint("plans", "--output-file", "a.txt", *MODEL)[0] == 1
    text = (project / "a.txt").read_text(encoding="utf-8")
    assert text == hplint("plans", *MODEL)[1] and "\x1b" not in text


def test_a_file_that_cannot_be_is_refused_before_anything_is_checked(hplint: Call, project: Path) -> None:
    formats = ("--output-format", "json:a.json", "--output-format", "sarif:none/b.sarif")
    assert hplint("plans", *formats, "--model", "tree:missing.json") == (
        2, "", "error: none/b.sarif cannot be written: there is no folder none\n",
    )  # fmt: skip
    assert not (project / "a.json").exists()


def test_formats_tell_fixes_as_edits_with_fix_too(hplint: Call, project: Path) -> None:
    text = "- match: model.layers.0.mlp\n  params: {up_proj.weight: shard(0)}\n"
    (project / "plans" / "bad.yaml").write_text(text, encoding="utf-8")
    for more in ((), ("--fix",)):
        code, out, _ = hplint("plans/bad.yaml", "--output-format", "jsonl", *more, *MODEL)
        fixes = [fix for line in out.splitlines() for fix in json.loads(line)["fixes"]]
        assert code == 1 and fixes and all(fix["edits"] for fix in fixes)


@pytest.mark.parametrize("form", FORMATS)
def test_statistics_count_in_formats_that_can_and_are_refused_in_others(hplint: Call, form: str) -> None:
    code, out, err = hplint("plans", "--statistics", "--output-format", form, *MODEL)
    if FORMATS[form].counts:
        assert (code, err) == (1, "") and "HPL101" in out and "bad.yaml" not in out
        parsed(form, out)
    else:
        assert (code, out) == (2, "") and f"--statistics has no form in `{form}`" in err


@pytest.mark.parametrize("form", FORMATS)
def test_colours_are_for_people(hplint: Call, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("plans", "--output-format", form, *MODEL)
    assert ("\x1b[" in hplint(*arguments, "--color", "always")[1]) == (form in PAINTED)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert ("\x1b[" in hplint(*arguments)[1]) == (form in PAINTED)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in hplint(*arguments)[1]


def test_a_reader_that_leaves_is_no_fault(project: Path) -> None:
    many = "".join(f"- match: model.layers.{n}.mpl\n  out_dst: auto\n" for n in range(150))
    (project / "plans" / "bad.yaml").write_text(many, encoding="utf-8")
    hplint = f"{sys.executable} -m hplint plans --mesh tp=2 --model tree:toy.json --output-format sarif"
    script = f"{hplint} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=120, check=True)
    assert (done.stdout, done.stderr) == (b"{\n1\n", b"")


def test_the_configuration_may_choose_the_format(hplint: Call, project: Path) -> None:
    (project / "hplint.toml").write_text('output-format = "pylint"\n', encoding="utf-8")
    assert hplint("plans", *MODEL)[1].startswith("plans/bad.yaml:1: [HPL101(unknown-module), ] ")
    assert hplint("plans", "--output-format", "concise", *MODEL)[1].startswith("plans/bad.yaml:1:10: HPL101 ")
    (project / "hplint.toml").write_text('output-format = "pylnt"\n', encoding="utf-8")
    code, out, err = hplint("plans", *MODEL)
    assert (code, out) == (2, "") and err.startswith("error: ") and "hplint.toml:1: `output-format` must be " in err
    assert "did you mean `pylint`?" in err


def test_the_help_names_every_format(hplint: Call) -> None:
    words = set(re.findall(r"\w+", hplint("check", "--help")[1]))
    assert set(FORMATS) <= words


# GitHub Actions


def test_github_actions_get_the_report_and_annotations(hplint: Call, actions: Path) -> None:
    code, out, err = hplint("plans", *MODEL)
    fence, *report, end, group, first, second, last = out.splitlines()
    assert (code, err) == (1, "")
    token = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", fence)
    assert token and end == f"::{token[1]}::" and report[-1] == "2 fixable with --fix."
    assert report[0] == "plans/bad.yaml:1:10: HPL101 unknown-module (error) [*]"
    assert (group, last) == ("::group::annotations", "::endgroup::")
    assert first.startswith("::error file=plans/bad.yaml,line=1,") and second.startswith(
        "::error file=plans/bad.yaml,line=5,"
    )
    assert actions.read_text(encoding="utf-8").count("| error |") == 2


def test_a_clean_run_annotates_nothing_and_steps_add_up(hplint: Call, actions: Path) -> None:
    for _ in range(2):
        assert "::group" not in hplint("plans/good.yaml", *MODEL)[1]
    assert actions.read_text(encoding="utf-8") == "### hplint\n\nAll checks passed: 1 plan, 1 entry.  \n\n" * 2
    assert hplint("plans/good.yaml", "-q", *MODEL) == (0, "", "")


@pytest.mark.parametrize("form", FORMATS)
def test_a_chosen_format_stays_alone_in_github_actions(hplint: Call, actions: Path, form: str) -> None:
    out = hplint("plans", "--output-format", form, *MODEL)[1]
    assert ("::error file=" in out) == (form == "github") == actions.exists()
    assert "::stop-commands" not in out and "::group" not in out


def test_a_summary_that_cannot_be_written_is_a_note(
    hplint: Call, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project / "none" / "summary.md"))
    code, out, err = hplint("plans", "--output-format", "github", *MODEL)
    assert code == 1 and out.startswith("::error ")
    assert err.startswith("note: the step summary ") and "No such file or directory" in err


def test_annotations_count_from_the_top_of_the_checkout(
    hplint: Call, project: Path, actions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project))
    monkeypatch.chdir(project / "plans")
    out = hplint("bad.yaml", "--model", "tree:../toy.json", "--mesh", "tp=2")[1]
    assert "::error file=plans/bad.yaml,line=1," in out and "\nbad.yaml:1:10: HPL101 " in out


def test_usual_formats_import_none_of_the_others(project: Path) -> None:
    others = {f"hplint.report.{name}" for name in ("machine", "grouped", "jsonl", "sarif", "github", "junit", "words")}
    for form in ("full", "json"):
        modules = imported("plans", "--output-format", form, "--exit-zero", *MODEL)
        assert "hplint.report.formats" in modules and not modules & {*others, "xml", "urllib.request"}
