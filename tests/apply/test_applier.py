"""What applying does besides the numbers: refusals, marks, layouts of outputs, experts that are stacked."""

import copy

import pytest
import torch
from applying import differences, filled, plan_for, topology
from ranks import RANKS, on_ranks
from torch import nn

import hplint.apply
from hplint.apply import ApplyFailed, CannotApply, LayoutMismatch, apply_plan, build_meshes, full_parameter
from hplint.apply.applied import applied_of

pytestmark = RANKS


class TwoLayers(nn.Module):
    """Row-wise behind column-wise, biases on both."""

    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 12)
        self.down = nn.Linear(12, 8)

    def forward(self, hidden_states):
        return self.down(torch.relu(self.up(hidden_states)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = TwoLayers()

    def forward(self, hidden_states):
        return self.block(hidden_states)


PLAN = """
- match: block
  params: {{up.weight: {{tp: shard(0)}}, up.bias: {{tp: shard(0)}}, down.weight: {{tp: shard(1)}}, down.bias: {{tp: replicate}}}}
  in_src: {{hidden_states: {{tp: {src}}}}}
  in_dst: {{hidden_states: {{tp: replicate}}}}
  out_src: {{tp: {produced}}}
  out_dst: {{tp: {dst}}}
"""  # noqa: E501


def _plan(model, src="replicate", produced="partial", dst="replicate", more="", on=None):
    return plan_for(model, PLAN.format(src=src, produced=produced, dst=dst) + more, on or topology(tp=2))


def _twice():
    model = filled(Model())
    plan, meshes = _plan(model), build_meshes(topology(tp=2))
    apply_plan(model, plan, meshes)
    try:
        apply_plan(model, plan, meshes)
    except CannotApply as error:
        return error.message
    return "applied"


def test_a_second_application_is_refused():
    assert on_ranks(2, _twice) == ["a plan was applied to this model already"] * 2


def _refused():
    model = filled(Model())
    model.block.down = nn.Linear(12, 7)
    before = {name: p.clone() for name, p in model.named_parameters()}
    text = PLAN.format(src="replicate", produced="partial", dst="replicate").replace(
        "down.weight: {tp: shard(1)}", "down.weight: {tp: shard(0)}"
    )
    plan = plan_for(model, text, topology(tp=2))
    try:
        apply_plan(model, plan, build_meshes(topology(tp=2)))
    except CannotApply as error:
        same = all(torch.equal(p, before[name]) for name, p in model.named_parameters())
        return same and applied_of(model) is None and "forward" not in vars(model.block), error.message
    return "applied"


def test_a_plan_that_does_not_fit_leaves_the_model_as_it_was():
    untouched, message = on_ranks(2, _refused)[0]
    assert untouched
    assert "dim 0 of `block.down.weight` has 7, which tp=2 does not divide" in message


class Fragile(TwoLayers):
    def __setattr__(self, name, value):
        if name == "forward":
            raise RuntimeError("not on my watch")
        super().__setattr__(name, value)


def _half_way():
    model = filled(Model())
    model.block.__class__ = Fragile
    try:
        apply_plan(model, _plan(model), build_meshes(topology(tp=2)))
    except ApplyFailed as error:
        return error.boundary, error.message, error.hint
    return "applied"


def test_a_failure_half_way_names_the_boundary_and_its_line():
    boundary, message, hint = on_ranks(2, _half_way)[0]
    assert boundary == "block"
    assert message == "applying the plan stopped at `block` (plan.yaml:2): RuntimeError: not on my watch"
    assert hint == "the model is changed in part: build it anew"


def _compared(mode, *args, more="", sequence=False, cut=None, layout=None):
    model = filled(Model())
    inputs = {"hidden_states": torch.randn(2, 4, 8, generator=torch.Generator().manual_seed(0))}
    plan = _plan(model, *args, more=more)
    return differences(model, plan, inputs, mode=mode, cut=cut, layout=layout)


def _reduced(mode, dst, black_box):
    more = "\n- match: block\n  region_dispatch: false\n" if black_box else ""
    dim = {"replicate": {}, "shard(1)": {"tp": "shard(1)"}, "shard(2)": {"tp": "shard(2)"}}[dst]
    return _compared(mode, "replicate", "partial", dst, more=more, layout=dim)


@pytest.mark.parametrize("black_box", [False, True])
@pytest.mark.parametrize("dst", ["replicate", "shard(1)", "shard(2)"])
@pytest.mark.parametrize("mode", ["local", "validate"])
def test_a_row_wise_bias_counts_once_wherever_the_sum_goes(mode, dst, black_box):
    assert on_ranks(2, _reduced, mode, dst, black_box) == [{}, {}]


def _mismatch(produced):
    try:
        _compared("validate", "replicate", produced, "replicate")
    except LayoutMismatch as error:
        return error.boundary, error.output, error.declared, error.actual, error.message
    return "none"


def test_validate_mode_tells_a_reduction_that_the_plan_forgot():
    boundary, output, declared, actual, message = on_ranks(2, _mismatch, "replicate")[0]
    assert (boundary, output, declared, actual) == ("block", "output", {"tp": "replicate"}, {"tp": "partial"})
    assert message == "output `output` of `block` is laid out tp `partial`, declared `replicate`"


def test_local_mode_computes_something_else_without_the_reduction():
    assert "output" in on_ranks(2, _compared, "local", "replicate", "replicate", "replicate")[0]


class Output(dict):
    """What transformers' model outputs look like from outside."""

    def to_tuple(self):
        return tuple(self.values())


class Several(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = nn.Linear(8, 8)
        self.pair = Pair()

    def forward(self, hidden_states):
        out = self.pair(self.before(hidden_states))
        assert isinstance(out, Output)
        assert out["nothing"] is None
        return out["logits"] + out["other"] + out["extra"]


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8, bias=False)

    def forward(self, hidden_states):
        result = self.fc(hidden_states)
        return Output(nothing=None, other=hidden_states * 2, extra=hidden_states.detach() * 3, logits=result)


SEVERAL = """
- match: pair
  params: {fc.weight: {tp: shard(0)}}
  in_src: {hidden_states: {tp: replicate}}
  in_dst: {hidden_states: {tp: replicate}}
  out_src: {logits: {tp: shard(2)}, other: {tp: replicate}}
  out_dst: {logits: {tp: replicate}, other: {tp: replicate}}
"""


def _several(mode):
    model = filled(Several())
    plan = plan_for(model, SEVERAL, topology(tp=2))
    return differences(model, plan, {"hidden_states": torch.randn(2, 4, 8)}, mode=mode)


@pytest.mark.parametrize("mode", ["local", "validate"])
def test_outputs_of_a_dict_like_result_are_found_by_their_names(mode):
    assert on_ranks(2, _several, mode) == [{}, {}]


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 4, bias=False)
        self.experts = nn.ModuleList([TwoLayers() for _ in range(4)])


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = Experts()


def _stacked(mode):
    from dataclasses import replace

    from hplint.plan.placement import REPLICATE, shard

    model = Mixture()
    weights = [e.up.weight.detach().clone() for e in model.mlp.experts]
    on = topology(tp=2, ep=2)
    plan = plan_for(model, "", on)
    sources = tuple(f"experts.{i}.up.weight" for i in range(4))
    [boundary] = plan.boundaries or (hplint.apply.plan.ApplyBoundary("mlp"),)
    boundary = replace(
        boundary,
        ep_size=2,
        ep_stack={"experts.up": sources},
        params={"experts.up": {"edp": REPLICATE, "ep": shard(0)}},
    )
    apply_plan(model, replace(plan, boundaries=(boundary,)), build_meshes(on), mode=mode)
    there = torch.equal(full_parameter(model, "mlp.experts.up"), torch.stack(weights))
    local = model.mlp.experts.up
    local = local.to_local() if mode == "validate" else local
    return there, tuple(local.shape), [name for name, _ in model.named_parameters() if "up.weight" in name]


@pytest.mark.parametrize("mode", ["local", "validate"])
def test_weights_of_single_experts_become_one_parameter_of_which_each_rank_has_its_experts(mode):
    assert on_ranks(2, _stacked, mode) == [(True, (2, 12, 8), [])] * 2


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.lm_head = nn.Linear(8, 12, bias=False)

    def forward(self, hidden_states):
        return self.lm_head(hidden_states)


def _loss_parallel(mode):
    from torch.distributed.tensor.parallel import loss_parallel

    model = filled(Head())
    whole = copy.deepcopy(model)
    on = hplint.resolve.topology.Topology(tp=2, cp=1, ep=1, dp=1, pp=1, loss_parallel=True)
    apply_plan(model, plan_for(model, "", on), build_meshes(on), mode=mode)
    hidden, labels = torch.randn(2, 4, 8), torch.randint(0, 12, (8,))
    with loss_parallel():
        loss = nn.functional.cross_entropy(model(hidden).flatten(0, 1), labels)
        loss.backward()
    wanted = nn.functional.cross_entropy(whole(hidden).flatten(0, 1), labels)
    wanted.backward()
    hplint.apply.sync_gradients(model)
    gradient = hplint.apply.full_gradient(model, "lm_head.weight")
    return torch.allclose(loss.full_tensor(), wanted), torch.allclose(gradient, whole.lm_head.weight.grad, atol=1e-5)


@pytest.mark.parametrize("mode", ["local", "validate"])
def test_a_loss_parallel_head_gives_logits_that_torch_can_take_a_parallel_loss_of(mode):
    assert on_ranks(2, _loss_parallel, mode) == [(True, True)] * 2


def _data_parallel(mode):
    model = filled(Model())
    whole = copy.deepcopy(model)
    on = topology(dp=2, tp=2)
    meshes = build_meshes(on)
    apply_plan(model, _plan(model, on=on), meshes, mode=mode)
    batches = torch.randn(2, 3, 8)
    model(batches[meshes.axis("dp").rank]).square().sum().backward()
    whole(batches).square().sum().backward()
    hplint.apply.sync_gradients(model)
    return [
        torch.allclose(hplint.apply.full_gradient(model, name), p.grad, atol=1e-3)
        for name, p in whole.named_parameters()
    ]


@pytest.mark.parametrize("mode", ["local", "validate"])
def test_gradients_of_all_batches_are_summed(mode):
    assert on_ranks(4, _data_parallel, mode) == [[True] * 4] * 4


def test_importing_the_package_imports_no_torch():
    import subprocess
    import sys

    code = "import sys, hplint.apply; assert 'torch' not in sys.modules; print(hplint.apply.PlanRefused.exit_code)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "1\n"


def test_a_plan_with_errors_is_refused_with_all_of_them():
    text = """plan_overrides:
- match: block
  in_src: {hidden_states: {tp2: replicate}}
- match: blok
  in_src: {hidden_states: {tp: replicate}}
"""
    with pytest.raises(hplint.apply.PlanRefused) as caught:
        hplint.apply.resolve_plan(text, Model(), {"tp": 2})
    assert {"HPL201", "HPL101"} <= {d.code for d in caught.value.diagnostics}
    assert "plan.yaml:3: HPL201" in caught.value.message


def test_a_clean_plan_is_resolved_against_a_live_model():
    text = "plan_overrides:" + PLAN.format(src="replicate", produced="partial", dst="replicate")
    plan = hplint.apply.resolve_plan(text, Model(), {"tp": 2})
    [boundary] = plan.boundaries
    assert boundary.deferred_biases == ("down.bias",)
    assert boundary.place == "plan.yaml:2"
