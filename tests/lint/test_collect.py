"""Collecting files: what counts, what is left out, what is a wrong request."""

import os
from pathlib import Path

import pytest

from hplint.errors import RequestError
from hplint.lint.collect import collect

PLAN = b"plan_overrides:\n  - match: model.norm\n    params: auto\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, data: bytes = PLAN) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(data)


def paths(*named: str) -> list[str]:
    return [d.source.path for d in collect(named, None, None).documents]


def test_a_folder_gives_its_plan_files_in_name_order_and_leaves_other_files_alone() -> None:
    for name in ("plans/b.yaml", "plans/a.yml", "plans/deep/c.yaml"):
        write(name)
    write("plans/values.yaml", b"replicas: 3\n")
    write("plans/notes.txt")
    write("plans/code.py", b"import os\n")
    assert paths("plans") == ["plans/a.yml", "plans/b.yaml", "plans/deep/c.yaml"]


def test_a_path_named_twice_is_read_once() -> None:
    write("plans/a.yaml")
    named = ("plans/a.yaml", "plans", "./plans/a.yaml", "plans/../plans/a.yaml")
    assert paths(*named) == ["plans/a.yaml"]
    assert collect(named, None, None).without_plan == []


def test_ignored_and_hidden_build_folders_are_not_entered() -> None:
    Path(".git").mkdir()
    write(".gitignore", b"out/\nsecret.yaml\n")
    for name in ("out/a.yaml", "secret.yaml", "node_modules/b.yaml", ".venv/c.yaml", "kept.yaml"):
        write(name)
    write("sub/.gitignore", b"local.yaml\n")
    write("sub/local.yaml")
    write("sub/kept.yaml")
    assert paths(".") == ["kept.yaml", "sub/kept.yaml"]


def test_a_named_file_is_read_even_where_it_is_ignored() -> None:
    write(".gitignore", b"secret.yaml\n")
    write("secret.yaml")
    assert paths("secret.yaml") == ["secret.yaml"]


def test_a_named_file_without_a_plan_is_remembered() -> None:
    write("values.yaml", b"replicas: 3\n")
    write("empty.yaml", b"")
    assert collect(("values.yaml", "empty.yaml"), None, None).without_plan == ["values.yaml", "empty.yaml"]


def test_a_folder_without_plans_is_remembered() -> None:
    Path("bare").mkdir()
    assert collect(("bare",), None, None).without_plan == ["bare"]


def test_a_missing_path_is_a_wrong_request_with_near_names() -> None:
    write("plans/llama.yaml")
    with pytest.raises(RequestError) as caught:
        collect(("plans/lama.yaml",), None, None)
    assert caught.value.message == "no such file or folder: `plans/lama.yaml`"
    assert caught.value.hint == "did you mean `plans/llama.yaml`?"


def test_standard_input_carries_the_name_that_it_is_given() -> None:
    collected = collect(("-",), PLAN, "plans/x.yaml")
    assert [d.source.path for d in collected.documents] == ["plans/x.yaml"]


def test_broken_yaml_met_on_a_walk_counts_only_when_it_talks_of_plans() -> None:
    write("chart.yaml", b"spec:\n  match: {{ .Values.x }\n")
    write("plan.yaml", b"plan_overrides:\n  - match: [\n")
    assert paths(".") == ["plan.yaml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_a_finding() -> None:
    write("plan.yaml")
    Path("plan.yaml").chmod(0)
    assert [f.rule for d in collect(("plan.yaml",), None, None).documents for f in d.faults] == ["syntax-error"]


def test_a_file_that_vanishes_between_listing_and_reading_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    write("plan.yaml")

    def gone(path: str) -> bytes:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("hplint.lint.collect._bytes", gone)
    document = collect(("plan.yaml",), None, None).documents[0]
    assert document.faults[0].rule == "syntax-error"


def test_links_that_lead_in_circles_are_not_followed() -> None:
    write("plans/a.yaml")
    Path("plans/loop").symlink_to("..")
    assert paths("plans") == ["plans/a.yaml"]


def test_a_file_without_end_is_read_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hplint.lint.collect.LARGEST_FILE", 10)
    write("big.yaml")
    (document,) = collect(("big.yaml",), None, None).documents
    assert document.faults[0].data == {"message": "the file is larger than 10 bytes"}


def test_named_files_without_a_plan_can_be_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.yaml").write_bytes(PLAN)
    Path("values.yaml").write_text("a: 1\n", encoding="utf-8")
    Path("template.yaml").write_text("a: {{ b }}: c\n", encoding="utf-8")
    Path("broken.yaml").write_text("plan_overrides: [\n", encoding="utf-8")
    found = collect(("plan.yaml", "values.yaml", "template.yaml", "broken.yaml"), None, None, skip_planless=True)
    assert ([d.source.path for d in found.documents], found.without_plan) == (["plan.yaml", "broken.yaml"], [])
    with pytest.raises(RequestError):
        collect(("gone.yaml",), None, None, skip_planless=True)
