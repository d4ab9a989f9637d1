"""Reports as files: whole or not at all, and never in place of something that is no file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hplint.errors import RequestError
from hplint.report.writer import write_file


def test_a_file_is_written_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    target = tmp_path / f"{'n' * 250}.txt"
    for text in ("long" * 1000, "line\r\n中 \udcff\n"):
        write_file(str(target), text)
    assert target.read_bytes() == "line\r\n中 \\udcff\n".encode()
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    for name in ("there", "dangling"):
        link = tmp_path / name
        link.symlink_to(Path("real") / f"{name}.txt")
        write_file(str(link), "text")
        assert link.is_symlink() and (tmp_path / "real" / f"{name}.txt").read_text(encoding="utf-8") == "text"


def test_names_of_streams_are_written_to_and_stay(tmp_path: Path) -> None:
    before = os.lstat("/dev/stderr")
    command = "from hplint.report.writer import write_file; write_file('/dev/stderr', 'text')"
    with open(tmp_path / "log", "wb") as log:  # noqa: PTH123
        subprocess.run([sys.executable, "-c", command], stderr=log, check=True)
    assert (tmp_path / "log").read_bytes() == b"text"
    assert os.lstat("/dev/stderr").st_ino == before.st_ino and Path("/dev/stderr").is_symlink()
    write_file("/dev/null", "text")
    assert Path("/dev/null").is_char_device()


def test_a_named_pipe_gets_the_text(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        write_file(str(pipe), "text")
        assert reader.communicate(timeout=60)[0] == b"text"
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "it names no file"),
        (".", "it is a folder"),
        ("none/a", "there is no folder none"),
        ("file/a", "no folder file"),
    ],
)
def test_what_cannot_be_written_is_said(
    path: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RequestError, match=f"cannot be written: .*{reason}"):
        write_file(path, "text")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
