"""Wrong requests exit with 2 and say what was meant; nothing of them is ever a green run."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hplint import __version__

MODEL = ("--model", "tree:toy.json", "--mesh", "dp=2,tp=2")


@pytest.mark.parametrize(
    ("arguments", "error", "help_"),
    [
        (["--mehs", "tp=2"], "no such option: --mehs", "`--mesh`"),
        (["check", "--modle", "x"], "no such option: --modle", "`--model`"),
        (["plans", "--jobs", "2"], "no such option: --jobs", ""),
        (["plans", "--baseline", "x"], "there is no baseline `x`", "--write-baseline"),
        (["plans", "--baseline", ""], "--baseline names no file", ""),
        (["plans", "--baseline", "toy.json"], "`toy.json` is no baseline", "--write-baseline"),
        (["plans", "--write-baseline"], "--write-baseline needs a file", "--baseline FILE"),
        (["plans", "--write-baseline", "--baseline", "toy.json"], "`toy.json` is no baseline", ""),
        (["plans", "--add-ignore", "--fix"], "--add-ignore and --fix exclude each other", ""),
        (["plans", "--reason", "x"], "--reason says why", "--add-ignore"),
        (["plans", "--add-ignore", "--reason", "a\nb"], "--reason: `a\\nb` cannot stand in a comment", "one line"),
        (["plans", "--add-ignore", "--reason", "a # noqa"], "--reason: `a # noqa` would begin another comment", "`#`"),
        (["plans", "--extend-select", "HPL10x"], "unknown rule `HPL10x`", "`HPL101`"),
        (["plans", "--severity", "HPL10x=off"], "--severity: unknown rule `HPL10x`", "`HPL101`"),
        (["plans", "--severity", "HPL101=eror"], "--severity: there is no severity `eror`", "`error`"),
        (["plans", "--severity", "HPL101"], "--severity: `HPL101` is not RULE=SEVERITY", "HPL204=error"),
        (["plans", "--severity", "HPL001=off"], "--severity: HPL001 stays an error", "ignore-file"),
        (["plans", "--severity", "ALL=off"], "the selection leaves no rule to run", ""),
        (["plans", "--per-file-ignores", "*.yaml:unknown-modul"], "unknown rule `unknown-modul`", "`unknown-module`"),
        (["plans", "--per-file-ignores", "*.yaml"], "--per-file-ignores: `*.yaml` is not GLOB:RULES", "HPL204"),
        (["chekc", "plans"], "no such file, folder or command: `chekc`", "`check`"),
        (["plan", "shwo", "x"], "hplint plan has no command `shwo`", "`show`"),
        (["model", "biuld", "x"], "hplint model has no command `biuld`", "`build`"),
        (["plan", "show"], "FILE is missing", "--help"),
        (["model", "build", "tree:toy.json"], "--output", ""),
        (["explain"], "CODE... is missing", "--help"),
        (["plans", "--mesh", "tpp=2"], "there is no axis `tpp`", "`tp`"),
        (["plans", "--mesh", ""], "the mesh is empty", "dp=2,tp=4"),
        (["plans", "--mesh", "tp=0"], "the size of `tp` is `0`", ""),
        (["plans", "--mesh"], "--mesh", ""),
        (["plans", "--ep", "0"], "--ep: 0 is not in the range", ""),
        (["plans", "--seq-len", "many"], "--seq-len: `many` is not", ""),
        (["plans", "--build-timeout", "0"], "--build-timeout: ", ""),
        (["plans", "--output-format", "jsno"], "--output-format: `jsno` is not one of", "`json`"),
        (["plans", "--fail-on", "eror"], "--fail-on: `eror` is not one of", "`error`"),
        (["plans", "--color", "alway"], "--color: `alway` is not one of", "`always`"),
        (["plans", "--select", "HPL999"], "unknown rule `HPL999`", ""),
        (["plans", "--ignore", "unknown-modul"], "unknown rule `unknown-modul`", "`unknown-module`"),
        (["plan/good.yaml"], "no such file or folder: `plan/good.yaml`", ""),
        (["plans/godo.yaml"], "no such file or folder: `plans/godo.yaml`", "`plans/good.yaml`"),
        (["plans", "--src", "plan"], "--src: no such folder: `plan`", "`plans`"),
        (["plans", "--src", "toy.json"], "--src: `toy.json` is not a folder", ""),
        (["plans", "--config", "none.toml"], "none.toml: cannot be read: No such file", ""),
        (["plans", "--config", "a.toml", "--isolated"], "--isolated and --config exclude each other", ""),
        (["plans", "--stdin-filename", "x.yaml"], "--stdin-filename names the text", ""),
        (["plans", "--model", "tree:toi.json"], "no file `toi.json`", "toy.json"),
        (["plans", "--model", "banana"], "banana", ""),
        (["model", "show", "tree:toi.json"], "no file `toi.json`", "toy.json"),
        (["plans", "--output-file", "no/such/folder.txt", *MODEL], "no/such/folder.txt cannot be written", ""),
        (["plans", "--output-file", "plans", *MODEL], "plans cannot be written: it is a folder", ""),
        (["plans", "--output-file", "", *MODEL], "an empty path cannot be written", ""),
        (["plans", ""], "one of the paths is empty", ""),
        (["plans", "--model", ""], "an empty model spec", "hf:DIR-or-id"),
        (["plans", "--config", "plans"], "plans: cannot be read: Is a directory", ""),
        (["plan", "show", "plans/good.yaml"], "no model is named", "--model"),
    ],
)
def test_a_wrong_request_exits_with_2_and_near_names(
    hplint: Callable[..., object], arguments: list[str], error: str, help_: str
) -> None:
    code, out, err = hplint(*arguments)  # type: ignore[misc]
    first, _, rest = err.partition("\n")
    assert (code, out) == (2, "")
    assert first.startswith("error: ") and error in first
    assert help_ in rest
    assert "Traceback" not in err


def test_a_broken_configuration_is_a_wrong_request(hplint: Callable[..., object], project: Path) -> None:
    (project / "hplint.toml").write_text("ep = 1\nmodle = 'tree:toy.json'\n", encoding="utf-8")
    code, out, err = hplint("plans")  # type: ignore[misc]
    assert (code, out) == (2, "")
    assert err == f"error: {project / 'hplint.toml'}:2: unknown key `modle`\nhelp: did you mean `model`?\n"
    assert hplint("plans/good.yaml", "--isolated", *MODEL)[0] == 0  # type: ignore[index]


def test_a_path_without_a_plan_is_said_and_exits_with_2(hplint: Callable[..., object], project: Path) -> None:
    (project / "empty").mkdir()
    (project / "other.yaml").write_text("a: 1\n", encoding="utf-8")
    for path in ("empty", "other.yaml"):
        code, _, err = hplint(path, *MODEL)  # type: ignore[misc]
        assert code == 2 and err.startswith(f"error: no plan in {path}\n")


def test_findings_are_still_told_beside_a_path_without_a_plan(hplint: Callable[..., object], project: Path) -> None:
    (project / "empty").mkdir()
    code, out, err = hplint("plans", "empty", "--output-format", "concise", *MODEL)  # type: ignore[misc]
    assert code == 2 and "plans/bad.yaml:1:10: HPL101" in out and "no plan in empty" in err


@pytest.mark.parametrize("arguments", [["--version"], ["-V"]])
def test_the_version_is_told(hplint: Callable[..., object], arguments: list[str]) -> None:
    assert hplint(*arguments) == (0, f"hplint {__version__}\n", "")


@pytest.mark.parametrize("command", [[], ["check"], ["plan"], ["plan", "show"], ["model"], ["explain"], ["rules"]])
def test_every_command_has_help(hplint: Callable[..., object], command: list[str]) -> None:
    code, out, err = hplint(*command, "--help")  # type: ignore[misc]
    assert (code, err) == (0, "") and out.startswith("Usage: hplint")


@pytest.mark.parametrize("arguments", [["--version"], ["check", "--help"], ["plan", "--help"], ["rules"]])
def test_output_that_nobody_takes_is_told_in_one_line(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = subprocess.run([sys.executable, "-m", "hplint", *arguments], stdout=full, stderr=subprocess.PIPE)
    assert result.returncode == 2
    assert result.stderr.decode().startswith("error: the ") and result.stderr.count(b"\n") == 1


def test_a_closed_standard_input_is_a_wrong_request() -> None:
    command = f"{sys.executable} -m hplint - <&-"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (2, "error: `-` reads the standard input, which is closed\n")


def test_a_current_folder_that_is_gone_is_a_wrong_request(tmp_path: Path) -> None:
    command = f"mkdir gone && cd gone && rmdir ../gone && {sys.executable} -m hplint"
    result = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 2
    assert "error: the current folder no longer exists" in result.stderr


def test_a_group_without_a_command_shows_its_help() -> None:
    result = subprocess.run([sys.executable, "-m", "hplint", "plan"], capture_output=True, text=True)
    assert result.returncode == 2
    assert "Usage: hplint plan" in result.stderr and "\\n" not in result.stderr
