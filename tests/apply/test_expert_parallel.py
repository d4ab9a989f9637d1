"""Experts on several ranks equal all of them on one: outputs, and every gradient."""

import pytest
import torch
from ranks import RANKS, RankError, on_ranks
from tiny_experts import EXPERTS, FAMILIES, HIDDEN, block
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from hplint.apply.errors import CannotApply
from hplint.apply.experts import parallel as experts
from hplint.apply.experts.exchange import plan_exchange
from hplint.apply.mesh.collectives import all_reduce
from hplint.apply.mesh.ledger import Note
from hplint.apply.mesh.meshes import MeshAxis, axis_of

pytestmark = RANKS
RECIPES = {
    "mixtral": experts.mixtral_ep_compute_fn,
    "qwen3": experts.qwen3moe_ep_compute_fn,
    "qwen2": experts.qwen2moe_ep_compute_fn,
    "deepseek": experts.deepseekv3_ep_compute_fn,
    "listed": experts.routed_only_ep_compute_fn,
}
NOTE = Note(None, "mlp", "tokens")


def _mesh(device="cpu"):
    return init_device_mesh(device, (torch.distributed.get_world_size(),), mesh_dim_names=("ep",))


def _factory(recipe, module, mesh, **keywords):
    return recipe(module=module, mesh=mesh, tp_mesh=None, cp_mesh=None, ep_mesh=mesh, note=NOTE, **keywords)


def _cut(module, axis):
    """Keep this rank's experts, batched."""
    if isinstance(module.experts, nn.ModuleList):
        for name in ("w1", "w2", "w3"):
            whole = torch.stack([getattr(e, name).weight.detach() for e in module.experts])
            for expert in module.experts:
                getattr(expert, name).weight = None
            module.experts.register_parameter(name, nn.Parameter(whole))
    for name, parameter in list(module.experts.named_parameters()):
        part = parameter.detach().chunk(axis.size)[axis.rank].clone()
        setattr(module.experts, name, nn.Parameter(part))
    return module


def _expert_gradient(whole, name):
    if isinstance(whole.experts, nn.ModuleList):
        return torch.stack([getattr(e, name).weight.grad for e in whole.experts])
    return whole.experts.get_parameter(name).grad


def _compare(family, alike, keywords, device="cpu"):
    with torch.device(device):
        _compare_on(_mesh(device), family, alike, keywords)


def _compare_on(mesh, family, alike, keywords):
    """``alike``: all ranks have the same tokens. Then each has a share of the gradient, as the boundary hands it in."""
    axis = axis_of(mesh)
    whole, cut = block(family), _cut(block(family), axis)
    torch.manual_seed(5)
    tokens, upstream = torch.randn(2, 8, HIDDEN), torch.randn(2, 8, HIDDEN)
    reference = tokens.clone().requires_grad_()
    expected = whole(reference)
    expected.backward(upstream)

    def mine(tensor):
        return tensor if alike else tensor.chunk(axis.size, 1)[axis.rank]

    given = mine(tokens).clone().requires_grad_()
    recipe = experts.expert_parallel if keywords else RECIPES[family]
    compute = _factory(recipe, cut, mesh, **keywords)
    found = compute(cut, given)
    found.backward(mine(upstream) / (axis.size if alike else 1))
    torch.testing.assert_close(found, mine(expected))
    given_grad = all_reduce(given.grad, axis) if alike else given.grad
    torch.testing.assert_close(given_grad, mine(reference.grad))
    for name, parameter in cut.named_parameters():
        if name.startswith("experts."):
            leaf = name.partition(".")[2]
            gradient = _expert_gradient(whole, leaf).chunk(axis.size)[axis.rank]
            torch.testing.assert_close(parameter.grad, gradient, msg=name)
        else:
            gradient = whole.get_parameter(name).grad
            torch.testing.assert_close(all_reduce(parameter.grad, axis), gradient, msg=name)


@pytest.mark.parametrize("family", FAMILIES)
def test_exchanged_tokens_give_what_one_rank_gives(family):
    on_ranks(2, _compare, family, False, {})


@pytest.mark.parametrize("family", ["mixtral", "deepseek"])
def test_a_token_that_all_ranks_hold_counts_once(family):
    on_ranks(2, _compare, family, True, {})


def test_four_ranks_with_one_expert_each_give_the_same():
    on_ranks(4, _compare, "qwen3", False, {})


def test_one_kernel_for_all_experts_gives_the_same():
    on_ranks(2, _compare, "qwen3", False, {"use_grouped_gemm": True})


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
@pytest.mark.parametrize("family", FAMILIES)
def test_exchanged_tokens_give_what_one_rank_gives_on_cuda(family):
    on_ranks(2, _compare, family, False, {}, "cuda", backend="nccl")


def _all_to_one():
    """Every token goes to experts of rank 0."""
    mesh = _mesh()
    axis = axis_of(mesh)
    module = _cut(block("mixtral"), axis)
    with torch.no_grad():
        module.gate.weight.zero_()
        module.gate.weight[:2] = 1
    given = torch.rand(1, 3, HIDDEN, requires_grad=True)
    result = _factory(experts.mixtral_ep_compute_fn, module, mesh)(module, given)
    result.sum().backward()
    return module.experts.down_proj.grad


def test_a_rank_without_tokens_still_has_gradients_of_zero():
    first, second = on_ranks(2, _all_to_one)
    assert first.abs().sum() > 0
    assert torch.equal(second, torch.zeros_like(second))


def test_without_values_every_rank_gets_the_same_share():
    chosen = torch.empty(10, dtype=torch.long, device="meta")
    exchange = plan_exchange(chosen, EXPERTS, MeshAxis("ep", 4, 1))
    assert exchange.send == (3, 3, 2, 2)
    assert exchange.dispatch(torch.empty(10, HIDDEN, device="meta")).shape == (10, HIDDEN)


def _refusal(family, recipe, change):
    mesh = _mesh()
    module = block(family)
    change(module)
    with pytest.raises(CannotApply) as caught:
        _factory(recipe, module, mesh)
    return caught.value.message


def _nothing(module):
    pass


def _without_gate(module):
    del module.gate


def _with_bias(module):
    module.experts.gate_up_proj_bias = nn.Parameter(torch.zeros(EXPERTS, 16))


def _other_weights(module):
    module.experts.up_proj = module.experts.gate_up_proj
    del module.experts.gate_up_proj


@pytest.mark.parametrize(
    "family, recipe, change, text",
    [
        ("deepseek", experts.mixtral_ep_compute_fn, _nothing, "8 experts, but the ranks hold 16"),
        ("mixtral", experts.deepseekv3_ep_compute_fn, _nothing, "needs `shared_experts`, which `MixtralSparseMoe"),
        ("mixtral", experts.mixtral_ep_compute_fn, _without_gate, "finds neither `gate` nor `router`"),
        ("mixtral", experts.mixtral_ep_compute_fn, _with_bias, "a bias (`experts.gate_up_proj_bias`)"),
        ("mixtral", experts.mixtral_ep_compute_fn, _other_weights, "finds no SwiGLU weights in `experts`"),
        ("listed", experts.routed_only_ep_compute_fn, _nothing, "finds no SwiGLU weights in `experts`"),
    ],
)
def test_a_module_that_a_recipe_does_not_fit_is_refused(family, recipe, change, text):
    assert all(text in message for message in on_ranks(2, _refusal, family, recipe, change))


def _dropping_shared_experts():
    mesh = _mesh()
    module = _cut(block("deepseek"), axis_of(mesh))
    _factory(experts.routed_only_ep_compute_fn, module, mesh)


def test_a_recipe_never_drops_shared_experts_in_silence():
    with pytest.raises(RankError, match="runs routed experts alone, but the module has `shared_experts`"):
        on_ranks(2, _dropping_shared_experts)


def _with_an_absent_shared_expert():
    mesh = _mesh()
    module = _cut(block("mixtral"), axis_of(mesh))
    module.shared_expert = None
    return _factory(experts.expert_parallel, module, mesh)(module, torch.zeros(1, 2, HIDDEN))


def test_a_shared_expert_that_is_not_there_is_not_called():
    assert all(result.shape == (1, 2, HIDDEN) for result in on_ranks(2, _with_an_absent_shared_expert))
