"""Attention of cut queries over gathered keys equals attention of the whole, gradients included."""

import pytest
import torch
from ranks import RANKS, RankError, on_ranks
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn import functional

from hplint.apply.attention.attention_mask import MaskError, fit_mask
from hplint.apply.attention.gathered import GatheredAttention
from hplint.apply.attention.ulysses import ExchangedAttention
from hplint.apply.inject import wrappers
from hplint.apply.mesh.ledger import Note
from hplint.apply.mesh.meshes import MeshAxis, axis_of

pytestmark = RANKS
BATCH, HEADS, LENGTH, DIM = 2, 4, 8, 6
NOTE = Note(None, "attn", "attention")


def _mesh(device="cpu"):
    return init_device_mesh(device, (torch.distributed.get_world_size(),), mesh_dim_names=("cp",))


def _part(tensor, axis, dim):
    return tensor.chunk(axis.size, dim)[axis.rank]


def _inputs(kv_heads=HEADS):
    torch.manual_seed(3)
    heads = (HEADS, kv_heads, kv_heads)
    return [torch.randn(BATCH, h, LENGTH, DIM, requires_grad=True) for h in heads], torch.randn(
        BATCH, HEADS, LENGTH, DIM
    )


def _padding():
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril().repeat(BATCH, 1, 1, 1)
    mask[1, :, :, :2] = False
    mask[1, :, :2, :1] = True  # no row without keys
    return mask


def _window(size):
    rows, columns = torch.arange(LENGTH)[:, None], torch.arange(LENGTH)[None, :]
    return (columns <= rows) & (columns > rows - size)


CASES = {
    "causal": ({"is_causal": True}, HEADS),
    "full": ({}, HEADS),
    "masked": ({"attn_mask": "rows"}, HEADS),
    "masked by all rows": ({"attn_mask": "all"}, HEADS),
    "biased": ({"attn_mask": "float"}, HEADS),
    "grouped heads": ({"is_causal": True, "enable_gqa": True}, 2),
    "scaled": ({"scale": 0.3}, HEADS),
    "window": ({"is_causal": True}, HEADS),
}


def _compare(case, ulysses=False, device="cpu"):
    with torch.device(device):
        _compare_on(case, ulysses, axis_of(_mesh(device)))


def _compare_on(case, ulysses, axis):
    options, kv_heads = CASES[case]
    options = dict(options)
    (q, k, v), upstream = _inputs(kv_heads)
    masks = {"rows": _padding(), "all": _padding(), "float": torch.randn(1, 1, LENGTH, LENGTH)}
    whole = masks.get(options.get("attn_mask"))
    window = 3 if case == "window" else None
    reference = {**options, "attn_mask": whole} if whole is not None else dict(options)
    if window:
        reference = {"attn_mask": _window(window)}
    expected = functional.scaled_dot_product_attention(q, k, v, **reference)
    expected.backward(upstream)
    if whole is not None:
        options["attn_mask"] = whole if options["attn_mask"] == "all" else _part(whole, axis, -2)
    parts = [_part(t.detach(), axis, 2).requires_grad_() for t in (q, k, v)]
    attend = ExchangedAttention(axis) if ulysses else GatheredAttention(axis, window=window)
    found = attend(*parts, **options)
    found.backward(_part(upstream, axis, 2))
    torch.testing.assert_close(found, _part(expected, axis, 2))
    for part, tensor in zip(parts, (q, k, v), strict=True):
        torch.testing.assert_close(part.grad, _part(tensor.grad, axis, 2))


@pytest.mark.parametrize("case", CASES)
def test_cut_attention_equals_the_whole_one(case):
    on_ranks(2, _compare, case)


@pytest.mark.parametrize("case", [c for c in CASES if c != "window"])
def test_exchanged_attention_equals_the_whole_one(case):
    on_ranks(2, _compare, case, True)


def _too_few_heads():
    q, k = torch.randn(1, 4, 4, 6), torch.randn(1, 1, 4, 6)
    _wrapped(Attention(), wrappers.sdpa_qkv_ulysses)(q, k, k)


def test_heads_that_cp_does_not_divide_name_the_boundary():
    with pytest.raises(RankError, match="`attn`: keys have 1 heads on this rank, which cp=2 does not divide"):
        on_ranks(2, _too_few_heads)


def test_causal_attention_over_four_ranks_equals_the_whole_one():
    on_ranks(4, _compare, "causal")


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
@pytest.mark.parametrize("ulysses", [False, True])
@pytest.mark.parametrize("case", ["causal", "masked", "grouped heads"])
def test_cut_attention_equals_the_whole_one_on_cuda(case, ulysses):
    on_ranks(2, _compare, case, ulysses, "cuda", backend="nccl")


def test_masks_that_leave_keys_of_other_ranks_out_are_refused():
    axis = MeshAxis("cp", 2, 1)
    with pytest.raises(MaskError, match="covers 4 keys, those of this rank alone; the cp axis gathers 8"):
        fit_mask(torch.ones(1, 1, 4, 4), 4, 4, axis)
    with pytest.raises(MaskError, match="covers 3 queries; this rank has 4"):
        fit_mask(torch.ones(1, 1, 3, 8), 4, 4, axis)
    with pytest.raises(MaskError, match=r"has the shape \[8\]"):
        fit_mask(torch.ones(8), 4, 4, axis)
    assert fit_mask(torch.ones(1, 1, 1, 8), 4, 4, axis).shape == (1, 1, 1, 8)
    assert fit_mask(torch.arange(8.0)[:, None].expand(8, 8), 4, 4, axis)[0, 0] == 4


class Attention(nn.Module):
    """Calls the primitive by a name of its own, as ``from … import`` does."""

    def __init__(self, primitive=functional.scaled_dot_product_attention):
        super().__init__()
        self.primitive = primitive

    def forward(self, q, k, v, mask=None):
        return self.primitive(q, k, v, attn_mask=mask, is_causal=mask is None)


class Manual(nn.Module):
    def forward(self, hidden_states):
        return torch.softmax(hidden_states @ hidden_states.mT, -1) @ hidden_states


def _wrapped(module, wrapper):
    mesh = _mesh()
    return wrapper(target_module=module, mesh=mesh, tp_mesh=None, cp_mesh=mesh, ep_mesh=None, note=NOTE)


def _by_qkv_wrapper():
    axis = axis_of(_mesh())
    (q, k, v), _ = _inputs()
    forward = _wrapped(Attention(), wrappers.sdpa_qkv)
    parts = [_part(t, axis, 2) for t in (q, k, v)]
    expected = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(forward(*parts), _part(expected, axis, 2))
    torch.testing.assert_close(forward(parts[0], v=parts[2], k=parts[1]), _part(expected, axis, 2))
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        torch.testing.assert_close(forward(*parts), _part(expected, axis, 2))


def test_the_primitive_is_caught_by_whichever_name_it_is_called():
    on_ranks(2, _by_qkv_wrapper)


def _without_a_call():
    _wrapped(Manual(), wrappers.sdpa_hf)(torch.randn(1, 4, 6))


def _with_a_local_mask():
    q = torch.randn(1, 2, 4, 6)
    _wrapped(Attention(), wrappers.sdpa_qkv)(q, q, q, torch.ones(4, 4, dtype=torch.bool).tril())


def _with_other_parameters():
    _wrapped(Attention(), wrappers.sdpa_hf)


def test_a_forward_that_calls_no_attention_is_refused_when_it_runs():
    with pytest.raises(RankError, match="`attn` made no attention call that its wrapper could catch"):
        on_ranks(2, _without_a_call)


def test_a_mask_for_the_local_keys_names_the_boundary():
    with pytest.raises(RankError, match="`attn`: the attention mask covers 4 keys, those of this rank alone"):
        on_ranks(2, _with_a_local_mask)


def test_a_wrapper_says_which_parameters_it_needs():
    with pytest.raises(RankError, match="no `hidden_states`"):
        on_ranks(2, _with_other_parameters)


class Flex(nn.Module):
    def forward(self, q, k, v, block_mask=None, score_mod=None):
        return nn.attention.flex_attention.flex_attention(q, k, v, score_mod=score_mod, block_mask=block_mask)


def _flex():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def causal(b, h, q, k):
        return q >= k

    def slope(score, b, h, q, k):
        return score - 0.1 * (q - k)

    axis = axis_of(_mesh())
    (q, k, v), _ = _inputs()
    q, k, v = q.detach(), k.detach(), v.detach()
    parts = [_part(t, axis, 2) for t in (q, k, v)]
    forward = _wrapped(Flex(), wrappers.flex_qkv)
    whole = create_block_mask(causal, None, None, LENGTH, LENGTH, device="cpu")
    expected = flex_attention(q, k, v, score_mod=slope, block_mask=whole)
    torch.testing.assert_close(forward(*parts, whole, slope), _part(expected, axis, 2))
    torch.testing.assert_close(forward(*parts, whole, slope), _part(expected, axis, 2))
    torch.testing.assert_close(forward(*parts), _part(flex_attention(q, k, v), axis, 2))
    local = create_block_mask(causal, None, None, LENGTH // 2, LENGTH // 2, device="cpu")
    try:
        forward(*parts, local)
    except Exception as error:
        return str(error)
    return ""


def test_flex_attention_gets_masks_and_scores_of_this_ranks_queries():
    for text in on_ranks(2, _flex):
        assert "covers 4 queries and 4 keys, those of this rank alone; this rank has 4 queries" in text


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_fused_causal_form_equals_the_mask_on_a_gpu():
    q = torch.randn(1, 4, 8, 16, device="cuda", dtype=torch.bfloat16)
    k = torch.randn(1, 4, 16, 16, device="cuda", dtype=torch.bfloat16)
    from torch.nn.attention.bias import causal_lower_right

    from hplint.apply.attention.attention_mask import causal_mask

    mask = causal_mask(8, 16, MeshAxis("cp", 2, 1), q.device)
    fused = functional.scaled_dot_product_attention(q, k, k, causal_lower_right(8, 16))
    torch.testing.assert_close(fused, functional.scaled_dot_product_attention(q, k, k, mask), rtol=2e-2, atol=2e-2)
