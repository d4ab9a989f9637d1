"""Whole runs: what a user gets for the paths and options of a request."""

import json
import shutil
from pathlib import Path

import pytest
from checking import FIXTURES

from hplint.lint.request import Request, Run
from hplint.lint.session import lint

TREE = f"tree:{FIXTURES / 'trees' / 'toy.json'}"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HPLINT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def run(text: str, **asked: object) -> Run:
    Path("p.yaml").write_text(text, encoding="utf-8")
    return lint(Request(("p.yaml",), **{"model": TREE, "meshes": ({"dp": 2, "tp": 2},), **asked}))  # type: ignore[arg-type]


def told(result: Run) -> list[tuple[str, str]]:
    return [(d.code, d.severity) for d in result.diagnostics]


def test_everything_wrong_is_reported_at_once() -> None:
    text = "- match: model.layer.0.mlp\n  params: none\n- match: model.norm\n  paramz: auto\n"
    text += "- match: '*.mlp'\n  when: tp\n"
    assert told(run(text)) == [("HPL101", "error"), ("HPL002", "error"), ("HPL006", "error")]


def test_an_entry_that_the_topology_leaves_inactive_is_checked_but_only_warned_about() -> None:
    text = "- match: '*.self_attn'\n  when: cp\n  region_dispatch: false\n"
    text += "  inner_target: self\n  inner_wrapper: sdpa_hff\n"
    assert told(run(text)) == [("HPL405", "warning")]
    assert told(run(text, meshes=({"dp": 1, "cp": 2, "tp": 1},)))[0] == ("HPL405", "error")


def test_a_finding_of_one_topology_says_in_which_it_holds() -> None:
    layouts = "up_proj.weight: {tp: shard(0)}, gate_proj.weight: {tp: shard(0)}, down_proj.weight: {tp: shard(1)}"
    text = f"- match: '*.mlp'\n  params: {{{layouts}}}\n"
    result = run(text, meshes=({"tp": 2}, {"tp": 7}))
    notes = {d.topology_note for d in result.diagnostics if d.code == "HPL206"}
    assert notes == {"with tp=7"}


def test_what_holds_in_every_topology_is_told_once_and_without_a_note() -> None:
    result = run("- match: model.nrm\n  params: none\n", meshes=({"tp": 2}, {"tp": 4}))
    assert [(d.code, d.topology_note) for d in result.diagnostics] == [("HPL101", "")]
    assert len(result.plans) == 2


def test_equal_findings_in_many_modules_are_one_finding_that_counts_them() -> None:
    (found,) = run("- match: '*.self_attn'\n  params: {q.weight: {tp: shard(0)}}\n", select=("HPL104",)).diagnostics
    assert found.modules == tuple(f"model.layers.{i}.self_attn" for i in range(3))
    assert found.message.endswith("(in model.layers.0.self_attn and 2 more modules)")


def test_a_fingerprint_survives_lines_above_and_tells_equal_findings_apart() -> None:
    text = "- match: model.norm\n  params: {weight: {tpx: replicate}, bias: {tpx: replicate}}\n"
    names = [d.fingerprint for d in run(text).diagnostics if d.code == "HPL201"]
    assert names == [d.fingerprint for d in run("# a comment\n\n" + text).diagnostics if d.code == "HPL201"]
    assert len(set(names)) == 2


def test_a_model_that_cannot_be_had_is_never_a_green_run() -> None:
    result = run("# hplint: model=hf:./nowhere\n- match: model.norm\n  params: auto\n", model=None)
    assert told(result) == [("HPL009", "error")]


def test_the_files_own_model_on_another_machine_is_a_warning() -> None:
    text = "model: {pretrained_model_name_or_path: /checkpoints/x}\nplan_overrides:\n  - match: a\n    params: {}\n"
    assert told(run(text, model=None)) == [("HPL009", "warning")]


def test_without_a_model_or_sizes_a_note_says_which_rules_kept_quiet() -> None:
    result = run("- match: model.norm\n  params: auto\n", model=None, meshes=())
    assert told(result) == [] and len(result.notes) == 2


def test_a_wrapper_that_the_project_registers_is_known() -> None:
    from hplint.config.config import Config

    text = "- match: '*.self_attn'\n  region_dispatch: false\n  inner_target: self\n  inner_wrapper: ours\n"
    assert "HPL405" in {c for c, _ in told(run(text))}
    assert "HPL405" not in {c for c, _ in told(run(text, config=Config(wrappers=("ours",))))}


def test_boundaries_may_come_from_a_file_instead_of_the_derivation() -> None:
    from hplint.config.config import Config

    given = {
        "model.mixer": {"params": {}, "in_src": {"left": {"tp": "replicate"}}, "in_dst": {"left": {"tp": "replicate"}}}
    }
    Path("boundaries.json").write_text(json.dumps({"boundaries": given}), encoding="utf-8")
    result = run(
        "- match: model.mixer\n  out_src: none\n", config=Config(boundaries="boundaries.json"), select=("HPL301",)
    )
    assert told(result) == []
    assert told(run("- match: model.mixer\n  out_src: none\n", select=("HPL301",))) == [("HPL301", "error")]


def test_a_damaged_cache_is_rebuilt_in_silence() -> None:
    text = "- match: model.norm\n  params: auto\n"
    first = run(text)
    for file in Path("cache").rglob("*"):
        if file.is_file():
            file.write_bytes(b"{")
    assert told(run(text)) == told(first)
    shutil.rmtree("cache", ignore_errors=True)


def test_what_is_an_error_in_one_topology_and_a_warning_in_another_is_told_once_as_an_error() -> None:
    text = "- match: model.norm\n  params: {weight: {tp: partial}, bias: {tp: replicate}}\n"
    result = run(text, meshes=({"tp": 1}, {"tp": 2}), select=("HPL207",))
    assert [(d.code, d.severity, d.topology_note) for d in result.diagnostics] == [("HPL207", "error", "with tp=2")]
