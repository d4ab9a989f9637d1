"""Bytes of parameters, worked out by hand."""

import pytest
from checking import check_text, fixture_tree, mesh_topology

from hplint.resolve.memory import Memory, memory
from hplint.resolve.topology import Topology
from hplint.resolve.traffic import Batch, Move, moves


def told(name: str, topology: Topology, text: str = "[]") -> Memory:
    tree = fixture_tree(name)
    _, (resolved,) = check_text(f"plan_overrides: {text}\n", topology, tree)
    assert resolved is not None
    return memory(resolved, tree, topology)


def sent(name: str, fqn: str, topology: Topology, batch: Batch) -> list[Move]:
    tree = fixture_tree(name)
    _, (resolved,) = check_text("plan_overrides: []\n", topology, tree)
    assert resolved is not None
    return list(moves(resolved.boundaries[fqn], tree, topology, batch))


def test_cut_weights_are_divided_and_norms_stay_whole() -> None:
    found = {p.name: p for p in told("llama", mesh_topology({"dp": 2, "tp": 2})).parameters}
    up = found["model.layers.0.mlp.up_proj.weight"]
    assert (up.local * 2, up.cuts, up.boundary) == (up.whole, (("tp", 0),), "model.layers.0.mlp")
    norm = found["model.layers.0.input_layernorm.weight"]
    assert (norm.local, norm.cuts) == (norm.whole, ())


def test_the_totals_are_the_sums() -> None:
    found = told("llama", mesh_topology({"dp": 2, "tp": 2}))
    shapes = fixture_tree("llama").parameters.values()
    assert found.whole == sum(4 * (t.shape[0] * (t.shape[1] if len(t.shape) > 1 else 1)) for t in shapes)
    assert found.local == found.sharded + found.replicated
    assert found.local == found.sharded + (found.whole - 2 * found.sharded)


def test_one_dim_may_be_cut_by_two_axes() -> None:
    text = "[{match: lm_head, params: {weight: {tp: shard(0), cp: shard(0)}}}]"
    found = {p.name: p for p in told("llama", mesh_topology({"cp": 2, "tp": 2}), text).parameters}
    assert found["lm_head.weight"].local * 4 == found["lm_head.weight"].whole


def test_a_tied_tensor_counts_once() -> None:
    names = [p.name for p in told("gemma2", mesh_topology({"tp": 2})).parameters]
    assert "model.embed_tokens.weight" in names
    assert "lm_head.weight" not in names


@pytest.mark.parametrize("name", ["mixtral", "deepseek_v3"])
def test_experts_are_cut_by_ep_alone(name: str) -> None:
    found = told(name, mesh_topology({"dp": 2, "tp": 2}, ep=4))
    experts = [p for p in found.parameters if ".experts." in p.name]
    assert experts
    assert all(p.local * 4 == p.whole and p.cuts == (("ep", 0),) for p in experts)


def test_stacked_experts_stand_under_their_own_names() -> None:
    found = told("deepseek_v41", mesh_topology({"dp": 4}, ep=4))
    experts = [p for p in found.parameters if ".experts." in p.name and "shared" not in p.name]
    assert experts
    assert {p.whole // p.local for p in experts} == {4}


def test_a_dim_that_a_tensor_lacks_cuts_nothing() -> None:
    text = "[{match: lm_head, params: {weight: {tp: shard(2)}}}]"
    found = {p.name: p for p in told("llama", mesh_topology({"tp": 2}), text).parameters}
    assert found["lm_head.weight"].cuts == ()


def test_axes_of_unknown_size_are_named() -> None:
    found = told("llama", Topology())
    assert (found.unsized, found.local) == (("tp",), found.whole)


def test_sequence_parallel_attention_gathers_and_scatters() -> None:
    hidden = fixture_tree("llama").config["hidden_size"]
    topology = mesh_topology({"dp": 2, "cp": 2, "tp": 2}, sequence_parallel=True)
    found = sent("llama", "model.layers.0.mlp", topology, Batch(3, 64))
    size = 3 * 64 * hidden * 4 // 2
    assert [(m.side, m.axis, m.forward, m.backward, m.bytes) for m in found] == [
        ("in", "tp", "all-gather", "reduce-scatter", size),
        ("out", "tp", "reduce-scatter", "all-gather", size),
    ]


def test_without_sequence_parallel_both_ways_reduce() -> None:
    found = sent("llama", "model.layers.0.mlp", mesh_topology({"tp": 2}), Batch())
    assert [(m.side, m.forward, m.backward) for m in found] == [("in", "", "all-reduce"), ("out", "all-reduce", "")]


def test_norms_send_nothing() -> None:
    topology = mesh_topology({"tp": 2}, sequence_parallel=True)
    assert sent("llama", "model.layers.0.input_layernorm", topology, Batch()) == []
