"""The page of hplint report, as far as no browser is needed."""

import json
import os
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


def walked(tree: dict[str, Any]) -> dict[str, tuple[int, list[Any], list[int]]]:
    """FQN -> contract, parameters, findings: what the page makes of its nodes."""
    found = {}
    stack = [("", tree["root"])]
    while stack:
        fqn, number = stack.pop()
        _, children, parameters, contract, findings = tree["nodes"][number]
        found[fqn] = (contract, parameters, findings)
        stack += [(f"{fqn}.{name}" if fqn else name, child) for name, child in children]
    return found


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
    assert (topology["length"], topology["batch"]) == (128, 4)
    assert {row[0] for row in topology["traffic"]} == {"tp"}


def test_the_modules_add_up_to_the_totals(page: Callable[..., str]) -> None:
    (topology,) = data_of(page())["plans"][0]["topologies"]
    rows = [row for _, parameters, _ in walked(topology["tree"]).values() for row in parameters]
    assert sum(row[3] for row in rows if len(row) > 3) == topology["memory"]["whole"]
    assert sum(row[4] for row in rows if len(row) > 3) == topology["memory"]["local"]


def test_every_module_has_the_contract_of_its_boundary(page: Callable[..., str]) -> None:
    (topology,) = data_of(page())["plans"][0]["topologies"]
    found = {fqn: contract for fqn, (contract, _, _) in walked(topology["tree"]).items() if contract >= 0}
    assert found == {fqn: n for n, (names, _) in enumerate(topology["boundaries"]) for fqn in unpack(names)}


def test_findings_stand_at_their_modules(page: Callable[..., str]) -> None:
    text = PLAN + "- match: model.layers.1.mlp\n  params: {{gate.weight: {{tp: shard(0)}}}}\n"
    (topology,) = data_of(page(text))["plans"][0]["topologies"]
    told = {fqn: findings for fqn, (_, _, findings) in walked(topology["tree"]).items() if findings}
    assert list(told) == ["model.layers.1.mlp"]
    codes = {topology["findings"][number]["code"] for number in told["model.layers.1.mlp"]}
    assert "HPL104" in codes


def spread(value: Any, indent: int = 0) -> str:
    """JSON for reviewers: what fits into a line stands in one."""
    text = json.dumps(value)
    if len(text) + indent <= 110 or not isinstance(value, dict | list):
        return text
    items = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    lines = [(f"{json.dumps(key)}: " if key is not None else "") + spread(item, indent + 1) for key, item in items]
    first, last = "{}" if isinstance(value, dict) else "[]"
    inner = ",\n".join(" " * (indent + 1) + line for line in lines)
    return f"{first}\n{inner}\n{' ' * indent}{last}"


def test_the_data_of_a_small_plan_is_as_reviewed(page: Callable[..., str], request: pytest.FixtureRequest) -> None:
    data = data_of(page(PLAN, "--seq-len", "16"))
    data["hplint"] = "VERSION"
    (plan,) = data["plans"]
    plan["model"] = plan["text"] = "(a path of this machine)"
    golden = Path(__file__).parent / "golden" / "page_data.json"
    text = spread(data) + "\n"
    if request.config.getoption("--update-golden"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


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
    assert "tree" not in plan["topologies"][0]
    assert [f["code"] for f in plan["topologies"][0]["findings"]] == ["HPL203"]


def test_a_plan_of_styles_has_layouts_and_bytes(page: Callable[..., str], fixtures: Path) -> None:
    plan = (fixtures / "plans" / "torch" / "update_chain.py").as_posix()
    assert run(["report", plan, "-o", "styles.html", "--isolated"]) == 0
    (topology,) = data_of(Path("styles.html").read_text(encoding="utf-8"))["plans"][0]["topologies"]
    contracts = {fqn: contract for names, contract in topology["boundaries"] for fqn in unpack(names)}
    attention = contracts["model.layers.0.self_attn.q_proj"]
    assert attention["kind"].endswith("ColwiseParallel")
    assert attention["params"] == {"weight": {"tp": "shard(0)"}}
    assert topology["memory"]["local"] < topology["memory"]["whole"]


def test_a_broken_file_has_a_page_that_says_so(page: Callable[..., str]) -> None:
    data = data_of(page("plan_overrides: ["))
    assert data["plans"] == []
    assert [f["code"] for f in data["findings"]] == ["HPL001"]


def test_a_broken_file_beside_others_is_told_too(page: Callable[..., str], fixtures: Path) -> None:
    Path("other.yaml").write_text("plan_overrides: [", encoding="utf-8")
    data = data_of(page(PLAN, "other.yaml"))
    assert [plan["path"] for plan in data["plans"]] == ["plan.yaml"]
    assert [(f["code"], f["path"]) for f in data["findings"]] == [("HPL001", "other.yaml")]


def test_what_fails_a_check_is_what_the_configuration_says(page: Callable[..., str]) -> None:
    page(PLAN, "--fail-on", "never", code=0)
    page(PLAN, "--ignore", "HPL101", code=0)


def test_a_name_that_is_no_text_makes_a_page(page: Callable[..., str]) -> None:
    page()
    odd = os.fsdecode(b"pl\xffn.yaml")
    Path("plan.yaml").rename(odd)
    assert run(["report", odd, "-o", "odd.html", "--isolated"]) == 1
    assert "HPL101" in Path("odd.html").read_text(encoding="utf-8")


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
