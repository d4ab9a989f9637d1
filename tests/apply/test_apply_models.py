"""Applied models against the unsharded ones: outputs and every gradient, in both modes."""

import sys
from pathlib import Path

import pytest
import torch
from applying import differences, filled, plan_for, topology
from ranks import RANKS, on_ranks
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[2] / "fixtures" / "conformance"))

from toy_models import Adapter, GatedMLP, PairMixer, ToyLM

pytestmark = RANKS
MODES = ("local", "validate")


def everywhere(layout: str) -> str:
    """Entries that let the unknown modules of a toy model keep the layout of their activations."""
    return f"""
- match: "*adapter"
  params: {{weight: {{tp: replicate}}, scale: {{tp: replicate}}}}
  in_src: {{hidden_states: {layout}}}
  in_dst: {{hidden_states: {layout}}}
  out_src: {layout}
  out_dst: {layout}
- match: "*mixer"
  in_src: {{left: {layout}, right: {layout}}}
  in_dst: {{left: {layout}, right: {layout}}}
  out_src: {{first: {layout}, second: {layout}}}
  out_dst: {{first: {layout}, second: {layout}}}
"""


def _toy(mode, sequence_parallel, bias):
    model = filled(ToyLM(vocab=32, hidden=16, heads=4, inner=24, layers=2, bias=bias))
    layout = "{tp: shard(1)}" if sequence_parallel else "{tp: replicate}"
    plan = plan_for(model, everywhere(layout), topology(sequence_parallel, tp=2))
    return differences(model, plan, {"input_ids": torch.randint(0, 32, (2, 8))}, mode=mode)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("sequence_parallel", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_decoder_with_an_inserted_adapter_and_a_two_output_mixer_computes_the_same(mode, sequence_parallel, bias):
    assert on_ranks(2, _toy, mode, sequence_parallel, bias) == [{}, {}]


class Layers(nn.Module):
    """A decoder without attention: its tokens may be cut by any axis."""

    def __init__(self, hidden=16, inner=24, vocab=32):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, hidden, padding_idx=3)
        self.input_layernorm = nn.LayerNorm(hidden)
        self.mlp = GatedMLP(hidden, inner)
        self.adapter = Adapter(hidden)
        self.mixer = PairMixer()
        self.scale = nn.Parameter(torch.ones(hidden))
        self.lm_head = nn.Linear(hidden, vocab)

    def forward(self, input_ids):
        hidden_states = self.embed_tokens(input_ids) * self.scale
        hidden_states = hidden_states + self.mlp(self.input_layernorm(hidden_states))
        hidden_states = hidden_states + self.adapter(hidden_states, gain=0.5)
        left, right = self.mixer(hidden_states, right=hidden_states * 2)
        return self.lm_head(left + right * left)


def _layers(mode, sequence_parallel, sizes, cp, layout, extra=""):
    model = filled(Layers())
    plan = plan_for(model, everywhere(layout) + HEAD_BIAS + extra, topology(sequence_parallel, **sizes))
    cut = {"input_ids": {"cp": 1} if cp else {}}
    ids = torch.randint(0, 32, (2, 8))
    return differences(model, plan, {"input_ids": ids}, mode=mode, cut=cut, layout={"cp": "shard(1)"} if cp else {})


HEAD_BIAS = """
- match: lm_head
  params: {weight: {tp: shard(0)}, bias: {tp: shard(0)}}
"""


@pytest.mark.parametrize("sequence_parallel", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_both_axes_at_once_compute_the_same(mode, sequence_parallel):
    layout = "{tp: shard(1), cp: shard(1)}" if sequence_parallel else "{tp: replicate, cp: shard(1)}"
    sizes = {"tp": 2, "cp": 2}
    assert on_ranks(4, _layers, mode, sequence_parallel, sizes, True, layout) == [{}] * 4


@pytest.mark.parametrize("mode", MODES)
def test_a_context_axis_alone_computes_the_same(mode):
    assert on_ranks(2, _layers, mode, False, {"cp": 2}, True, "{cp: shard(1)}") == [{}] * 2


FEATURES = """
- match: adapter
  params: {weight: {tp: shard(0)}, scale: {tp: shard(0)}}
  in_src: {hidden_states: {tp: replicate}}
  in_dst: {hidden_states: {tp: replicate}}
  out_src: {tp: shard(2)}
  out_dst: {tp: replicate}
"""
WHOLE_WORK = """
- match: adapter
  params: {weight: {tp: replicate}, scale: {tp: replicate}}
  in_src: {hidden_states: {tp: shard(1)}}
  in_dst: {hidden_states: {tp: replicate}}
  out_src: {tp: replicate}
  out_dst: {tp: shard(1)}
"""
OTHER_DIM = """
- match: adapter
  params: {weight: {tp: replicate}, scale: {tp: replicate}}
  in_src: {hidden_states: {tp: shard(1)}}
  in_dst: {hidden_states: {tp: shard(0)}}
  out_src: {tp: shard(0)}
  out_dst: {tp: shard(1)}
"""
CUT_AND_GATHERED = """
- match: adapter
  params: {weight: {tp: replicate}, scale: {tp: replicate}}
  in_src: {hidden_states: {tp: replicate}}
  in_dst: {hidden_states: {tp: shard(1)}}
  out_src: {tp: shard(1)}
  out_dst: {tp: replicate}
"""


@pytest.mark.parametrize(
    ("sequence_parallel", "adapter"),
    [(False, FEATURES), (True, WHOLE_WORK), (True, OTHER_DIM), (False, CUT_AND_GATHERED)],
    ids=["cut features", "whole work", "another dim", "cut and gathered"],
)
@pytest.mark.parametrize("mode", MODES)
def test_a_region_may_work_in_any_layout(mode, sequence_parallel, adapter):
    layout = "{tp: shard(1)}" if sequence_parallel else "{tp: replicate}"
    assert on_ranks(2, _layers, mode, sequence_parallel, {"tp": 2}, False, layout, adapter) == [{}] * 2


class Parent(nn.Module):
    """A boundary around boundaries: a gate whose result weighs what the ranks compute terms of."""

    def __init__(self, hidden=16, inner=24):
        super().__init__()
        self.gate = nn.Linear(hidden, hidden)
        self.up = nn.Linear(hidden, inner)
        self.down = nn.Linear(inner, hidden)
        self.inner_norm = nn.LayerNorm(hidden)
        self.gain = nn.Parameter(torch.ones(hidden))

    def forward(self, hidden_states):
        normed = self.inner_norm(hidden_states) * self.gain
        return self.down(torch.relu(self.up(normed))) * torch.sigmoid(self.gate(hidden_states))


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = nn.Linear(16, 16, bias=False)
        self.block = Parent()
        self.after = nn.Linear(16, 8)

    def forward(self, hidden_states):
        hidden_states = self.before(hidden_states)
        return self.after(hidden_states + self.block(hidden_states))


NESTED = """
- match: block
  params:
    {{up.weight: {{tp: shard(0)}}, up.bias: {{tp: shard(0)}}, down.weight: {{tp: shard(1)}}, gain: {{tp: replicate}}}}
  in_src: {{hidden_states: {outside}}}
  in_dst: {{hidden_states: {{tp: replicate}}}}
  out_src: {{tp: partial}}
  out_dst: {outside}
- match: block.gate
  params: {{weight: {{tp: replicate}}, bias: {{tp: replicate}}}}
  in_src: {{input: {{tp: replicate}}}}
  in_dst: {{input: {gate}}}
  out_src: {gate}
  out_dst: {{tp: replicate}}
- match: block.inner_norm
  params: {{weight: {{tp: replicate}}, bias: {{tp: replicate}}}}
  in_src: {{input: {{tp: replicate}}}}
  in_dst: {{input: {{tp: replicate}}}}
  out_src: {{tp: replicate}}
  out_dst: {{tp: replicate}}
"""


def _nested(mode, outside, gate):
    model = filled(Nested())
    model.block.down.bias.data.zero_()
    model.block.down.bias.requires_grad_(False)
    plan = plan_for(model, NESTED.format(outside=outside, gate=gate), topology("shard" in outside, tp=2))
    assert plan.boundaries[-1].fqn == "block"
    axis = {"tp": "shard(1)"} if "shard" in outside else {}
    cut = {"hidden_states": {"tp": 1} if axis else {}}
    return differences(model, plan, {"hidden_states": torch.randn(2, 8, 16)}, mode=mode, cut=cut, layout=axis)


@pytest.mark.parametrize("gate", ["{tp: replicate}", "{tp: shard(1)}"])
@pytest.mark.parametrize("outside", ["{tp: replicate}", "{tp: shard(1)}"])
@pytest.mark.parametrize("mode", MODES)
def test_boundaries_inside_of_a_region_that_works_in_shares_compute_the_same(mode, outside, gate):
    assert on_ranks(2, _nested, mode, outside, gate) == [{}] * 2
