"""`--tp-plan builtin`: the plan that a model ships is checked, shown and counted like one of a file."""

import json
from pathlib import Path
from typing import Any

import pytest
from checking import FIXTURES

LLAMA = str(FIXTURES / "trees" / "llama.json")
SAID = "from LlamaConfig"


def test_the_shipped_plan_is_checked_without_a_path(hplint: Any) -> None:
    result = hplint("--model", LLAMA, "--tp-plan", "builtin", "--mesh", "tp=2")
    assert (result.code, result.out) == (0, "All checks passed: 1 plan, 9 entries.\n")


def test_it_is_checked_beside_the_files_that_are_named(hplint: Any, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("plan_overrides:\n  - match: '*.nothing_of_the_kind'\n    params: {}\n")
    result = hplint(str(file), "--model", LLAMA, "--tp-plan", "builtin", "--mesh", "tp=2", "--output-format", "json")
    told = json.loads(result.out)
    assert [(p["path"], p["dialect"]) for p in told["plans"]] == [
        (str(file), "yaml"), ("LlamaForCausalLM.tp_plan", "tp_plan")
    ]  # fmt: skip
    assert {f["path"] for f in told["findings"]} == {str(file)}


def test_it_is_shown_with_what_it_saves(hplint: Any) -> None:
    result = hplint("plan", "show", "--tp-plan", "builtin", "--model", LLAMA, "--mesh", "tp=2", "--format", "json")
    shown = json.loads(result.out)
    assert shown["styles"]["model.layers.0.self_attn.o_proj"]["params"] == {"weight": {"tp": "shard(1)"}}


def test_experts_have_a_plan_of_their_own_where_they_are_spread(hplint: Any) -> None:
    model = str(FIXTURES / "trees" / "qwen3_moe.json")
    one = hplint("--model", model, "--tp-plan", "builtin", "--mesh", "tp=2", "--output-format", "json")
    two = hplint("--model", model, "--tp-plan", "builtin", "--mesh", "tp=2", "--ep", "2", "--output-format", "json")
    assert [len(json.loads(r.out)["plans"]) for r in (one, two)] == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tp-plan", "builtin"], "name the model with --model"),
        (["--tp-plan", "bultin", "--model", LLAMA], "did you mean `builtin`?"),
        (["--tp-plan", "builtin", "--model", str(FIXTURES / "trees" / "toy.json")], "`ToyLM` ships no tp_plan"),
        (["--tp-plan", "builtin", "--model", "nowhere.json"], "nowhere.json"),
        (["--tp-plan", "builtin", "--model", LLAMA, "--fix"], "--fix changes files"),
        (["--tp-plan", "builtin", "--model", LLAMA, "--add-ignore"], "--add-ignore changes files"),
        (["plan", "show"], "FILE is missing"),
        (["report", "-o", "page.html"], "PATHS is missing"),
    ],
)
def test_what_cannot_be_asked_for_exits_with_2(hplint: Any, arguments: list[str], said: str) -> None:
    result = hplint(*arguments)
    assert result.code == 2
    assert said in result.out + result.err
