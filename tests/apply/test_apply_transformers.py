"""Applied models of transformers against the unsharded ones, on plans as users write them."""

import json
from pathlib import Path

import pytest
import torch
from applying import differences, filled, plan_for, topology
from ranks import RANKS, on_ranks

pytest.importorskip("transformers")
pytestmark = RANKS
CONFIGS = Path(__file__).parents[2] / "fixtures" / "conformance" / "models"
MODES = ("local", "validate")
TOKENS = 8


def _model(name, **changes):
    from transformers import AutoConfig, AutoModelForCausalLM

    values = json.loads((CONFIGS / name / "config.json").read_text()) | {"use_cache": False, "vocab_size": 64}
    config = AutoConfig.for_model(**(values | changes))
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="sdpa")
    return filled(model.eval(), scale=0.2)


def _compare(name, mode, text, sizes, sequence_parallel=False, **changes):
    model = _model(name, **changes)
    plan = plan_for(model, text, topology(sequence_parallel, **sizes))
    torch.manual_seed(0)
    inputs = {
        "input_ids": torch.randint(0, 64, (2, TOKENS)),
        "position_ids": torch.arange(TOKENS).repeat(2, 1),
        "attention_mask": torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril().repeat(2, 1, 1, 1),
    }
    # A mask has its rows cut and all its columns.
    cut = {"input_ids": {"cp": 1}, "position_ids": {"cp": 1}, "attention_mask": {"cp": 2}}
    layout = {"cp": "shard(1)"}
    if sizes.get("cp", 1) == 1:
        cut, layout = {}, {}
    return differences(model, plan, inputs, mode=mode, cut=cut, layout=layout, output=lambda r: r.logits)


@pytest.mark.parametrize("sequence_parallel", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3"])
def test_a_dense_decoder_under_tensor_parallelism_computes_the_same(name, mode, sequence_parallel):
    assert on_ranks(2, _compare, name, mode, "", {"tp": 2}, sequence_parallel) == [{}, {}]


@pytest.mark.parametrize("mode", MODES)
def test_latent_attention_and_shared_experts_compute_the_same(mode):
    changes = {"first_k_dense_replace": 2}
    results = on_ranks(2, _with, changes, "deepseek_v3", mode, "", {"tp": 2}, True)
    assert results == [{}, {}]


def _with(changes, *args):
    return _compare(*args, **changes)


HEAD = """
- match: lm_head
  params: {weight: {tp: shard(0)}}
  in_src: {input: {tp: replicate}}
  in_dst: {input: {tp: replicate}}
  out_src: {tp: shard(2)}
  out_dst: {tp: replicate}
"""


@pytest.mark.parametrize("mode", MODES)
def test_tied_embeddings_stay_one_parameter_and_get_both_gradients(mode):
    changes = {"tie_word_embeddings": True}
    assert on_ranks(2, _with, changes, "llama", mode, HEAD, {"tp": 2}) == [{}, {}]


ATTENTION = """
- match: "*.self_attn"
  inner_target: self
  inner_wrapper: sdpa_hf
  region_dispatch: false
"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["llama", "qwen2"])
def test_attention_over_a_cut_sequence_computes_the_same(name, mode):
    assert on_ranks(2, _compare, name, mode, ATTENTION, {"cp": 2}) == [{}, {}]


@pytest.mark.parametrize("sequence_parallel", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_both_axes_on_a_decoder_compute_the_same(mode, sequence_parallel):
    assert on_ranks(4, _compare, "qwen3", mode, ATTENTION, {"cp": 2, "tp": 2}, sequence_parallel) == [{}] * 4


EXPERTS = {
    "qwen3_moe": "qwen3moe_ep_compute_fn",
    "mixtral": "mixtral_ep_compute_fn",
    "deepseek_v3": "deepseekv3_ep_compute_fn",
}


def _experts(name):
    target = f"hyper_parallel.distributed.expert_parallel.recipes.{EXPERTS[name]}"
    modules = '"model.layers.[1-9].mlp"' if name == "deepseek_v3" else '"*.mlp"'
    return f"""
- match: {modules}
  when: ep
  region_dispatch: false
  local_compute_fn: {{_target_: {target}}}
"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", list(EXPERTS))
def test_experts_spread_over_ranks_with_tensor_parallelism_compute_the_same(name, mode):
    assert on_ranks(2, _compare, name, mode, _experts(name), {"tp": 2, "ep": 2}) == [{}, {}]


@pytest.mark.parametrize("mode", MODES)
def test_experts_spread_over_ranks_with_sequence_parallelism_compute_the_same(mode):
    assert on_ranks(2, _compare, "qwen3_moe", mode, _experts("qwen3_moe"), {"tp": 2, "ep": 2}, True) == [{}, {}]


@pytest.mark.parametrize("ep", [2, 4])
@pytest.mark.parametrize("mode", MODES)
def test_experts_on_both_axes_compute_the_same(mode, ep):
    text = _experts("qwen3_moe") + ATTENTION
    assert on_ranks(4, _compare, "qwen3_moe", mode, text, {"cp": 2, "tp": 2, "ep": ep}, True) == [{}] * 4
