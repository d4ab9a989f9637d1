"""Which regions work in shares, and which gradients are summed: without ranks."""

from applying import topology

from hplint.apply.mesh.shares import gradient_axes, layouts_of, region_shares
from hplint.apply.plan import ApplyBoundary, ApplyPlan
from hplint.apply.region.special import special_layouts
from hplint.plan.placement import PARTIAL, REPLICATE, shard

WHOLE = {"tp": REPLICATE}


def _plan(*boundaries, **more):
    return ApplyPlan(tuple(boundaries), topology(tp=2), **more)


FLOW = {"in_src": {"x": WHOLE}, "in_dst": {"x": WHOLE}}
NORM = ApplyBoundary("norm", params={"weight": WHOLE}, out_src={"y": WHOLE}, out_dst={"y": WHOLE}, **FLOW)


def _attention(**more):
    params = {"q.weight": {"tp": shard(0)}, "o.weight": {"tp": shard(1)}}
    out = {"out_src": {"output": {"tp": PARTIAL}}, "out_dst": {"output": WHOLE}}
    return ApplyBoundary("attn", params=params, **FLOW, **out, **more)


def _axes(plan, *more):
    laid = layouts_of(plan)
    return gradient_axes(plan, [*laid, *more], laid, region_shares(plan, laid))


def test_a_norm_over_whole_tokens_has_whole_gradients_and_one_over_cut_tokens_does_not():
    assert _axes(_plan(NORM)) == {}
    cut = {"in_dst": {"x": {"tp": shard(1)}}, "out_src": {"y": {"tp": shard(1)}}}
    assert _axes(_plan(ApplyBoundary("norm", params={"weight": WHOLE}, **cut))) == {"norm.weight": ("tp",)}


def test_what_is_whole_in_a_region_that_is_cut_has_its_gradient_summed():
    assert _axes(_plan(_attention()), "attn.q_norm.weight") == {"attn.q_norm.weight": ("tp",)}


def test_a_region_inside_of_one_that_works_in_shares_does_so_too():
    inner = ApplyBoundary("attn.norm", **{f: getattr(NORM, f) for f in ("params", "in_src", "in_dst", "out_src")})
    plan = _plan(inner, _attention())
    assert region_shares(plan, layouts_of(plan))["attn.norm"] == {"tp"}


def test_regions_of_tied_parameters_agree():
    table = ApplyBoundary("norm2", params={"weight": WHOLE}, out_src={"y": {"tp": shard(1)}}, out_dst={})
    plan = _plan(NORM, table, tied=(("norm.weight", "norm2.weight"),))
    assert _axes(plan) == {"norm.weight": ("tp",), "norm2.weight": ("tp",)}


def test_a_deferred_bias_is_a_share_only_where_the_sum_is_cut():
    params = {"o.weight": {"tp": shard(1)}, "o.bias": WHOLE}
    for target, axes in ((REPLICATE, {}), (shard(1), {"attn.o.bias": ("tp",)})):
        out = {"out_src": {"output": {"tp": PARTIAL}}, "out_dst": {"output": {"tp": target}}}
        assert _axes(_plan(ApplyBoundary("attn", params=params, deferred_biases=("o.bias",), **out))) == axes


def test_numbers_per_head_follow_the_heads():
    special = {"attn.A_log": "a_log", "attn.gated_delta.w": "gated_delta", "attn.dt_bias": "dt_bias"}
    lengths = {"attn.A_log": 4, "attn.gated_delta.w": 4, "attn.dt_bias": 3}
    found = special_layouts(_plan(_attention(), special=special), lengths)
    assert found == {"attn.A_log": {"tp": shard(0)}, "attn.gated_delta.w": WHOLE, "attn.dt_bias": WHOLE}
