"""Findings that a project accepts: comments, baselines, per-file ignores and severities on the command line."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Call = Callable[..., "tuple[int, str, str]"]
MODEL = ("--model", "tree:toy.json", "--mesh", "dp=2,tp=2", "--output-format", "concise")
BASELINE = ("--baseline", "accepted.json")


def codes(out: str) -> list[str]:
    return [line.split()[1] for line in out.splitlines() if line.split()[0].count(":") == 3]


# Comments


def test_adding_comments_leaves_nothing_to_find(hplint: Call, project: Path) -> None:
    code, out, err = hplint("plans", "--add-ignore", "--reason", "not yet", *MODEL)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "note: 2 findings are now ignored by comments in 1 file",
        "All checks passed: 2 plans, 3 entries.",
        "Not shown: 2 findings ignored by comments.",
    ]
    text = (project / "plans/bad.yaml").read_text()
    assert text.splitlines()[0] == "- match: model.layers.0.mpl  # hplint: ignore[HPL101] -- not yet"
    before = (project / "plans/bad.yaml").stat().st_mtime_ns
    assert hplint("plans", "--add-ignore", *MODEL)[0] == 0
    assert (project / "plans/bad.yaml").stat().st_mtime_ns == before


def test_what_is_not_selected_gets_no_comment(hplint: Call, project: Path) -> None:
    hplint("plans", "--add-ignore", "--select", "HPL203", *MODEL)
    assert "HPL101" not in (project / "plans/bad.yaml").read_text()


def test_text_from_the_standard_input_goes_on_with_comments(hplint: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"- match: model.nrm\n  out_dst: auto\n"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    code, out, err = hplint("-", "--add-ignore", *MODEL)
    assert (code, out) == (0, "- match: model.nrm  # hplint: ignore[HPL101]\n  out_dst: auto\n")
    assert "note: 1 finding is now ignored by comments in 1 file" in err


def test_what_no_comment_can_ignore_is_said_and_reported(hplint: Call, project: Path) -> None:
    (project / "p.json").write_text('[{"match": "model.nrm", "out_dst": "auto"}]')
    (project / "q.yaml").write_text("- match: [  # plan_overrides\n")
    code, out, _ = hplint("p.json", "q.yaml", "--add-ignore", "--output-format", "concise", *MODEL[:4])
    assert code == 1 and codes(out) == ["HPL101", "HPL001"]
    told = " ".join(out.split())
    assert "1 finding in p.json cannot be ignored by comments: JSON has none" in told
    assert "1 finding in q.yaml cannot be ignored on a line" in told


def test_a_file_that_cannot_be_written_is_told_and_its_findings_too(
    hplint: Call, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hplint.fix.write import NotWritten

    def refuse(*_: object) -> None:
        raise NotWritten("it is write-protected")

    monkeypatch.setattr("hplint.fix.write.write_fixed", refuse)
    code, out, err = hplint("plans", "--add-ignore", *MODEL)
    assert code == 2 and codes(out) == ["HPL101", "HPL203"]
    assert err == "error: plans/bad.yaml gets no comments: it is write-protected\n"


def test_json_counts_what_it_does_not_show(hplint: Call) -> None:
    assert "suppressed" not in json.loads(hplint("plans", *MODEL[:4], "--output-format", "json")[1])
    hplint("plans", "--add-ignore", *MODEL)
    report = json.loads(hplint("plans", *MODEL[:4], "--output-format", "json")[1])
    assert (report["findings"], report["suppressed"], report["version"]) == ([], 2, 1)


# Baselines


def test_a_baseline_hides_what_it_holds_and_nothing_new(hplint: Call, project: Path) -> None:
    code, out, err = hplint("plans", "--write-baseline", *BASELINE, *MODEL)
    assert (code, err) == (0, "") and "note: the baseline accepted.json holds 2 findings" in out
    code, out, _ = hplint("plans", *BASELINE, *MODEL)
    assert code == 0 and out.endswith("Not shown: 2 findings in the baseline.\n")
    plan = project / "plans/bad.yaml"
    plan.write_text("- match: model.nrm\n  out_dst: auto\n" + plan.read_text())
    code, out, _ = hplint("plans", *BASELINE, *MODEL)
    assert code == 1 and codes(out) == ["HPL101"] and "plans/bad.yaml:1:10:" in out


def test_the_file_is_sorted_and_the_same_for_the_same_findings(hplint: Call, project: Path) -> None:
    hplint("plans", "--write-baseline", *BASELINE, *MODEL)
    data = (project / "accepted.json").read_bytes()
    held = json.loads(data)
    assert held["version"] == 1
    assert [(f["path"], f["fingerprint"], f["count"]) for f in held["findings"]] == [
        ("plans/bad.yaml", "HPL101:model.layers.0.mpl:", 1),
        ("plans/bad.yaml", "HPL203:model.layers.1.mlp:params", 1),
    ]
    hplint("plans", "--write-baseline", *BASELINE, *MODEL)
    assert (project / "accepted.json").read_bytes() == data


def test_paths_count_from_the_folder_of_the_file(hplint: Call, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hplint("plans", "--write-baseline", "--baseline", "plans/accepted.json", *MODEL)
    assert json.loads((project / "plans/accepted.json").read_text())["findings"][0]["path"] == "bad.yaml"
    monkeypatch.chdir(project / "plans")
    options = ("--model", "tree:../toy.json", *MODEL[2:])
    assert hplint(".", "--baseline", "accepted.json", *options)[0] == 0


def test_the_configuration_may_name_the_baseline(hplint: Call, project: Path) -> None:
    (project / "hplint.toml").write_text('baseline = "accepted.json"\n')
    assert hplint("plans", *MODEL)[0] == 2
    assert hplint("plans", "--write-baseline", *MODEL)[0] == 0
    assert hplint("plans", *MODEL)[0] == 0
    assert hplint("plans", "--isolated", *MODEL)[0] == 1


def test_stale_entries_are_noted_and_dropped_by_the_next_writing(hplint: Call, project: Path) -> None:
    hplint("plans", "--write-baseline", *BASELINE, *MODEL)
    plan = project / "plans/bad.yaml"
    plan.write_text(plan.read_text().replace("mpl", "mlp"))
    code, out, _ = hplint("plans", *BASELINE, *MODEL)
    assert code == 0
    assert "1 entry of the baseline accepted.json is stale: its finding is gone; --write-baseline drops" in out
    hplint("plans", "--write-baseline", *BASELINE, *MODEL)
    assert len(json.loads((project / "accepted.json").read_text())["findings"]) == 1
    assert "stale" not in hplint("plans", *BASELINE, *MODEL)[1]


def test_entries_of_files_that_are_gone_are_stale(hplint: Call, project: Path) -> None:
    hplint("plans", "--write-baseline", *BASELINE, *MODEL)
    (project / "plans/bad.yaml").unlink()
    assert "2 entries of the baseline accepted.json are stale" in hplint("plans", *BASELINE, *MODEL)[1]


@pytest.mark.parametrize(
    "options",
    [("plans/good.yaml", *MODEL), ("plans", "--select", "HPL2", *MODEL), ("plans", "--output-format", "concise")],
    ids=["another file", "other rules", "no model"],
)
def test_what_a_run_does_not_look_at_is_neither_stale_nor_dropped(
    hplint: Call, project: Path, options: tuple[str, ...]
) -> None:
    hplint("plans", "--write-baseline", *BASELINE, *MODEL)
    before = (project / "accepted.json").read_bytes()
    assert "stale" not in hplint(*options, *BASELINE)[1]
    hplint(*options, "--write-baseline", *BASELINE)
    assert (project / "accepted.json").read_bytes() == before


def test_fixing_leaves_alone_what_the_baseline_holds(hplint: Call, project: Path) -> None:
    hplint("plans", "--write-baseline", *BASELINE, *MODEL)
    before = (project / "plans/bad.yaml").read_bytes()
    code, out, _ = hplint("plans", "--fix", *BASELINE, *MODEL)
    assert code == 0 and "Not shown: 2 findings in the baseline." in out
    assert (project / "plans/bad.yaml").read_bytes() == before


def test_a_file_that_cannot_be_read_is_in_no_baseline(hplint: Call, project: Path) -> None:
    (project / "plans/bad.yaml").write_text("plan_overrides: [\n")
    code, out, _ = hplint("plans", "--write-baseline", *BASELINE, *MODEL)
    assert code == 1 and codes(out) == ["HPL001"]
    assert json.loads((project / "accepted.json").read_text())["findings"] == []


@pytest.mark.parametrize(
    "text",
    ["", "[", "[]", "{}", '{"version": 2, "findings": []}', '{"version": 1, "findings": {}}', "\xff",
     '{"version": 1, "findings": [1]}', '{"version": 1, "findings": [{"path": "a", "fingerprint": "b"}]}',
     '{"version": 1, "findings": [{"path": "a", "fingerprint": "b", "message": "c", "count": 0}]}'],
)  # fmt: skip
def test_a_broken_or_foreign_file_is_a_wrong_request_and_stays(hplint: Call, project: Path, text: str) -> None:
    (project / "accepted.json").write_bytes(text.encode("latin-1"))
    for more in ((), ("--write-baseline",)):
        code, out, err = hplint("plans", *more, *BASELINE, *MODEL)
        assert (code, out) == (2, "") and "accepted.json" in err
    assert (project / "accepted.json").read_bytes() == text.encode("latin-1")


def test_two_alike_are_accepted_and_the_third_is_told(hplint: Call, project: Path) -> None:
    plan = project / "plans/bad.yaml"
    text = "- match: model.norm\n  params:\n    weight: {tpx: replicate}\n"
    plan.write_text(text + "    a: {tpx: replicate}\n")
    hplint("plans/bad.yaml", "--select", "HPL201", "--write-baseline", *BASELINE, *MODEL)
    assert sum(f["count"] for f in json.loads((project / "accepted.json").read_text())["findings"]) == 2
    plan.write_text(text + "    b: {tqx: replicate}\n    a: {tpx: replicate}\n")
    code, out, _ = hplint("plans/bad.yaml", "--select", "HPL201", *BASELINE, *MODEL)
    assert code == 1 and codes(out) == ["HPL201"] and "`tqx`" in out


ADDED = st.lists(
    st.sampled_from(
        ["# a comment\n", "\n", "- match: model.norm\n  out_dst: auto\n", "- {match: lm_head, out_dst: auto}\n"]
    ),
    max_size=4,
)


@given(ADDED, ADDED, st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_baseline_survives_edits_elsewhere(
    hplint: Call, project: Path, above: list[str], below: list[str], windows: bool
) -> None:
    plan = project / "plans/bad.yaml"
    original = (
        "- match: model.layers.0.mpl\n  out_dst: auto\n- match: model.layers.1.mlp\n  params: {a: {tp: shrd(0)}}\n"
    )
    plan.write_text(original)
    quiet = ("--ignore", "HPL104,HPL3,HPL204", *MODEL)
    hplint("plans/bad.yaml", "--write-baseline", *BASELINE, *quiet)
    text = "".join(above) + original + "".join(below)
    plan.write_bytes(text.replace("\n", "\r\n" if windows else "\n").encode())
    code, out, _ = hplint("plans/bad.yaml", *BASELINE, *quiet)
    assert code == 0 and "stale" not in out, out


# Per-file ignores, severities, the level that fails


def test_rules_may_be_ignored_in_some_files(hplint: Call, project: Path) -> None:
    assert codes(hplint("plans", "--per-file-ignores", "bad.yaml:HPL101", *MODEL)[1]) == ["HPL203"]
    assert codes(hplint("plans", "--per-file-ignores", "plans/*.yaml:HPL1,not-a-placement", *MODEL)[1]) == []
    assert codes(hplint("plans", "--per-file-ignores", "other/*:ALL", *MODEL)[1]) == ["HPL101", "HPL203"]
    (project / "hplint.toml").write_text('[per-file-ignores]\n"plans/b*" = ["HPL203"]\n')
    assert codes(hplint("plans", *MODEL)[1]) == ["HPL101"]
    assert hplint("plans", "--per-file-ignores", "bad.yaml:HPL101", *MODEL)[0] == 0


def test_severities_change_what_fails(hplint: Call, project: Path) -> None:
    options = ("plans", "--severity", "HPL101=info", "--severity", "HPL2=warning,HPL203=off")
    code, out, _ = hplint(*options, *MODEL)
    assert code == 0 and codes(out) == ["HPL101"] and "Found 1 info in 1 file" in out
    assert hplint(*options, "--fail-on", "info", *MODEL)[0] == 1
    (project / "hplint.toml").write_text('fail-on = "error"\n[severity]\nALL = "warning"\n')
    code, out, _ = hplint("plans", *MODEL)
    assert code == 0 and "Found 2 warnings in 1 file" in out
    assert hplint("plans", "--fail-on", "warning", *MODEL)[0] == 1
    assert hplint("plans", "--severity", "unknown-module=error", *MODEL)[0] == 1


def test_an_entry_that_the_mesh_leaves_inactive_stays_a_warning_whatever_its_rule_is(
    hplint: Call, project: Path
) -> None:
    (project / "p.yaml").write_text("- match: model.nrm\n  when: cp\n  out_dst: auto\n")
    code, out, _ = hplint("p.yaml", "--severity", "HPL101=error", *MODEL)
    assert code == 1 and "Found 1 warning in 1 file" in out


@pytest.mark.parametrize(
    ("config", "message", "hint"),
    [
        ('ignore = ["HPL10x"]', "`ignore`: unknown rule `HPL10x`", "`HPL101`"),
        ('select = "unknown-modul"', "`select`: unknown rule `unknown-modul`", "`unknown-module`"),
        ('[severity]\nHPL10x = "off"', "`severity`: unknown rule `HPL10x`", "`HPL101`"),
        ('[severity]\nHPL101 = "of"', "`severity`: there is no severity `of`", "`off`"),
        ("[severity]\nHPL101 = 1", "`severity` must be a table", ""),
        ('[per-file-ignores]\n"*.yaml" = "HPL10x"', "`per-file-ignores`: unknown rule `HPL10x`", "`HPL101`"),
        ('[per-file-ignores]\n"*.yaml" = 5', "`per-file-ignores` must be a table", ""),
        ('fail-on = "eror"', "`fail-on` must be", "`error`"),
        ('baseline = ""', "`baseline` must be a path", ""),
    ],
)
def test_a_wrong_setting_is_a_wrong_request_that_names_the_file(
    hplint: Call, project: Path, config: str, message: str, hint: str
) -> None:
    (project / "hplint.toml").write_text(config)
    code, out, err = hplint("plans", *MODEL)
    assert (code, out) == (2, "") and "hplint.toml" in err and message in err and hint in err, err
