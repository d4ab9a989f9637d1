"""Shell completion: what the script of a shell asks, and the answers."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
Complete = Callable[..., list[str]]


@pytest.fixture
def complete(project: Path) -> Complete:
    """The answers to ``words``, the last of which is the one that is being written, as bash gets them."""

    def call(*words: str, shell: str = "bash") -> list[str]:
        asked = {"_HPLINT_COMPLETE": f"{shell}_complete", "COMP_WORDS": " ".join(["hplint", *words])}
        variables = os.environ | {"PYTHONPATH": str(ROOT), "COMP_CWORD": str(len(words))} | asked
        done = subprocess.run(
            [sys.executable, "-m", "hplint"], capture_output=True, text=True, env=variables, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split()

    return call


def test_the_first_word_may_be_a_command_or_a_path(complete: Complete) -> None:
    assert complete("pla") == ["plain,plan", "plain,plans/"]
    assert {"plain,check", "plain,explain", "plain,plans/", "plain,toy.json"} <= set(complete(""))
    assert complete("nothing-like-it") == ["file,nothing-like-it"]


def test_options_of_check_complete_without_the_word_check(complete: Complete) -> None:
    assert complete("--sel") == complete("plans", "--sel") == complete("check", "--sel") == ["plain,--select"]
    assert "plain,--version" in complete("--vers")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("--select", "HPL10"), [f"plain,HPL10{n}" for n in range(1, 6)]),
        (("--ignore", "HPL101,HPL20"), [f"plain,HPL101,HPL20{n}" for n in range(1, 9)]),
        (("--select", "merge-only"), ["plain,merge-only-glob"]),
        (("explain", "hpl103"), ["plain,HPL103"]),
        (("--mesh", "dp=2,t"), ["plain,dp=2,tp="]),
        (("--model", "t"), ["plain,tree:"]),
        (("--src", "pla"), ["dir,pla"]),
        (("--fail-on", "w"), ["plain,warning"]),
        (("plan", "s"), ["plain,show"]),
        (("plan", "show", "pl"), ["file,pl"]),
        (("rules", "--format", ""), ["plain,text", "plain,json"]),
        (("completion", ""), ["plain,bash", "plain,zsh", "plain,fish"]),
    ],
)  # fmt: skip
def test_values_complete(complete: Complete, words: tuple[str, ...], answer: list[str]) -> None:
    assert complete(*words) == answer


def test_a_line_that_makes_no_sense_completes_without_complaints(complete: Complete) -> None:
    assert complete("plan", "nonsense", "--x") == []
    assert complete("'unclosed") == ["file,unclosed"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_with_the_printed_script(project: Path) -> None:
    program = project / "hplint"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m hplint "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    script = (
        'eval "$(hplint completion bash)"; COMP_WORDS=(hplint --select HPL10); COMP_CWORD=2; '
        '_hplint_completion hplint; echo "${COMPREPLY[@]}"; complete -p hplint'
    )
    variables = os.environ | {"PYTHONPATH": str(ROOT), "PATH": f"{project}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, env=variables, timeout=60, check=False
    )
    assert done.stdout.splitlines()[0] == "HPL101 HPL102 HPL103 HPL104 HPL105", done.stderr
    assert "-F _hplint_completion" in done.stdout


@pytest.mark.parametrize(
    ("shell", "mark"), [("zsh", "#compdef hplint"), ("fish", "complete --no-files --command hplint")]
)
def test_the_other_shells_get_their_script(hplint: Callable[..., object], shell: str, mark: str) -> None:
    code, out, err = hplint("completion", shell)  # type: ignore[misc]
    assert (code, err) == (0, "") and mark in out and "_HPLINT_COMPLETE" in out


def test_an_unknown_shell_is_a_wrong_request(hplint: Callable[..., object]) -> None:
    code, _, err = hplint("completion", "zhs")  # type: ignore[misc]
    assert code == 2 and "`zsh`" in err


def test_completing_imports_neither_torch_nor_the_checks(project: Path) -> None:
    code = (
        "import sys; from hplint.__main__ import main\ntry:\n main()\nfinally:\n print(*sys.modules, file=sys.stderr)"
    )
    asked = {"_HPLINT_COMPLETE": "bash_complete", "COMP_WORDS": "hplint --select HPL", "COMP_CWORD": "2"}
    variables = os.environ | {"PYTHONPATH": str(ROOT)} | asked
    for _ in range(2):  # The first run writes down what rules there are.
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=variables, check=True)
    assert "plain,HPL101" in done.stdout
    assert not {"torch", "yaml", "hplint.lint.session", "importlib.metadata"} & set(done.stderr.split())
