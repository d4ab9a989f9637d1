"""plan show, model show, model build, explain, rules."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., "tuple[int, str, str]"]
MODEL = ("--model", "tree:toy.json", "--mesh", "dp=2,tp=2")


def test_plan_show_prints_boundaries(hplint: Call) -> None:
    code, out, err = hplint("plan", "show", "plans/good.yaml", *MODEL)
    assert (code, err) == (0, "")
    assert out.startswith("plans/good.yaml: 1 entry\nToyLM (tree:toy.json) on dp=2,tp=2: ")
    assert "\nmodel.layers.0.mlp  mlp, merged\n" in out and "\nmodel.layers.{1-2}.mlp  x2  mlp, derived\n" in out


def test_plan_show_as_json_is_one_object(hplint: Call) -> None:
    code, out, _ = hplint("plan", "show", "plans/good.yaml", "--format", "json", *MODEL)
    plan = json.loads(out)
    assert code == 0 and (plan["version"], plan["topology"]["tp"]) == (1, 2)
    mlp = plan["boundaries"]["model.layers.0.mlp"]
    assert (mlp["mode"], mlp["out_src"]) == ("merged", {"output": {"tp": "partial"}})


def test_plan_show_with_several_meshes_prints_one_object_a_line(hplint: Call) -> None:
    _, out, _ = hplint("plan", "show", "plans/good.yaml", "--format", "json", *MODEL, "--mesh", "tp=4")
    assert [json.loads(line)["topology"]["tp"] for line in out.splitlines()] == [2, 4]


def test_a_plan_with_faults_is_shown_as_far_as_it_resolves(hplint: Call) -> None:
    code, out, err = hplint("plan", "show", "plans/bad.yaml", "--format", "json", *MODEL)
    assert code == 1 and "model.layers.1.mlp" in json.loads(out)["boundaries"]
    assert [line.split(":")[1:3] for line in err.splitlines()] == [["1", "10"], ["5", "26"]]


def test_model_show_folds_equal_layers(hplint: Call) -> None:
    code, out, _ = hplint("model", "show", "tree:toy.json")
    assert code == 0 and "0-2: Block x3" in out
    assert "self_attn" not in hplint("model", "show", "tree:toy.json", "--depth", "2")[1]


def test_model_build_writes_a_tree_that_check_reads(hplint: Call, project: Path) -> None:
    assert hplint("model", "build", "tree:toy.json", "-o", "built.json") == (0, "", "")
    assert json.loads((project / "built.json").read_text(encoding="utf-8"))["format"] == "hplint-tree"
    assert hplint("plans/good.yaml", "--model", "tree:built.json", "--mesh", "tp=2")[0] == 0
    assert hplint("model", "build", "tree:toy.json", "-o", "-")[1] == (project / "built.json").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("word", ["HPL203", "hpl203", "not-a-placement"])
def test_explain_takes_codes_and_names(hplint: Call, word: str) -> None:
    code, out, _ = hplint("explain", word)
    assert code == 0 and out.startswith("# not-a-placement (HPL203)\n")
    assert "model=toy" not in out and "## Use instead" in out and "code: HPL203" not in out


def test_explain_with_an_unknown_rule_offers_near_ones(hplint: Call) -> None:
    assert hplint("explain", "not-a-placment") == (
        2,
        "",
        "error: unknown rule `not-a-placment`\nhelp: did you mean `not-a-placement`?\n",
    )


def test_explain_is_typeset_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    from hplint.lint.registry import Registry
    from hplint.report.explain import explain_rules
    from hplint.report.writer import Writer

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    explain_rules(Registry(), ("HPL203",), Writer(stream, "auto", {"COLUMNS": "80", "TERM": "xterm"}))
    assert "\x1b[" in stream.getvalue() and "## What" not in stream.getvalue()


def test_rules_lists_every_rule(hplint: Call) -> None:
    from hplint.lint.registry import Registry

    code, out, _ = hplint("rules")
    assert code == 0
    assert [line[:6] for line in out.splitlines() if line.startswith("HPL")] == [r.code for r in Registry()]
    listed = json.loads(hplint("rules", "--format", "json")[1])
    assert {"code", "name", "severity", "group", "summary", "explanation"} == listed[0].keys()
