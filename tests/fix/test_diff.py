"""Diffs that patch takes."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hplint.fix.diff import unified

LINES = st.lists(st.sampled_from(["a", "b", "", "c\r", "\x85", "- x", "+ y", "\\ z"]), max_size=12)
TEXTS = st.tuples(LINES, st.booleans()).map(lambda t: "\n".join(t[0]) + "\n" * t[1])


def test_a_diff_has_three_lines_around_every_change() -> None:
    before = "".join(f"{i}\n" for i in range(10))
    assert "".join(unified("plans/a.yaml", before, before.replace("5", "five"))) == (
        "--- plans/a.yaml\n+++ plans/a.yaml\n@@ -3,7 +3,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    )


def test_no_change_is_no_diff() -> None:
    assert not list(unified("a", "x", "x"))


def test_a_missing_final_line_end_is_told() -> None:
    text = "".join(unified("a", "x\ny", "x\nz"))
    assert text.endswith("-y\n\\ No newline at end of file\n+z\n\\ No newline at end of file\n")


@pytest.mark.parametrize(
    ("path", "head"),
    [("a b.yaml", "--- a b.yaml\t\n"), ('a"\n.yaml', '--- "a\\"\\012.yaml"\n'), ("é.yaml", "--- é.yaml\n")],
)
def test_strange_names_are_spelled_so_that_they_are_not_cut(path: str, head: str) -> None:
    assert next(unified(path, "x", "y")) == head


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
@given(before=TEXTS.filter(bool), after=TEXTS.filter(bool))
@settings(max_examples=40, deadline=None)
def test_patch_makes_the_new_file_of_the_old_one(
    before: str, after: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("patch")
    apply_patch(folder, "a b.yaml", before, after)


def apply_patch(folder: Path, name: str, before: str, after: str) -> None:
    (folder / name).write_bytes(before.encode())
    diff = "".join(unified(name, before, after)).encode()
    done = subprocess.run(["patch", "-p0", "--binary"], cwd=folder, input=diff, capture_output=True, check=False)
    assert done.returncode == 0 or not diff, done.stdout
    assert (folder / name).read_bytes() == after.encode()
