"""Dry runs: bytes and collectives worked out by hand, and equal to what real ranks record."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from applying import plan_for, topology
from dry_running import dry, entries, recorded, request_of, rows, sent
from ranks import RANKS, on_ranks
from verifying import FIXTURES, spec_of

from hplint.apply.dry_run.dry_run import dry_run
from hplint.apply.errors import CannotApply
from hplint.apply.plan import ApplyPlan
from hplint.apply.run.request import ApplyOptions, ApplyRequest
from hplint.derive.derive import derive_boundaries
from hplint.front.read import read_document
from hplint.model.make_model import make_model
from hplint.model.read_tree import read_tree
from hplint.resolve.memory import memory
from hplint.resolve.resolver import resolve
from hplint.resolve.traffic import Batch, moves

pytestmark = RANKS

HIDDEN, INNER, VOCAB, LAYERS, KEYS = 32, 48, 64, 2, 16
ITEM = 4
PROJECTIONS = 2 * HIDDEN * HIDDEN + 2 * HIDDEN * KEYS + 3 * HIDDEN * INNER
NORMS = (2 * LAYERS + 1) * HIDDEN * ITEM


def test_weights_are_halved_on_two_ranks_and_norms_are_whole_on_both():
    found = dry("tiny_llama", "dense.yaml", topology(tp=2, seq_len=16))["parameters"]
    sharded = (LAYERS * PROJECTIONS + 2 * VOCAB * HIDDEN) * ITEM // 2
    assert found["bytes"] == {
        "sharded": sharded,
        "replicated": NORMS,
        "total": sharded + NORMS,
        "unsharded": 2 * sharded + NORMS,
    }
    assert found["tensors"] == {"sharded": 7 * LAYERS + 2, "replicated": 2 * LAYERS + 1, "total": 9 * LAYERS + 3}
    assert found["dtypes"] == {"float32": sharded + NORMS}
    assert found["largest"][0] == {
        "tensors": ["model.embed_tokens.weight"],
        "shape": [VOCAB // 2, HIDDEN],
        "dtype": "float32",
        "bytes": VOCAB * HIDDEN * ITEM // 2,
        "whole": VOCAB * HIDDEN * ITEM,
        "cuts": {"tp": 0},
    }
    assert found["largest_replicated"][0]["tensors"] == [f"model.layers.{i}.input_layernorm.weight" for i in (0, 1)]
    assert found["largest_replicated"][0]["bytes"] == HIDDEN * ITEM


def test_tied_embeddings_count_once():
    tied = dry("tiny_llama_tied", "dense_tied.yaml", topology(tp=2, seq_len=16))["parameters"]["bytes"]
    untied = dry("tiny_llama", "dense.yaml", topology(tp=2, seq_len=16))["parameters"]["bytes"]
    assert untied["sharded"] - tied["sharded"] == VOCAB * HIDDEN * ITEM // 2


def test_expert_weights_are_cut_by_the_expert_mesh_alone():
    found = dry("tiny_mixtral", "experts.yaml", topology(dp=2, tp=2, ep=4, seq_len=16))["parameters"]
    experts, config = 4, make_model(request_of(spec_of("tiny_mixtral"))).config
    assert config.num_local_experts == experts
    up = next(row for row in found["largest"] if row["tensors"][0].endswith("experts.gate_up_proj"))
    assert (up["cuts"], up["shape"]) == ({"ep": 0}, [1, 2 * config.intermediate_size, config.hidden_size])
    assert up["whole"] == experts * up["bytes"]


@pytest.mark.parametrize(
    ("model", "plan", "sizes"),
    [
        ("tiny_llama", "dense.yaml", {"tp": 2}),
        ("tiny_llama_tied", "dense_tied.yaml", {"tp": 2}),
        ("tiny_qwen2", "dense.yaml", {"tp": 2, "cp": 2}),
        ("tiny_deepseek_v3", "experts_dense_first.yaml", {"dp": 2, "tp": 2, "ep": 2}),
        ("tiny_qwen3_moe", "experts.yaml", {"dp": 2, "tp": 2, "ep": 4}),
    ],
)
def test_parameter_bytes_agree_with_what_is_told_without_torch(model, plan, sizes):
    on = topology(seq_len=16, **sizes)
    tree = read_tree(make_model(request_of(spec_of(model))), "")
    [read] = read_document("plan.yaml", f"plan_overrides:\n{entries(plan)}".encode()).plans
    told = memory(resolve(read, tree, on, derive_boundaries(tree, on, {})), tree, on)
    found = dry(model, plan, on)["parameters"]["bytes"]
    assert found == {
        "sharded": told.sharded, "replicated": told.replicated, "total": told.local, "unsharded": told.whole
    }  # fmt: skip


ACTIVATION = 3 * 16 * HIDDEN * ITEM
LOGITS = 3 * 16 * VOCAB * ITEM


def test_a_region_without_sequence_parallelism_reduces_its_output_and_its_inputs_gradient():
    found = dry("tiny_llama", "dense.yaml", topology(tp=2, seq_len=16), batch=3)
    both = [
        ("output", "forward", "all-reduce", "tp", ACTIVATION),
        ("hidden_states", "backward", "all-reduce", "tp", ACTIVATION),
    ]
    assert sent(found, "model.layers.0.self_attn") == both == sent(found, "model.layers.1.mlp")
    assert sent(found, "model.embed_tokens") == both[:1]
    assert sent(found, "lm_head") == [("output", "forward", "all-gather", "tp", LOGITS), both[1]]
    assert found["totals"] == [
        {"axis": "tp", "direction": "forward", "collective": "all-gather", "count": 1, "bytes": LOGITS},
        {"axis": "tp", "direction": "forward", "collective": "all-reduce", "count": 5, "bytes": 5 * ACTIVATION},
        {"axis": "tp", "direction": "backward", "collective": "all-reduce", "count": 5, "bytes": 5 * ACTIVATION},
    ]
    assert found["gradients"] == []


def test_a_region_with_sequence_parallelism_gathers_and_scatters_both_ways():
    found = dry("tiny_llama", "dense.yaml", topology(True, tp=2, dp=3, seq_len=16), batch=3)
    assert sent(found, "model.layers.0.mlp") == [
        ("hidden_states", "forward", "all-gather", "tp", ACTIVATION),
        ("output", "forward", "reduce-scatter", "tp", ACTIVATION),
        ("output", "backward", "all-gather", "tp", ACTIVATION),
        ("hidden_states", "backward", "reduce-scatter", "tp", ACTIVATION),
    ]
    parameters = found["parameters"]
    assert found["gradients"] == [
        {"axis": axis, "direction": "backward", "collective": "all-reduce", "count": count, "bytes": size}
        for axis, count, size in (
            ("dp", parameters["tensors"]["total"], parameters["bytes"]["total"]),
            ("tp", parameters["tensors"]["replicated"], NORMS),
        )
    ]


def test_attention_over_a_cut_sequence_gathers_keys_and_values_and_scatters_their_gradients():
    found = dry("tiny_llama", "dense.yaml", topology(cp=2, seq_len=16), batch=3)
    size = 3 * 16 * KEYS * ITEM
    assert sent(found, "model.layers.0.self_attn") == [
        ("key", "forward", "all-gather", "cp", size),
        ("value", "forward", "all-gather", "cp", size),
        ("value", "backward", "reduce-scatter", "cp", size),
        ("key", "backward", "reduce-scatter", "cp", size),
    ]
    assert [b["module"] for b in found["boundaries"]] == [f"model.layers.{i}.self_attn" for i in (0, 1)]


def test_the_exchange_of_tokens_is_estimated_as_balanced():
    found = dry("tiny_mixtral", "experts.yaml", topology(tp=2, ep=2, seq_len=16), batch=3)
    [mlp] = [b for b in found["boundaries"] if b["module"] == "model.layers.0.mlp"]
    copies = 3 * 16 * 2 * HIDDEN * ITEM  # two experts a token
    assert [(r["name"], r["direction"], r["bytes"]) for r in mlp["communication"] if r["estimated"]] == [
        ("tokens to experts", "forward", copies),
        ("tokens from experts", "forward", copies),
        ("tokens from experts", "backward", copies),
        ("tokens to experts", "backward", copies),
    ]
    assert {r["collective"] for r in mlp["communication"] if r["axis"] == "ep"} == {"all-to-all"}


def _recorded(model, plan, on, batch):
    return recorded(model, plan, on, batch)


@pytest.mark.parametrize(
    ("model", "plan", "sequence_parallel", "sizes", "batch"),
    [
        ("tiny_llama", "dense.yaml", False, {"tp": 2}, 2),
        ("tiny_llama_tied", "dense_tied.yaml", True, {"tp": 2}, 1),
        ("tiny_qwen2", "dense.yaml", True, {"tp": 2, "cp": 2}, 1),
        ("toy", "toy.yaml", True, {"tp": 2, "dp": 2}, 2),
        ("tiny_qwen3_moe", "experts.yaml", False, {"tp": 2, "ep": 2}, 2),
        ("tiny_mixtral", "experts.yaml", True, {"dp": 2, "tp": 2, "ep": 2}, 2),
        ("tiny_deepseek_v3", "experts_dense_first.yaml", True, {"tp": 2, "ep": 2}, 2),
    ],
)
def test_a_dry_run_counts_what_real_ranks_record(model, plan, sequence_parallel, sizes, batch):
    on = topology(sequence_parallel, seq_len=16, **sizes)
    found = dry(model, plan, on, batch)
    ranks = sizes.get("dp", 1) * sizes.get("cp", 1) * sizes.get("tp", 1)
    for rank in on_ranks(ranks, _recorded, model, plan, on, batch):
        assert rows(found) == rows(rank)
        assert found["gradients"] == rank["gradients"]
        assert found["parameters"]["bytes"]["total"] == rank["bytes"]
    assert found["not_counted"] == []


INSIDE = {"key", "value", "token counts", "tokens to experts", "tokens from experts"}
"""What functions send that run in a region."""


@pytest.mark.parametrize("sequence_parallel", [False, True])
@pytest.mark.parametrize(
    ("model", "plan", "sizes"),
    [
        ("tiny_llama_tied", "dense_tied.yaml", {"tp": 2}),
        ("toy", "toy.yaml", {"tp": 2, "cp": 2}),
        ("tiny_mixtral", "experts.yaml", {"tp": 2, "ep": 2}),
    ],
)
def test_boundaries_send_what_is_told_without_torch(model, plan, sizes, sequence_parallel):
    on = topology(sequence_parallel, seq_len=16, **sizes)
    tree = read_tree(make_model(request_of(spec_of(model))), "")
    [read] = read_document("plan.yaml", f"plan_overrides:\n{entries(plan)}".encode()).plans
    resolved = resolve(read, tree, on, derive_boundaries(tree, on, {}))
    found = rows(dry(model, plan, on, batch=2))
    for fqn, boundary in resolved.boundaries.items():
        told = Counter[tuple[Any, ...]]()
        sizes_known = True
        for move in moves(boundary, tree, on, Batch(2, 16)):
            sizes_known = sizes_known and move.bytes is not None
            for direction, collective in (("forward", move.forward), ("backward", move.backward)):
                told[move.name, direction, collective, move.axis, 1, move.bytes] += bool(collective)
        mine = Counter({row: n for row, n in found.get(fqn, Counter()).items() if row[0] not in INSIDE})
        if sizes_known:
            assert mine == +told, fqn
        else:
            assert Counter(row[:5] for row in mine) == Counter(row[:5] for row in +told), fqn


def test_a_mesh_of_8192_ranks_runs_in_one_process():
    found = dry("tiny_qwen3_moe", "experts.yaml", topology(True, dp=2048, cp=2, tp=2, ep=4))
    assert (found["batch"], found["seq_len"], found["seq_len_is_given"]) == (1, 4096, False)
    assert {t["axis"] for t in found["totals"]} == {"cp", "tp", "ep"}
    assert {t["axis"] for t in found["gradients"]} == {"dp", "cp", "tp", "edp"}
    assert not dist.is_initialized()


def test_an_existing_process_group_is_refused_and_left_alone():
    from torch.testing._internal.distributed.fake_pg import FakeStore

    on = topology(tp=2)
    request = ApplyRequest(ApplyPlan((), on), request_of(spec_of("tiny_llama")), "", 2, ApplyOptions(dry_run=True))
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        with pytest.raises(CannotApply, match="this process has one already"):
            dry_run(request)
        assert dist.get_world_size() == 2
    finally:
        dist.destroy_process_group()


def test_a_loss_parallel_head_keeps_its_logits_cut():
    from dataclasses import replace

    on = replace(topology(True, tp=2, seq_len=16), loss_parallel=True)
    assert [row[2] for row in sent(dry("tiny_llama", "dense.yaml", on), "lm_head")] == ["all-gather", "reduce-scatter"]


@pytest.mark.parametrize("sizes", [{"tp": 2}, {"tp": 2, "cp": 2}])
def test_parameters_and_activations_have_the_dtype_of_the_configuration(sizes, tmp_path):
    config = json.loads((FIXTURES / "configs" / "tiny_llama" / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps(config | {"torch_dtype": "bfloat16"}), encoding="utf-8")
    on = topology(True, seq_len=16, **sizes)
    found, full = dry(f"hf:{tmp_path}", "dense.yaml", on), dry("tiny_llama", "dense.yaml", on)
    assert (found["dtype"], found["output_dtypes"]) == ("bfloat16", ["bfloat16"])
    assert list(found["parameters"]["dtypes"]) == ["bfloat16"]
    assert [2 * t["bytes"] for t in found["totals"]] == [t["bytes"] for t in full["totals"]]
    assert found["not_counted"] == []


def test_nothing_is_sent_and_nothing_cut_on_one_rank():
    found = dry("tiny_llama", "  []", topology(seq_len=16))
    assert found["boundaries"] == [] == found["totals"] == found["gradients"]
    assert found["parameters"]["bytes"]["sharded"] == 0


def test_values_are_never_allocated():
    before = torch.get_default_dtype()
    found = dry("tiny_llama", "dense.yaml", topology(cp=2, seq_len=1 << 24))
    assert found["seq_len"] == 1 << 24 and torch.get_default_dtype() == before


EXPERTS = """
  - match: "*.mlp"
    region_dispatch: false
    local_compute_fn: {_target_: hplint.apply.experts.expert_parallel}
"""
GOLDEN = Path(__file__).parents[1] / "report" / "golden" / "dry_run.json"
RING = """
  - match: "*.self_attn"
    region_dispatch: false
    inner_target: self
    inner_wrapper: {_target_: acme_attention.ring}
"""


def test_the_machine_output_keeps_its_shape(request):
    on = topology(True, dp=4, tp=2, ep=2)
    asked = request_of(spec_of("tiny_mixtral"))
    plan = plan_for(make_model(dict(asked)), EXPERTS + RING, on)
    found = dry_run(ApplyRequest(plan, asked, "hf:tiny_mixtral", 8, ApplyOptions(dry_run=True)))
    text = json.dumps(found, indent=2) + "\n"
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(text, encoding="utf-8", newline="\n")
    assert text == GOLDEN.read_text(encoding="utf-8")
