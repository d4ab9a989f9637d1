"""tp_plans applied by transformers itself, on configs alone, against single-process runs."""

import pytest
import torch
from ranks import RANKS, on_ranks
from tp_planning import applied, config, make, verified

pytest.importorskip("transformers", minversion="5.24")
pytestmark = [RANKS, pytest.mark.filterwarnings("ignore")]
LAYER = "model.layers.*."


def _wrong(found):
    return [c["name"] for kind in ("outputs", "gradients") for c in found[kind] if not c["agrees"]]


@pytest.mark.parametrize(
    "model", ["tiny_llama", "tiny_llama_tied", "tiny_qwen2", "tiny_qwen3_moe", "tiny_mixtral", "tiny_deepseek_v3"]
)
def test_the_plan_that_a_model_ships_computes_the_same(model):
    for found in on_ranks(2, verified, model, timeout=120):
        assert found["agrees"], _wrong(found)
        assert [c["name"] for c in found["outputs"]] == ["logits", "logits without gradients"]
        assert {c["name"] for c in found["gradients"]} == {n for n, p in make(model).named_parameters()}


@pytest.mark.parametrize("name", ["qwen3", "gemma2"])
def test_norms_over_heads_and_soft_caps_compute_the_same(name, tmp_path):
    for found in on_ranks(2, verified, config(tmp_path, name), timeout=120):
        assert found["agrees"], _wrong(found)


def test_sizes_that_do_not_divide_compute_the_same(tmp_path):
    folder = config(tmp_path, "llama", vocab_size=63, intermediate_size=61)
    for found in on_ranks(2, verified, folder, timeout=120):
        assert found["agrees"], _wrong(found)


def test_experts_that_are_spread_over_the_ranks_compute_the_same():
    for found in on_ranks(2, verified, "tiny_qwen3_moe", {}, 2, timeout=120):
        assert found["agrees"], _wrong(found)


def _experts(ep):
    parameter = applied("tiny_mixtral", ep).get_parameter("model.layers.0.mlp.experts.gate_up_proj")
    return parameter.to_local()


def test_each_rank_keeps_its_part_of_fused_weights_as_loading_cuts_them():
    whole = make("tiny_mixtral").get_parameter("model.layers.0.mlp.experts.gate_up_proj")
    gate, up = whole.chunk(2, dim=1)
    for rank, part in enumerate(on_ranks(2, _experts, 1)):
        assert torch.equal(part, torch.cat([gate.chunk(2, dim=1)[rank], up.chunk(2, dim=1)[rank]], dim=1))


def test_each_rank_keeps_whole_experts_where_they_are_spread():
    whole = make("tiny_mixtral").get_parameter("model.layers.0.mlp.experts.gate_up_proj")
    for rank, part in enumerate(on_ranks(2, _experts, 2)):
        assert torch.equal(part, whole.chunk(2, dim=0)[rank])


def _tied():
    model = applied("tiny_llama_tied")
    head, embedding = model.lm_head.weight, model.model.embed_tokens.weight
    return head is embedding, tuple(head.to_local().shape)


def test_tied_weights_are_one_again_after_they_are_cut():
    assert on_ranks(2, _tied) == [(True, (32, 32))] * 2


@pytest.mark.parametrize(
    ("changes", "first", "wrong"),
    [
        (
            {f"{LAYER}self_attn.q_norm": None},
            "model.layers.1.self_attn.q_norm",
            [f"model.layers.{n}.self_attn.q_norm.weight" for n in (0, 1)],
        ),
        (
            {f"{LAYER}input_layernorm": "replicated_with_grad_allreduce"},
            "model.layers.1.input_layernorm",
            [f"model.layers.{n}.input_layernorm.weight" for n in (0, 1)],
        ),
        (
            {f"{LAYER}post_attention_layernorm": "sequence_parallel"},
            "model.layers.1.post_attention_layernorm",
            [f"model.layers.{n}.post_attention_layernorm.weight" for n in (0, 1)],
        ),
    ],
    ids=["missing sum", "one sum too many", "one norm on the sequence"],
)
def test_gradients_that_are_wrong_behind_right_outputs_are_found_at_their_norm(changes, first, wrong):
    for found in on_ranks(2, verified, "tiny_qwen3_moe", changes):
        assert not found["agrees"]
        assert found["first_difference"] == first
        assert _wrong(found) == wrong


@pytest.mark.parametrize(
    ("model", "changes", "first"),
    [
        ("tiny_llama", {f"{LAYER}mlp.gate_proj": "packed_colwise"}, "model.layers.0.mlp.gate_proj"),
        ("tiny_llama", {f"{LAYER}mlp.up_proj": "packed_colwise"}, "model.layers.0.mlp.up_proj"),
        ("tiny_llama", {f"{LAYER}mlp": "all_reduce"}, "model.layers.0.mlp"),
        ("tiny_mixtral", {f"{LAYER}mlp.experts.gate_up_proj": "colwise"}, "model.layers.0.mlp.experts"),
        ("tiny_deepseek_v3", {f"{LAYER}mlp.experts": "local_params"}, "model.layers.1.mlp.experts"),
        ("tiny_llama", {"lm_head": "colwise"}, "lm_head"),
    ],
    ids=["packed gate", "packed up", "summed twice", "fused cut in one", "never summed", "logits in slices"],
)
def test_outputs_that_are_wrong_are_found_at_the_first_module(model, changes, first):
    for found in on_ranks(2, verified, model, changes):
        assert found["first_difference"] == first
        assert _wrong(found)[:2] == ["logits", "logits without gradients"]


@pytest.mark.parametrize(
    ("changes", "stopped", "behind", "cause"),
    [
        ({f"{LAYER}mlp.down_proj": None}, "model.layers.0.mlp.down_proj", False, "cannot be multiplied"),
        ({f"{LAYER}mlp.up_proj": None}, "model.layers.0.mlp", False, "must match the size of tensor b (48)"),
        ({f"{LAYER}self_attn.k_proj": None}, "model.layers.0.self_attn", False, "must match the size of tensor b (4)"),
        (
            {f"{LAYER}mlp.gate_proj": "rowwise", f"{LAYER}mlp.up_proj": "rowwise", f"{LAYER}mlp.down_proj": "colwise"},
            "model.layers.0.mlp.gate_proj",
            False,
            "invalid for input of size",
        ),
    ],
    ids=["half a pair", "the other half", "keys whole beside cut queries", "swapped words"],
)
def test_plans_that_crash_name_the_module_where_they_do(changes, stopped, behind, cause):
    for rank, found in enumerate(on_ranks(2, verified, "tiny_llama", changes)):
        assert not found["agrees"]
        assert found["fault"]["boundary"] == stopped
        assert found["fault"]["behind"] is behind
        assert "the sharded forward raised RuntimeError" in found["fault"]["message"]
        assert cause in found["fault"]["message"]
        assert found["fault"]["ranks"] == [rank]
