"""tp_plans on the command line: what is refused before a rank starts, runs from end to end, and dry runs."""

import dataclasses
import json
import sys
from pathlib import Path

import pytest
from torch import nn
from tp_planning import config, make, on, plan_for, request_of

from hplint.apply.dry_run.dry_run import dry_run
from hplint.apply.run.request import ApplyOptions, ApplyRequest
from hplint.cli.main import run
from hplint.errors import RequestError
from hplint.lint.shipped_document import shipped_document
from hplint.model.make_model import make_model
from hplint.model.read_tree import read_tree
from hplint.resolve.styles.memory import style_memory

pytest.importorskip("transformers", minversion="5.24")
pytestmark = pytest.mark.filterwarnings("ignore")
ROOT = Path(__file__).parent.parent.parent
BUILTIN = ("--tp-plan", "builtin", "--apply", "--model")


@pytest.fixture(autouse=True)
def _stand_in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--mesh", "tp=1"), "a tp_plan cuts over tp, and the mesh has tp=1"),
        (("--mesh", "dp=2,tp=2"), "a tp_plan is applied on tp alone, and the mesh has dp=2"),
        (("--mesh", "cp=2,tp=2"), "a tp_plan is applied on tp alone, and the mesh has cp=2"),
        (("--mesh", "tp=2", "--mode", "validate"), "--mode validate is for plan_overrides"),
        (("--mesh", "tp=2", "--mesh", "tp=1"), "--apply runs on one mesh; there are 2: `tp=2` and `tp=1`"),
        (("--mesh", "tp=2", "--nproc", "3"), "--nproc asks for 3 ranks, and the mesh tp=2 has 2"),
    ],
)
def test_a_request_that_makes_no_sense_exits_with_2(arguments, message, capsys, monkeypatch):
    monkeypatch.setattr("hplint.apply.run.launch.launch", lambda request: pytest.fail("a process was started"))
    assert run([*BUILTIN, "fixtures/configs/tiny_qwen3_moe", *arguments]) == 2
    told = capsys.readouterr()
    assert message in told.err and told.out == ""


def test_experts_over_fewer_ranks_than_tp_are_refused():
    with pytest.raises(RequestError, match="experts over ep=2 need as many ranks of tp here, and the mesh has tp=4"):
        plan_for(make("tiny_mixtral"), {}, on(4, 2))


def test_a_model_that_is_not_the_librarys_is_refused():
    plan = plan_for(make("tiny_llama")).styles
    with pytest.raises(RequestError, match="`Sequential` is no model of the transformers library"):
        plan.apply(nn.Sequential(nn.Linear(2, 2)), None)


def test_an_older_transformers_is_named_with_the_version_that_is_needed(monkeypatch):
    model = make("tiny_llama")
    plan = plan_for(model).styles
    # The library puts another module in its own place while it is imported.
    monkeypatch.setattr(sys.modules["transformers"], "__version__", "4.57.1")
    monkeypatch.setitem(sys.modules, "transformers.distributed.expert_parallel", None)
    with pytest.raises(RequestError, match=r"transformers 4.57.1 does not apply tp_plans") as raised:
        plan.apply(model, None)
    assert raised.value.hint == "install transformers 5.24 or later"


def test_rules_that_the_library_finds_elsewhere_are_a_fault_of_hplint():
    model = make("tiny_llama")
    plan = plan_for(model).styles
    words = {n: w for n, w in plan.tp.words.items() if n != "model.layers.1.mlp.up_proj"}
    wrong = dataclasses.replace(plan, tp=dataclasses.replace(plan.tp, words=words))
    with pytest.raises(Exception, match="differently: for `model") as raised:
        wrong.apply(model, None)
    assert raised.value.exit_code == 3
    assert "for `model.layers.1.mlp.up_proj` hplint finds `no rule`, the library `colwise`" in str(raised.value)
    assert not any(p.is_meta for p in model.parameters())


def _plan(folder, tp, ep=1):
    asked = request_of(folder)
    model = make_model(dict(asked))
    return asked, model, plan_for(model, {}, on(tp, ep))


def _dry(folder, tp, ep=1):
    asked, model, plan = _plan(folder, tp, ep)
    found = dry_run(ApplyRequest(plan, asked, folder, tp, ApplyOptions(dry_run=True)))["dry_run"]
    tree = read_tree(model, "")
    [shipped] = shipped_document(tree).plans
    return found, style_memory(shipped, tree, on(tp, ep))


@pytest.mark.parametrize(
    ("name", "changes", "tp"),
    [
        ("llama", {"vocab_size": 61, "intermediate_size": 45, "num_attention_heads": 4, "num_key_value_heads": 4}, 4),
        ("mixtral", {"intermediate_size": 44}, 2),
        ("llama", {"tie_word_embeddings": True}, 2),
    ],
    ids=["sizes that do not divide", "fused weights in strides", "tied weights"],
)
def test_a_dry_run_holds_the_bytes_that_plan_show_counts(name, changes, tp, tmp_path):
    found, memory = _dry(config(tmp_path, name, **changes), tp)
    assert found["parameters"]["bytes"]["total"] == sum(p.local for p in memory.parameters)
    assert found["parameters"]["bytes"]["unsharded"] == sum(p.whole for p in memory.parameters)


def test_a_large_model_is_counted_on_eight_ranks():
    found, memory = _dry("llama3_405b", 8)
    assert found["parameters"]["bytes"]["total"] == sum(p.local for p in memory.parameters) == 202_941_202_432
    tokens, hidden, vocabulary = found["seq_len"], 16_384, 128_256
    assert found["totals"] == [
        {
            "axis": "tp",
            "direction": "forward",
            "collective": "all-gather",
            "count": 1,
            "bytes": 4 * tokens * vocabulary,
        },
        {
            "axis": "tp",
            "direction": "forward",
            "collective": "all-reduce",
            "count": 1 + 2 * 126,
            "bytes": (1 + 2 * 126) * 4 * tokens * hidden,
        },
        {
            "axis": "tp",
            "direction": "backward",
            "collective": "all-reduce",
            "count": 1 + 5 * 126,
            "bytes": (1 + 5 * 126) * 4 * tokens * hidden,
        },
    ]
    assert found["not_counted"] == []


def test_spread_experts_are_told_as_not_counted_and_the_rest_is_counted():
    found, _ = _dry("tiny_qwen3_moe", 2, 2)
    [left] = found["not_counted"]
    assert left["modules"] == ["model.layers.0.mlp.experts", "model.layers.1.mlp.experts"]
    told = {b["module"]: b["communication"] for b in found["boundaries"]}
    assert [c["name"] for c in told["model.layers.1.self_attn.q_norm"]] == ["replicated_with_grad_allreduce"]
    assert not any("experts" in module for module in told)


@pytest.mark.parametrize("model", ["tiny_llama", "tiny_qwen3_moe"])
def test_a_shipped_plan_is_verified_from_the_command_line(model, capsys):
    spec = f"hf:fixtures/configs/{model}"
    assert run([*BUILTIN, spec, "--mesh", "tp=2", "--verify", "--output-format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verified"]["agrees"]
    assert found["ranks"] == 2
    assert found["styles"]["colwise"] == (10 if model == "tiny_llama" else 6)
