"""Injected functions inside of applied models: outputs and every gradient as in the unsharded model, in both modes."""

import pytest
import torch
from applying import differences, filled, plan_for, topology
from ranks import RANKS, RankError, on_ranks
from tiny_experts import HIDDEN, block
from torch import nn
from torch.nn import functional

pytestmark = RANKS
MODES = ("local", "validate")


class Core(nn.Module):
    def forward(self, q, k, v, mask=None):
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)


class SelfAttention(nn.Module):
    """Attention whose kernel is a child; ``twice`` lets the child return its queries too."""

    def __init__(self, hidden=16, heads=4):
        super().__init__()
        self.num_heads, self.head_dim = heads, hidden // heads
        self.q_proj = nn.Linear(hidden, hidden, bias=False)
        self.k_proj = nn.Linear(hidden, hidden, bias=False)
        self.v_proj = nn.Linear(hidden, hidden, bias=False)
        self.o_proj = nn.Linear(hidden, hidden, bias=False)
        self.core = Core()

    def forward(self, hidden_states):
        batch, length, _ = hidden_states.shape
        shape = (batch, length, self.num_heads, self.head_dim)
        q, k, v = (p(hidden_states).view(shape).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        return self.o_proj(self.core(q, k, v).transpose(1, 2).reshape(batch, length, -1))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(32, 16)
        self.input_layernorm = nn.LayerNorm(16)
        self.self_attn = SelfAttention()
        self.mlp = Mlp()
        self.lm_head = nn.Linear(16, 32, bias=False)

    def forward(self, input_ids):
        hidden_states = self.embed_tokens(input_ids)
        hidden_states = hidden_states + self.self_attn(self.input_layernorm(hidden_states))
        return self.lm_head(hidden_states + self.mlp(hidden_states))


class Mlp(nn.Module):
    def __init__(self, hidden=16, inner=24):
        super().__init__()
        self.gate_proj = nn.Linear(hidden, inner, bias=False)
        self.up_proj = nn.Linear(hidden, inner, bias=False)
        self.down_proj = nn.Linear(inner, hidden, bias=False)

    def forward(self, hidden_states):
        return self.down_proj(functional.silu(self.gate_proj(hidden_states)) * self.up_proj(hidden_states))


WRAPPED = {
    "self": """
- match: self_attn
  region_dispatch: false
  inner_target: self
  inner_wrapper: sdpa_hf
""",
    "first input": """
- match: self_attn
  region_dispatch: false
  inner_target: core
  inner_wrapper: sdpa_qkv
  inner_out_src: first_input
""",
    "declared": """
- match: self_attn
  region_dispatch: false
  inner_target: core
  inner_wrapper: {_target_: hyper_parallel.distributed.context_parallel.wrappers.sdpa_qkv_cp_wrapper}
  inner_out_src: {tp: shard(1), cp: shard(2)}
""",
}


def _decoder(mode, plan, sizes, sequence_parallel=False, src=()):
    model = filled(Decoder())
    resolved = plan_for(model, plan, topology(sequence_parallel, **sizes), src)
    ids = torch.randint(0, 32, (2, 8), generator=torch.Generator().manual_seed(2))
    cp = sizes.get("cp", 1) > 1
    cut, layout = ({"input_ids": {"cp": 1}}, {"cp": "shard(1)"}) if cp else ({}, {})
    return differences(model, resolved, {"input_ids": ids}, mode=mode, cut=cut, layout=layout)


@pytest.mark.parametrize("target", WRAPPED)
@pytest.mark.parametrize("mode", MODES)
def test_attention_is_wrapped_as_a_whole_or_at_its_kernel(mode, target):
    assert on_ranks(2, _decoder, mode, WRAPPED[target], {"cp": 2}) == [{}] * 2


# In validate mode torch plans a change of layouts over two axes for seconds.
@pytest.mark.parametrize("mode, target", [("local", "self"), ("local", "declared"), ("validate", "declared")])
def test_wrapped_attention_works_beside_cut_heads(mode, target):
    assert on_ranks(4, _decoder, mode, WRAPPED[target], {"cp": 2, "tp": 2}, True, timeout=180) == [{}] * 4


def test_attention_without_a_wrapper_differs_along_cp():
    assert "output" in on_ranks(2, _decoder, "local", "", {"cp": 2})[1]


WRONG = WRAPPED["declared"].replace("tp: shard(1), cp: shard(2)", "one: {cp: shard(2)}, two: {cp: shard(2)}")


def test_a_wrapped_child_that_returns_another_number_of_tensors_names_its_boundary():
    with pytest.raises(RankError, match=r"inner wrapper of `self_attn`: the wrapped forward returns 1 tensors, .* 2"):
        on_ranks(2, _decoder, "validate", WRONG, {"cp": 2})


FUNCTIONS = """
from hplint.apply import local_compute
import torch

@local_compute
def plain(mesh, tp_mesh, cp_mesh, ep_mesh, *, limit: float = 1e9):
    assert cp_mesh is None and ep_mesh is None and tp_mesh.size() == 2
    def compute(module, hidden_states):
        hidden = torch.nn.functional.silu(module.gate_proj(hidden_states)) * module.up_proj(hidden_states)
        return module.down_proj(hidden.clamp(-limit, limit))
    return compute
"""
COMPUTED = """
- match: mlp
  region_dispatch: {dispatch}
  local_compute_fn: {{_target_: applied_functions.plain, limit: 1000.0}}
"""


@pytest.mark.parametrize("dispatch", ["false", "true"])
@pytest.mark.parametrize("mode", MODES)
def test_a_compute_function_runs_in_place_of_the_forward(tmp_path_factory, mode, dispatch):
    folder = tmp_path_factory.mktemp("src", numbered=True)
    (folder / "applied_functions.py").write_text(FUNCTIONS)
    plan = COMPUTED.format(dispatch=dispatch)
    assert on_ranks(2, _decoder, mode, plan, {"tp": 2}, True, (str(folder),)) == [{}] * 2


class Sparse(nn.Module):
    """One layer with experts, as transformers or older models keep them."""

    def __init__(self, family):
        super().__init__()
        self.embed_tokens = nn.Embedding(32, HIDDEN)
        self.post_attention_layernorm = nn.LayerNorm(HIDDEN)
        self.mlp = block(family)
        self.lm_head = nn.Linear(HIDDEN, 32, bias=False)

    def forward(self, input_ids):
        hidden_states = self.embed_tokens(input_ids)
        return self.lm_head(hidden_states + self.mlp(self.post_attention_layernorm(hidden_states)))


EXPERTS = """
- match: mlp
  region_dispatch: false
  local_compute_fn: {{_target_: {target}}}
"""
RECIPES = "hyper_parallel.distributed.expert_parallel.recipes."


def _sparse(mode, family, recipe, sizes, sequence_parallel):
    model = filled(Sparse(family))
    plan = plan_for(model, EXPERTS.format(target=recipe), topology(sequence_parallel, **sizes))
    assert plan.boundary("mlp").ep_size == sizes["ep"]
    ids = torch.randint(0, 32, (2, 8), generator=torch.Generator().manual_seed(2))
    cp = sizes.get("cp", 1) > 1
    cut, layout = ({"input_ids": {"cp": 1}}, {"cp": "shard(1)"}) if cp else ({}, {})
    return differences(model, plan, {"input_ids": ids}, mode=mode, cut=cut, layout=layout)


@pytest.mark.parametrize("sequence_parallel", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("family, recipe", [("qwen2", "qwen2moe"), ("deepseek", "deepseekv3"), ("mixtral", "mixtral")])
def test_experts_under_hyper_parallels_names_compute_the_same(mode, family, recipe, sequence_parallel):
    target = f"{RECIPES}{recipe}_ep_compute_fn"
    assert on_ranks(2, _sparse, mode, family, target, {"tp": 2, "ep": 2}, sequence_parallel) == [{}] * 2


@pytest.mark.parametrize("mode", MODES)
def test_experts_whose_copies_saw_other_tokens_add_their_gradients_up(mode):
    target, sizes = "hplint.apply.experts.expert_parallel", {"tp": 2, "cp": 2, "ep": 2}
    assert on_ranks(4, _sparse, mode, "qwen3", target, sizes, True) == [{}] * 4
    assert on_ranks(4, _sparse, mode, "qwen3", target, sizes, False) == [{}] * 4


def _listed(mode, sequence_parallel):
    from hplint.apply.mesh.meshes import build_meshes
    from hplint.apply.verify.verify import verify

    def make():
        return filled(Sparse("listed"))

    on = topology(sequence_parallel, tp=2, ep=2)
    plan = plan_for(make(), EXPERTS.format(target=f"{RECIPES}routed_only_ep_compute_fn"), on)
    assert set(plan.boundary("mlp").ep_stack) == {"experts.w1", "experts.w2", "experts.w3"}
    result = verify(make, plan, build_meshes(on), mode)
    assert {"mlp.experts.w1", "mlp.gate.weight"} <= {c.name for c in result.gradients}
    return result.agrees


@pytest.mark.parametrize("mode", MODES)
def test_experts_of_older_models_are_stacked_and_compute_the_same(mode):
    assert on_ranks(2, _listed, mode, True) == [True, True]


def _transformer(family, implementation, **more):
    import transformers

    config = getattr(transformers, f"{family}Config")(
        hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=32, attn_implementation=implementation, max_position_embeddings=32, **more,
    )  # fmt: skip
    return filled(getattr(transformers, f"{family}ForCausalLM")(config)).eval()


def _attention(mode, family, implementation, masked, more, sizes, length=8, wrapper="sdpa_hf"):
    model = _transformer(family, implementation, **more)
    plan = plan_for(
        model, WRAPPED["self"].replace("self_attn", '"*.self_attn"').replace("sdpa_hf", wrapper), topology(**sizes)
    )
    inputs = {
        "input_ids": torch.randint(0, 32, (2, length), generator=torch.Generator().manual_seed(2)),
        "position_ids": torch.arange(length).expand(2, length),
    }
    cut = {"input_ids": {"cp": 1}, "position_ids": {"cp": 1}}
    if masked:
        blocked = torch.full((length, length), torch.finfo(torch.float32).min).triu(1)
        inputs["attention_mask"] = blocked.expand(2, 1, length, length)
        cut["attention_mask"] = {"cp": 2}
    return differences(
        model, plan, inputs, mode=mode, cut=cut, layout={"cp": "shard(1)"}, output=lambda result: result.logits
    )


@pytest.mark.parametrize(
    "family, implementation, masked, more",
    [
        ("Llama", "sdpa", False, {}),
        ("Llama", "sdpa", True, {}),
        ("Llama", "eager", True, {}),
        ("Mistral", "sdpa", False, {"sliding_window": 5}),
        ("Gemma2", "eager", True, {"head_dim": 4, "sliding_window": 64}),
    ],
)
def test_attention_of_transformers_sees_the_keys_of_all_ranks(family, implementation, masked, more):
    assert on_ranks(2, _attention, "local", family, implementation, masked, more, {"cp": 2}) == [{}] * 2


@pytest.mark.parametrize(
    "family, implementation, masked, more",
    [
        ("Llama", "sdpa", False, {}),
        ("Llama", "eager", True, {}),
        ("Mistral", "sdpa", False, {"sliding_window": 5}),
    ],
)
def test_attention_of_transformers_exchanges_heads(family, implementation, masked, more):
    jobs = ("local", family, implementation, masked, more, {"cp": 2}, 8, "sdpa_hf_ulysses")
    assert on_ranks(2, _attention, *jobs) == [{}] * 2


@pytest.mark.parametrize("wrapper", ["sdpa_hf", "sdpa_hf_ulysses"])
def test_chunked_attention_whose_mask_may_be_left_out_is_refused(wrapper):
    more = {"layer_types": ["full_attention", "chunked_attention"]}
    with pytest.raises(RankError, match=r"layers\.1\.self_attn.* cannot tell the chunks of chunked attention"):
        on_ranks(2, _attention, "local", "Qwen2", "sdpa", False, more, {"cp": 2}, 8, wrapper)


def test_one_position_a_rank_needs_a_mask():
    with pytest.raises(RankError, match="has one position of the sequence on this rank"):
        on_ranks(2, _attention, "local", "Llama", "sdpa", False, {}, {"cp": 2}, 2)
    assert on_ranks(2, _attention, "local", "Llama", "sdpa", True, {}, {"cp": 2}, 2) == [{}] * 2


def test_eager_attention_of_transformers_is_wrapped_in_validate_mode_too():
    assert on_ranks(2, _attention, "validate", "Llama", "eager", True, {}, {"cp": 2}) == [{}] * 2


@pytest.mark.parametrize(
    "family, implementation, more, text",
    [
        ("Llama", "eager", {}, "the attention mask covers 4 keys, those of this rank alone; the cp axis gathers 8"),
        ("Mistral", "sdpa", {"sliding_window": 3}, "the attention mask covers 4 keys, those of this rank alone"),
        ("Llama", "flex_attention", {}, "catches `sdpa` and `eager` attention; the module runs `flex_attention`"),
    ],
)
def test_a_model_that_makes_its_masks_of_the_local_length_is_refused(family, implementation, more, text):
    with pytest.raises(RankError) as caught:
        on_ranks(2, _attention, "local", family, implementation, False, more, {"cp": 2})
    assert text in str(caught.value)
    assert "layers.0.self_attn" in str(caught.value)
