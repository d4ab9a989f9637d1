"""The same on CUDA devices, where there are some."""

import pytest
import torch
from ranks import RANKS, on_ranks
from test_apply_models import _layers, _toy
from test_apply_transformers import ATTENTION, _compare, _experts

pytestmark = [RANKS, pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")]
MODES = ("local", "validate")


@pytest.mark.parametrize("sequence_parallel", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_decoder_computes_the_same_on_cuda(mode, sequence_parallel):
    assert on_ranks(2, _toy, mode, sequence_parallel, True, backend="nccl") == [{}, {}]


@pytest.mark.parametrize("mode", MODES)
def test_attention_over_a_cut_sequence_computes_the_same_on_cuda(mode):
    assert on_ranks(2, _compare, "llama", mode, ATTENTION, {"cp": 2}, backend="nccl") == [{}, {}]


@pytest.mark.parametrize("mode", MODES)
def test_experts_spread_over_ranks_compute_the_same_on_cuda(mode):
    text = _experts("qwen3_moe")
    assert on_ranks(2, _compare, "qwen3_moe", mode, text, {"tp": 2, "ep": 2}, True, backend="nccl") == [{}, {}]


@pytest.mark.skipif(torch.cuda.device_count() < 4, reason="needs four CUDA devices")
@pytest.mark.parametrize("mode", MODES)
def test_both_axes_at_once_compute_the_same_on_cuda(mode):
    layout = "{tp: shard(1), cp: shard(1)}"
    assert on_ranks(4, _layers, mode, True, {"tp": 2, "cp": 2}, True, layout, backend="nccl") == [{}] * 4
