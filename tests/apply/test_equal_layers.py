"""Equal layers run once in a dry run, and the numbers stay what they are."""

import pytest
import torch
from applying import plan_for, topology
from dry_running import dry, request_of, rows
from torch import nn
from verifying import spec_of

from hplint.apply.dry_run.equal_layers import EqualLayers, equal_layers, shapes_of, stand_in
from hplint.model.make_model import make_model

ON = topology(True, tp=2, seq_len=16)
PLAN = """
- match: "layers.?"
  params: {up.weight: {tp: shard(0)}, down.weight: {tp: shard(1)}}
  in_src: {x: {tp: replicate}}
  in_dst: {x: {tp: replicate}}
  out_src: {output: {tp: partial}}
  out_dst: {output: {tp: replicate}}
"""


class Layer(nn.Module):
    def __init__(self, number: int, hidden: int = 8, scale: float = 1.0) -> None:
        super().__init__()
        self.number, self.scale, self.calls = number, scale, [0]
        self.up = nn.Linear(hidden, 16, bias=False)
        self.down = nn.Linear(16, hidden, bias=False)

    def forward(self, x, again=False):
        self.calls[0] += 1
        return x + self.scale * self.down(torch.relu(self.up(x)))


class Tail(nn.Module):
    def forward(self, x):
        return x


class Stack(nn.Module):
    def __init__(self, *layers: nn.Module, rounds: int = 1) -> None:
        super().__init__()
        self.layers, self.rounds = nn.ModuleList(layers), rounds
        self.tail = Tail()

    def forward(self, x):
        for _ in range(self.rounds):
            for layer in self.layers:
                x = layer(x)
        return self.tail(x)


def stack(*layers: nn.Module, rounds: int = 1) -> Stack:
    return Stack(*layers, rounds=rounds).to("meta")


def whole_tail() -> str:
    whole = "{x: {tp: replicate}}"
    out = "{output: {tp: replicate}}"
    return PLAN + f"- {{match: tail, params: {{}}, in_src: {whole}, in_dst: {whole}, out_src: {out}, out_dst: {out}}}\n"


def groups(model: nn.Module, plan: str = "") -> tuple[tuple[str, ...], ...]:
    return equal_layers(model, plan_for(model, plan or whole_tail(), ON)).groups


def test_layers_that_differ_in_their_own_number_alone_are_equal():
    model = stack(*(Layer(i) for i in range(3)))
    assert groups(model) == (("layers.0", "layers.1", "layers.2"),)


@pytest.mark.parametrize("other", [Layer(2, scale=2.0), nn.Identity(), Layer(7)])
def test_a_layer_of_another_class_or_with_another_attribute_stands_alone(other):
    model = stack(Layer(0), Layer(1), other)
    plan = "- {match: tail, in_src: {x: {tp: replicate}}, in_dst: {x: {tp: replicate}}}"
    assert groups(model, plan) == (("layers.0", "layers.1"),)


def test_a_layer_whose_boundary_differs_stands_alone():
    model = stack(*(Layer(i) for i in range(3)))
    changed = whole_tail() + '- {match: "layers.1", out_dst: {output: {tp: shard(1)}}}\n'
    assert groups(model, changed) == (("layers.0", "layers.2"),)


def test_the_layer_with_the_last_boundary_runs_by_itself():
    assert groups(stack(*(Layer(i) for i in range(3))), PLAN) == (("layers.0", "layers.1"),)


def test_one_layer_runs_for_all_and_gradients_flow_through_the_rest():
    model = stack(*(Layer(i) for i in range(4)))
    layers = equal_layers(model, plan_for(model, whole_tail(), ON))
    x = torch.empty(2, 16, 8, device="meta", requires_grad=True)
    with layers.run_once(model):
        result = model(x)
    result.sum().backward()
    assert result.shape == x.shape and x.grad is not None
    assert layers.stood_for == {f"layers.{i}": "layers.0" for i in (1, 2, 3)} and not layers.again
    assert [layer.calls for layer in model.layers] == [[1], [0], [0], [0]]
    assert all("forward" not in vars(layer) for layer in model.layers)


def test_a_layer_that_gets_other_shapes_runs_by_itself():
    model = stack(Layer(0), Layer(1))
    layers = EqualLayers((("layers.0", "layers.1"),))
    with layers.run_once(model):
        model.layers[0](torch.empty(1, 4, 8, device="meta"))
        model.layers[1](torch.empty(1, 2, 8, device="meta"))
    assert not layers.stood_for and [layer.calls for layer in model.layers] == [[1], [1]]


def test_layers_that_are_called_twice_are_told():
    model = stack(Layer(0), Layer(1), rounds=2)
    layers = EqualLayers((("layers.0", "layers.1"),))
    with layers.run_once(model):
        model(torch.empty(1, 4, 8, device="meta"))
    assert layers.again == {"layers.0", "layers.1"}


def test_what_had_no_gradient_gets_none():
    x = torch.empty(3, device="meta", requires_grad=True)
    ids = torch.empty(2, device="meta", dtype=torch.long)
    shapes = [*shapes_of([x], True), *shapes_of([x, ids], False)]
    made = stand_in(shapes, [x, ids])
    assert [(t.requires_grad, t.shape, t.dtype) for t in made] == [
        (True, x.shape, x.dtype), (False, x.shape, x.dtype), (False, ids.shape, ids.dtype)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "plan", "sizes"),
    [
        ("tiny_llama_tied", "dense_tied.yaml", {"tp": 2, "cp": 2}),
        ("tiny_qwen3_moe", "experts.yaml", {"dp": 2, "tp": 2, "ep": 2}),
        ("toy", "toy.yaml", {"tp": 2}),
    ],
)
def test_numbers_do_not_depend_on_it(model, plan, sizes, monkeypatch):
    on = topology(True, seq_len=16, **sizes)
    once = dry(model, plan, on)
    monkeypatch.setattr("hplint.apply.dry_run.dry_run.equal_layers", lambda model, plan: EqualLayers())
    every = dry(model, plan, on)
    assert rows(once, estimated=True) == rows(every, estimated=True)
    assert {k: v for k, v in once.items() if k != "boundaries"} == {k: v for k, v in every.items() if k != "boundaries"}


def test_the_decoders_of_the_fixtures_do_have_equal_layers():
    for name, plan in (("tiny_llama", "  []"), ("tiny_qwen3_moe", "  []")):
        model = make_model(request_of(spec_of(name)))
        assert groups(model, plan) == (("model.layers.0", "model.layers.1"),)
