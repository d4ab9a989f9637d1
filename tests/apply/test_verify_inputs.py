"""Inputs that --verify makes up, values that it gives models, and when two tensors count as equal."""

import pytest
import torch
from ranks import RANKS, on_ranks
from torch import nn
from verifying import make

from hplint.apply.mesh.meshes import MeshAxis, Meshes
from hplint.apply.plan import ApplyBoundary, ApplyPlan
from hplint.apply.run.model_values import give_values
from hplint.apply.verify.compare import Comparison, compare, worst
from hplint.apply.verify.inputs import given_inputs, make_inputs
from hplint.errors import RequestError
from hplint.plan.placement import REPLICATE, shard
from hplint.resolve.topology import Topology

pytestmark = RANKS
CPU = torch.device("cpu")


class Root(nn.Module):
    def __init__(self, forward) -> None:
        super().__init__()
        self.inner = nn.Linear(6, 6)
        self.forward = forward


def _inputs(model: nn.Module, **sizes: int):
    topology = Topology(**{"tp": 1, "cp": 1, "dp": 1, "ep": 1, **sizes})
    axes = {a: MeshAxis(a, n) for a, n in sizes.items() if a in ("dp", "cp", "tp") and n > 1}
    return make_inputs(model, ApplyPlan((), topology), Meshes(None, axes=axes), 0, CPU)


def test_required_arguments_are_made_up_by_their_names():
    inputs = _inputs(Root(lambda x, left, *, scale=1.0: x), dp=3)
    assert {n: tuple(v.shape) for n, v in inputs.values.items()} == {"x": (6, 16, 6), "left": (6, 16, 6)}


def test_the_sequence_divides_by_the_axes_and_can_be_asked_for():
    assert _inputs(Root(lambda x: x), cp=3, tp=4).length == 24
    assert _inputs(Root(lambda x: x), cp=2, seq_len=40).length == 40


def test_a_transformers_model_gets_positions_and_a_whole_causal_mask():
    inputs = _inputs(make("tiny_llama"))
    assert inputs.values["input_ids"].dtype == torch.int64 and int(inputs.values["input_ids"].max()) < 64
    assert inputs.values["position_ids"].tolist() == [list(range(16))] * 2
    mask = inputs.values["attention_mask"]
    assert mask.shape == (2, 1, 16, 16) and (mask[0, 0] == 0).tolist() == torch.ones(16, 16).tril().bool().tolist()
    assert inputs.values["use_cache"] is False and inputs.notes == []


def test_a_model_that_counts_positions_by_itself_is_noted():
    def forward(input_ids=None, attention_mask=None):
        return input_ids

    model = Root(forward)
    model.config = type("Config", (), {"vocab_size": 8, "hidden_size": 6})()
    [note] = _inputs(model).notes
    assert "takes no position_ids: it counts positions from the length at hand" in note


def test_what_cannot_be_made_up_is_asked_for():
    model = nn.Module()
    model.forward = lambda pixels: pixels
    with pytest.raises(RequestError, match="cannot make up the input `pixels`") as caught:
        _inputs(model)
    assert "--inputs module:function" in caught.value.hint


def test_inputs_of_ones_own_come_from_a_function_with_layouts_where_it_gives_them(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import torch\n"
        "def some(): return {'x': torch.ones(2, 8, 6)}, {'x': {'cp': 'shard(1)'}}\n"
        "def none(): return [1]\n"
        "def fails(): raise ValueError('no data')\n",
        encoding="utf-8",
    )
    inputs = given_inputs("mine:some", (str(tmp_path),))
    assert (inputs.batch, inputs.length, inputs.layouts) == (2, 8, {"x": {"cp": shard(1)}})
    for name, told in (("none", "returned a list"), ("fails", "raised ValueError: no data"), ("nil", "no function")):
        with pytest.raises(RequestError, match=told):
            given_inputs(f"mine:{name}", (str(tmp_path),))


def _drawn(folder):
    from hplint.apply.run.job import _given_inputs
    from hplint.apply.run.request import ApplyOptions

    torch.manual_seed(torch.distributed.get_rank())
    return _given_inputs(ApplyOptions(inputs="drawn:some"), (folder,), CPU).values["x"]


def test_inputs_that_are_drawn_at_random_are_the_same_on_every_rank(tmp_path):
    text = "import os, torch\ntorch.manual_seed(os.getpid())\ndef some(): return {'x': torch.randn(2, 8)}\n"
    (tmp_path / "drawn.py").write_text(text, encoding="utf-8")
    one, other = on_ranks(2, _drawn, str(tmp_path))
    assert torch.equal(one, other)


def _local(layouts, taken):
    from hplint.apply.mesh.meshes import build_meshes
    from hplint.apply.verify.inputs import Inputs, adopt_layouts, local_inputs

    topology = Topology(tp=1, cp=2, dp=1, ep=1)
    boundary = ApplyBoundary("embed", in_src={"input": {"cp": shard(1)}}, in_dst={"input": {"cp": REPLICATE}})
    values = {
        "input_ids": torch.arange(8).expand(2, 8),
        "attention_mask": torch.zeros(2, 1, 8, 8),
        "weights": torch.zeros(8),
        "flag": True,
    }
    inputs = Inputs(values, 2, 8, dict(layouts))
    adopt_layouts(inputs, ApplyPlan((boundary,), topology), taken)
    mine = local_inputs(inputs, build_meshes(topology))
    return {n: tuple(v.shape) if isinstance(v, torch.Tensor) else v for n, v in mine.items()}, mine["input_ids"][0]


def test_inputs_are_cut_as_the_boundary_declares_that_takes_them_and_masks_by_queries():
    (shapes, first), (_, second) = on_ranks(2, _local, {}, {"input_ids": ("embed", "input", 0)})
    assert shapes == {"input_ids": (2, 4), "attention_mask": (2, 1, 4, 8), "weights": (8,), "flag": True}
    assert (first.tolist(), second.tolist()) == ([0, 1, 2, 3], [4, 5, 6, 7])


def test_layouts_that_are_given_win():
    [(shapes, _), _] = on_ranks(2, _local, {"weights": {"cp": shard(0)}, "input_ids": {}}, {})
    assert shapes["weights"] == (4,) and shapes["input_ids"] == (2, 8)


def test_values_depend_on_name_and_seed_alone_and_leave_no_bias_at_zero():
    one, other = nn.Linear(4, 3), nn.Linear(4, 3)
    give_values(one, 1)
    give_values(other, 1)
    assert torch.equal(one.weight, other.weight) and torch.equal(one.bias, other.bias)
    assert one.bias.abs().min() > 0
    give_values(other, 2)
    assert not torch.equal(one.weight, other.weight)


def test_tensors_count_as_equal_within_rounding_of_their_magnitude():
    whole = torch.tensor([1000.0, 1e-3])
    assert compare("a", whole + 0.05, whole).agrees
    assert not compare("a", whole + 0.2, whole).agrees
    assert not compare("a", torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.001])).agrees
    assert compare("a", torch.zeros(2) + 1e-8, torch.zeros(2), floor=1e-2).agrees


def test_shapes_and_numbers_that_are_none_differ_with_a_reason():
    assert compare("a", torch.ones(2, 4), torch.ones(2, 2)).reason == "has shape [2, 4], where [2, 2] belongs"
    nan = compare("a", torch.tensor([float("nan")]), torch.ones(1))
    assert (nan.agrees, nan.reason, nan.to_json()["error"]) == (False, "is not finite", None)


def test_the_rank_that_differs_most_speaks_for_all():
    good, bad = Comparison("a", 0.0, 1.0), Comparison("a", 0.5, 1.0)
    assert worst([[good], [bad], [good]]) == [bad]
    assert worst([[bad], [Comparison("a", float("inf"), 1.0, "has shape")]])[0].reason == "has shape"
