"""--watch: a check after each change, of whatever file the check reads."""

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hplint.cli.main import run
from hplint.cli.watch import BEGINS, ENDS
from hplint.ide import matchers
from hplint.lint.request import Request
from hplint.lint.watched import state, watched_folders

ROOT = Path(__file__).parent.parent.parent


class Watching:
    """A running ``hplint --watch`` whose lines are read as they come."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "hplint", "--watch", "--output-format", "concise", "-q", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(line.rstrip("\n"))

    def round(self) -> list[str]:
        """The lines of the next check, without those around it."""
        found: list[str] = []
        while (line := self.lines.get(timeout=60)) != ENDS:
            found.append(line)
        assert found[0] == BEGINS
        return found[1:]

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=60)


@pytest.fixture
def watching(project: Path) -> Iterator[Callable[..., Watching]]:
    started: list[Watching] = []

    def start(*arguments: str) -> Watching:
        started.append(Watching(*arguments))
        return started[-1]

    pytest.importorskip("watchfiles")
    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


def test_changes_of_plans_models_and_settings_are_checked_until_ctrl_c(
    watching: Callable[..., Watching], project: Path
) -> None:
    plan, config = project / "plans" / "good.yaml", project / "hplint.toml"
    config.write_text('model = "tree:toy.json"\nmesh = "dp=2,tp=2"\n', encoding="utf-8")
    hplint = watching("plans/good.yaml")
    assert hplint.round() == []
    good = plan.read_text(encoding="utf-8")
    # As editors save: another file takes the name.
    scratch = plan.with_name("good.yaml~")
    scratch.write_text(good.replace("mlp", "mpl"), encoding="utf-8")
    scratch.replace(plan)
    assert [line.split(" ")[1] for line in hplint.round()] == ["HPL101"]
    plan.write_text(good, encoding="utf-8")
    assert hplint.round() == []
    config.write_text('modle = "tree:toy.json"\n', encoding="utf-8")
    assert any("unknown key `modle`" in line for line in hplint.round())
    config.write_text('model = "tree:toy.json"\nmesh = "dp=2,tp=2"\nignore = ["HPL2"]\n', encoding="utf-8")
    assert hplint.round() == []
    tree = (project / "toy.json").read_text(encoding="utf-8")
    (project / "toy.json").write_text(tree.replace('"mlp"', '"ffn"'), encoding="utf-8")
    assert [line.split(" ")[1] for line in hplint.round()] == ["HPL101"]
    assert hplint.end() == 0
    assert hplint.lines.empty()


def test_what_the_check_writes_itself_is_no_change(watching: Callable[..., Watching], project: Path) -> None:
    hplint = watching("plans", "--model", "tree:toy.json", "--mesh", "tp=2", "--output-file", "plans/report.json")
    hplint.round()
    (project / "plans" / "new.yaml").write_text("- match: nothing\n  out_dst: auto\n", encoding="utf-8")
    hplint.round()
    with pytest.raises(queue.Empty):
        hplint.lines.get(timeout=2)
    assert hplint.end() == 0


def test_a_first_request_that_is_wrong_ends_the_watch(hplint: Callable[..., object]) -> None:
    for arguments, error in [
        (("gone.yaml",), "no such file or folder"),
        (("-",), "--watch needs files"),
        (("plans", "--select", "HPL999"), "unknown rule `HPL999`"),
        (("plans", "--diff"), "--diff is done once"),
    ]:
        code, _, err = hplint("--watch", *arguments)  # type: ignore[misc]
        assert code == 2 and error in err


def test_without_the_extra_the_command_that_installs_it_is_told(
    hplint: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    code, _, err = hplint("plans", "--watch")  # type: ignore[misc]
    assert code == 2 and "pip install 'hplint[watch]'" in err


def test_the_lines_around_a_check_are_those_that_tasks_look_for() -> None:
    import re

    assert re.match(matchers.BEGINS, BEGINS) and re.match(matchers.ENDS, ENDS)


def test_watched_are_the_folders_of_plans_models_and_source(project: Path) -> None:
    for folder in ("kernels/inner", "kernels/.git", "kernels/__pycache__", "models"):
        (project / folder).mkdir(parents=True)
    (project / "models" / "toy.json").write_bytes((project / "toy.json").read_bytes())
    (project / "plans" / "good.yaml").write_text("# hplint: src=../kernels\n- match: a\n  out_dst: auto\n")
    found = watched_folders(Request(("plans/good.yaml",), model="tree:models/toy.json"))
    named = {os.path.relpath(folder) for folder in found}
    assert {"plans", "models", "kernels", "kernels/inner"} <= named
    assert not {"kernels/.git", "kernels/__pycache__"} & named
    before = state(found)
    (project / "kernels" / "inner" / "new.py").touch()
    assert state(found) != before
    assert run(["plans", "--show-files"]) == 0
