"""What is refused before anything is changed."""

import pytest
from applying import plan_for, topology
from torch import nn

from hplint.apply.errors import CannotApply
from hplint.apply.mesh.meshes import MeshAxis, Meshes
from hplint.apply.mesh.shares import layouts_of
from hplint.apply.plan import ApplyBoundary, ApplyPlan
from hplint.apply.region.fit import check_fit
from hplint.plan.placement import PARTIAL, REPLICATE, shard


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(6, 4)
        self.fc = nn.Linear(4, 6)
        self.heads = 3


def _meshes(**sizes):
    return Meshes(world=None, axes={name: MeshAxis(name, size) for name, size in sizes.items()})


def _refusal(*boundaries, model=None, tied=()):
    plan = ApplyPlan(tuple(boundaries), topology(tp=4), tied=tied)
    with pytest.raises(CannotApply) as caught:
        check_fit(model or Model(), plan, _meshes(tp=4), layouts_of(plan))
    assert caught.value.hint == "nothing was changed"
    return caught.value.message


def test_a_module_that_is_not_there_is_named_with_a_near_name():
    assert "there is no module `fcc` (`fc` is near)" in _refusal(ApplyBoundary("fcc"))


def test_a_parameter_that_is_not_there_is_named_with_a_near_name():
    layout = {"tp": REPLICATE}
    assert "no parameter `fc.wieght` (`fc.weight` is near)" in _refusal(ApplyBoundary("fc", params={"wieght": layout}))


def test_a_dim_that_the_axis_does_not_divide_is_told_with_its_size():
    message = _refusal(ApplyBoundary("fc", params={"weight": {"tp": shard(0)}}))
    assert "dim 0 of `fc.weight` has 6, which tp=4 does not divide" in message


def test_partial_parameters_and_dims_out_of_range_are_refused_together():
    message = _refusal(ApplyBoundary("fc", params={"weight": {"tp": PARTIAL}, "bias": {"tp": shard(1)}}))
    assert "`fc.weight` is partial on tp" in message
    assert "`fc.bias` of shape [6] is cut on dim 1" in message


def test_a_move_to_partial_is_refused():
    inputs = {"in_src": {"input": {"tp": REPLICATE}}, "in_dst": {"input": {"tp": PARTIAL}}}
    assert "`input` of `fc` cannot go from replicate to partial on tp" in _refusal(ApplyBoundary("fc", **inputs))


def test_attributes_to_divide_have_to_be_numbers_that_divide():
    message = _refusal(ApplyBoundary("", tp_divide_attrs=("heads", "embed")))
    assert "`heads` of `the root module` is 3, which tp=4 does not divide" in message
    assert "has no number `embed` to divide" in message


def test_tied_parameters_have_to_be_laid_out_alike():
    model = Model()
    model.fc = nn.Linear(4, 8)
    model.embed = nn.Embedding(8, 4)
    model.fc.weight = model.embed.weight
    message = _refusal(ApplyBoundary("embed", params={"weight": {"tp": shard(0)}}), model=model)
    assert (
        "`embed.weight` and `fc.weight` are one parameter but are laid out differently: write an entry for `fc`"
        in message
    )


def test_two_boundaries_cannot_lay_out_one_parameter():
    layout = {"tp": REPLICATE}
    one, other = ApplyBoundary("fc", params={"weight": layout}), ApplyBoundary("", params={"fc.weight": layout})
    assert "laid out by two boundaries, `fc` and `the root module`" in _refusal(one, other)


def test_a_table_that_rescales_its_rows_is_refused():
    model = Model()
    model.embed = nn.Embedding(8, 4, max_norm=1.0)
    assert "max_norm" in _refusal(ApplyBoundary("embed"), model=model)


def test_children_come_before_their_parents():
    text = """
- match: inner
  out_src: {tp: replicate}
- match: inner.fc
  in_src: {input: {tp: replicate}}
"""
    outer = nn.Module()
    outer.inner = Model()
    assert [b.fqn for b in plan_for(outer, text, topology(tp=2)).boundaries] == ["inner.fc", "inner"]
