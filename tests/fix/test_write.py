"""Fixed files on the disk: whole or not at all, with mode and links kept."""

import os
import stat
from pathlib import Path

import pytest

from hplint.fix.write import NotWritten, write_fixed


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_bytes(b"old")
    return path


def test_the_file_gets_the_new_bytes_and_nothing_is_left_beside_it(plan: Path) -> None:
    write_fixed(str(plan), b"old", b"new\r\n")
    assert plan.read_bytes() == b"new\r\n"
    assert names(plan.parent) == ["plan.yaml"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o775])
def test_the_mode_stays(plan: Path, mode: int) -> None:
    plan.chmod(mode)
    write_fixed(str(plan), b"old", b"new")
    assert stat.S_IMODE(plan.stat().st_mode) == mode


def test_a_symbolic_link_stays_and_its_target_is_written(plan: Path) -> None:
    folder = plan.parent / "links"
    folder.mkdir()
    link = folder / "link.yaml"
    link.symlink_to("../plan.yaml")
    write_fixed(str(link), b"old", b"new")
    assert link.is_symlink() and plan.read_bytes() == b"new" and names(folder) == ["link.yaml"]


def test_a_file_that_changed_meanwhile_is_left_alone(plan: Path) -> None:
    plan.write_bytes(b"newer")
    with pytest.raises(NotWritten) as caught:
        write_fixed(str(plan), b"old", b"new")
    assert caught.value.changed and plan.read_bytes() == b"newer" and names(plan.parent) == ["plan.yaml"]


def test_a_file_that_is_gone_is_not_made_anew(plan: Path) -> None:
    plan.unlink()
    with pytest.raises(NotWritten, match="No such file"):
        write_fixed(str(plan), b"old", b"new")
    assert not names(plan.parent)


def test_a_write_protected_file_is_refused(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The superuser may write everything: ask as somebody who may not.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(NotWritten, match="write-protected"):
        write_fixed(str(plan), b"old", b"new")
    assert plan.read_bytes() == b"old"


def test_a_disk_that_is_full_leaves_the_file_as_it_is(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NotWritten, match="No space left"):
        write_fixed(str(plan), b"old", b"new")
    assert plan.read_bytes() == b"old" and names(plan.parent) == ["plan.yaml"]
