"""Changes of layout: values and gradients, for every pair of layouts, on one and on two axes."""

import itertools
import random

import pytest
import torch
from ranks import RANKS, on_ranks

from hplint.apply.mesh.ledger import SILENT, Note
from hplint.apply.mesh.meshes import build_meshes
from hplint.apply.mesh.redistribute import Step, steps
from hplint.apply.mesh.transition import Transition, gradient_layout
from hplint.apply.region.parameters import local_part, whole
from hplint.plan.placement import PARTIAL, REPLICATE, shard
from hplint.resolve.topology import Topology

pytestmark = RANKS
SHAPE = (4, 8, 2)
KINDS = (REPLICATE, PARTIAL, shard(0), shard(1))


def _pairs():
    return [(s, d) for s, d in itertools.product(KINDS, KINDS) if d != PARTIAL or s == PARTIAL]


def _spread(tensor, layout, meshes, seed):
    """This rank's part of a tensor: a slice, the whole, or a term of the sum."""
    terms = tensor
    for axis, placement in layout.items():
        if placement == PARTIAL:
            on = meshes.axis(axis)
            parts = [torch.randn(SHAPE, generator=torch.Generator().manual_seed(seed + i)) for i in range(on.size - 1)]
            terms = [*parts, terms - sum(parts)][on.rank]
    cuts = {axis: p if p.is_shard else REPLICATE for axis, p in layout.items()}
    return local_part(terms, cuts, meshes)


def _check(topology, cases):
    """Names of the cases that come out wrong."""
    meshes = build_meshes(topology)
    axes = {a: meshes.axis(a) for a in topology.active_axes}
    wrong = []
    for number, (source, target, outer, inner) in enumerate(cases):
        before, after = gradient_layout(source, outer), gradient_layout(target, inner)
        transition = Transition(source, target, before, after, axes, SILENT)
        value, gradient = torch.randn(2, *SHAPE, generator=torch.Generator().manual_seed(number)).unbind(0)
        entering = _spread(value, source, meshes, 1000).requires_grad_(True)
        result = transition(entering)
        result.backward(_spread(gradient, after, meshes, 2000))
        forward = torch.allclose(whole(result, target, meshes), value, atol=1e-4)
        backward = torch.allclose(whole(entering.grad, before, meshes), gradient, atol=1e-4)
        if not forward or not backward:
            wrong.append((source, target, before, after, forward, backward))
    return wrong


def test_values_and_gradients_are_right_for_every_pair_of_layouts_on_one_axis():
    options = [frozenset(), frozenset({"tp"})]
    cases = [
        ({"tp": s}, {"tp": d}, outer, inner)
        for s, d in _pairs()
        for outer, inner in itertools.product(options, options)
    ]
    assert on_ranks(2, _check, Topology(tp=2, cp=1, dp=1), cases)[0] == []


@pytest.mark.parametrize("mesh", [{"cp": 2, "tp": 2}, {"tp": 2, "cp": 2}])
def test_values_and_gradients_are_right_for_every_pair_of_layouts_on_two_axes(mesh):
    axes = list(mesh)
    options = [frozenset(c) for n in range(3) for c in itertools.combinations(axes, n)]
    chosen = random.Random(0)
    cases = [
        (dict(zip(axes, (s, t), strict=True)), dict(zip(axes, (d, e), strict=True)), *chosen.choices(options, k=2))
        for (s, d), (t, e) in itertools.product(_pairs(), _pairs())
    ]
    topology = Topology(tp=2, cp=2, dp=1, mesh=mesh)
    assert on_ranks(4, _check, topology, cases)[0] == []


class Ledger:
    def __init__(self):
        self.seen = []

    def record(self, communication):
        self.seen.append(tuple(communication))


def _recorded():
    ledger = Ledger()
    meshes = build_meshes(Topology(tp=2, cp=1, dp=1))
    source, target = {"tp": shard(1)}, {"tp": REPLICATE}
    note = Note(ledger, "model.mlp", "hidden_states")
    transition = Transition(
        source, target, source, gradient_layout(target, frozenset({"tp"})), {"tp": meshes.axis("tp")}, note
    )
    transition(torch.ones(1, 2, 2, requires_grad=True)).sum().backward()
    return ledger.seen


def test_both_directions_are_recorded_with_the_size_of_the_whole_message():
    assert on_ranks(2, _recorded)[0] == [
        ("model.mlp", "hidden_states", "forward", "all-gather", "tp", 32),
        ("model.mlp", "hidden_states", "backward", "reduce-scatter", "tp", 32),
    ]


CP, TP = "cp", "tp"
RECUT = [Step("gather", TP, 1), Step("slice", CP, 1), Step("slice", TP, 1)]
WHOLE_CP = [Step("gather", TP, 1), Step("gather", CP, 1), Step("slice", TP, 1)]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ((shard(1), shard(1)), (shard(1), REPLICATE), [Step("gather", TP, 1)]),
        ((shard(1), shard(1)), (REPLICATE, shard(1)), WHOLE_CP),
        ((shard(1), PARTIAL), (shard(1), shard(1)), [Step("reduce-scatter", TP, 1)]),
        ((REPLICATE, shard(1)), (shard(1), shard(1)), RECUT),
        ((REPLICATE, shard(1)), (REPLICATE, shard(2)), [Step("move", TP, 1, 2)]),
        ((PARTIAL, PARTIAL), (REPLICATE, shard(0)), [Step("reduce", CP), Step("reduce-scatter", TP, 0)]),
        ((REPLICATE, REPLICATE), (REPLICATE, REPLICATE), []),
    ],
)  # fmt: skip
def test_the_steps_between_two_layouts_are_few_and_keep_the_order_of_tokens(source, target, expected):
    named = [dict(zip((CP, TP), layout, strict=True)) for layout in (source, target)]
    assert steps(*named) == expected


def _odd():
    meshes = build_meshes(Topology(tp=2, cp=1, dp=1))
    layouts = ({"tp": REPLICATE}, {"tp": shard(1)})
    transition = Transition(*layouts, *layouts, {"tp": meshes.axis("tp")}, SILENT)
    with pytest.raises(ValueError, match="dim 1 has 3 elements on a rank, which tp=2 does not divide"):
        transition(torch.ones(1, 3))
    return "refused"


def test_a_dim_that_does_not_divide_is_refused():
    assert on_ranks(2, _odd) == ["refused"] * 2
