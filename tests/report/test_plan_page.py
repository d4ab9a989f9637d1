"""The page of hplint report, as far as no browser is needed."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hplint.cli.main import run
from hplint.report.packed_names import unpack
from hplint.report.plan_page import plan_page

PLAN = """\
# hplint: model=tree:{tree} mesh=dp=2,tp=2
- match: model.layers.*.mlp
  out_dst: {{tp: shard(1)}}
- match: model.layers.0.atn
"""


@pytest.fixture
def page(tmp_path: Path, fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a plan's page and read it."""
    monkeypatch.chdir(tmp_path)

    def write(text: str = PLAN, *arguments: str, code: int = 1) -> str:
        tree = (fixtures / "trees" / "toy.json").as_posix()
        Path("plan.yaml").write_text(text.format(tree=tree), encoding="utf-8")
        assert run(["report", "plan.yaml", "-o", "plan.html", "--isolated", *arguments]) == code
        return Path("plan.html").read_text(encoding="utf-8")

    return write


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])  # type: ignore[no-any-return]


def test_the_page_holds_what_plan_show_shows(page: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    (plan,) = data_of(page())["plans"]
    capsys.readouterr()
    run(["plan", "show", "plan.yaml", "--format", "json", "--isolated"])
    shown = json.loads(capsys.readouterr().out)["boundaries"]
    (topology,) = plan["topologies"]
    contracts = {fqn: contract for names, contract in topology["boundaries"] for fqn in unpack(names)}
    assert contracts.keys() == shown.keys()
    for fqn, contract in contracts.items():
        assert contract["params"] == shown[fqn]["params"]
        assert contract["mode"] == shown[fqn]["mode"]
        for side, name, source, target in contract["flows"]:
            assert source == (shown[fqn][f"{side}_src"] or {}).get(name)
            assert target == (shown[fqn][f"{side}_dst"] or {}).get(name)


def test_findings_stand_at_their_modules_and_lines(page: Callable[..., str]) -> None:
    (topology,) = data_of(page())["plans"][0]["topologies"]
    told = [(f["code"], f["at"][0]) for f in topology["findings"]]
    assert told == [("HPL101", 4)]


def test_origins_are_the_lines_of_the_plan(page: Callable[..., str]) -> None:
    (topology,) = data_of(page())["plans"][0]["topologies"]
    merged = [contract for _, contract in topology["boundaries"] if contract["mode"] == "merged"]
    assert merged
    assert all(contract["lines"] == {"out_dst": 3} for contract in merged)


def test_memory_and_traffic_are_told(page: Callable[..., str]) -> None:
    (topology,) = data_of(page(PLAN, "--seq-len", "128", "--batch", "4"))["plans"][0]["topologies"]
    memory = topology["memory"]
    assert memory["whole"] > memory["local"] == memory["sharded"] + memory["replicated"]
    assert sum(w * len(unpack(names)) for names, w, _, _ in memory["parameters"]) == memory["whole"]
    assert (topology["length"], topology["batch"]) == (128, 4)
    assert {row[0] for row in topology["traffic"]} == {"tp"}


def test_each_mesh_has_its_own_values(page: Callable[..., str]) -> None:
    topologies = data_of(page(PLAN, "--mesh", "tp=2", "--mesh", "tp=4"))["plans"][0]["topologies"]
    assert [t["label"] for t in topologies] == ["tp=2", "tp=4"]
    assert topologies[0]["memory"]["local"] > topologies[1]["memory"]["local"]


def test_nothing_in_a_plan_can_end_the_script(page: Callable[..., str]) -> None:
    evil = "</script><img src=x onerror=alert(1)><!--&"
    text = page(PLAN + f"- match: '{evil}'\n  out_dst: auto\n")
    assert evil not in text
    assert "<img" not in text
    assert text.count("</script>") == 2
    assert evil in data_of(text)["plans"][0]["text"]


def test_what_looks_like_a_slot_stays_text(page: Callable[..., str]) -> None:
    text = page(PLAN + "# %SCRIPT% %TITLE%\n")
    assert "%SCRIPT% %TITLE%" in data_of(text)["plans"][0]["text"]
    assert text.count('"use strict"') == 1


def test_the_page_may_load_nothing(page: Callable[..., str]) -> None:
    text = page()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy and policy[1].startswith("default-src &#x27;none&#x27;; script-src &#x27;sha256-")
    assert not re.search(r"(src|href)=\"(?!data:|#)", text)


def test_a_clean_plan_exits_with_0(page: Callable[..., str]) -> None:
    text = page("# hplint: model=tree:{tree} mesh=tp=2\n- match: model.layers.*.mlp\n  out_dst: auto\n", code=0)
    assert data_of(text)["plans"][0]["topologies"][0]["findings"] == []


def test_a_plan_without_a_model_has_a_page_too(page: Callable[..., str]) -> None:
    (plan,) = data_of(page("- match: a\n  out_dst: {{tp: shrd(1)}}\n"))["plans"]
    assert plan["tree"] is None
    assert [f["code"] for f in plan["topologies"][0]["findings"]] == ["HPL203"]


def test_a_broken_file_has_a_page_that_says_so(page: Callable[..., str]) -> None:
    data = data_of(page("plan_overrides: ["))
    assert data["plans"] == []
    assert [f["code"] for f in data["findings"]] == ["HPL001"]


def test_the_standard_output_may_take_the_page(page: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    text = page()
    capsys.readouterr()
    run(["report", "plan.yaml", "-o", "-", "--isolated"])
    assert capsys.readouterr().out == text


def test_a_folder_that_is_missing_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["report", "absent.yaml", "-o", "nowhere/plan.html"]) == 2
    assert "there is no folder nowhere" in capsys.readouterr().err


def test_an_empty_run_makes_a_page() -> None:
    assert "<title>no plan – hplint</title>" in plan_page({"plans": [], "trees": [], "findings": []})
