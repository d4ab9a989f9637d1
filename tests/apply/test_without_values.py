"""Regions that cannot run without values do not break a dry run, and it says what it left out."""

from pathlib import Path

import pytest
from applying import topology
from dry_running import dry, rows, sent

from hplint.apply.errors import ApplyFailed, BoundaryError, CannotApply

ON = topology(True, tp=2, seq_len=16)

KERNELS = """
import torch
from hplint.apply import inner_wrapper, local_compute

@local_compute
def reads_values(mesh, tp_mesh, cp_mesh, ep_mesh):
    def compute(module, x):
        if float(x.sum()) > 0:
            return module.down_proj(module.gate_proj(x) * module.up_proj(x))
        return x
    return compute

@local_compute
def no_backward(mesh, tp_mesh, cp_mesh, ep_mesh):
    class Kernel(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()
        @staticmethod
        def backward(ctx, grad):
            raise RuntimeError("acme: no such device")
    def compute(module, x):
        return module.down_proj(Kernel.apply(module.gate_proj(x)) * module.up_proj(x))
    return compute

@local_compute
def breaks_while_built(mesh, tp_mesh, cp_mesh, ep_mesh, module):
    raise OSError("acme: no such device")

@local_compute
def routes_by_values(mesh, tp_mesh, cp_mesh, ep_mesh):
    def compute(module, hidden_states):
        return hidden_states[hidden_states.sum(-1) > 0]
    return compute

@inner_wrapper
def reads_keys(target_module, mesh, tp_mesh, cp_mesh, ep_mesh):
    forward = target_module.forward
    def wrapped(hidden_states, *args, **kwargs):
        if hidden_states.max().item() > 1e9:
            raise ValueError
        return forward(hidden_states, *args, **kwargs)
    return wrapped
"""

MODELS = """
import torch
from torch import nn

class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(8, 8))
    def forward(self, x):
        return x * (x @ self.weight)[x.sum(-1) > 0].shape[0]

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = Router()
    def forward(self, x):
        return x + self.router(x)

class Unknown(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Identity()
        self.factor = nn.Parameter(torch.empty(()))
    def forward(self, x):
        return self.scale(x) * self.factor

class Routing(nn.Module):
    def __init__(self, values=False, width=8):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(3))
        self.values = values
        self.head = nn.Linear(width, 8)
    def forward(self, x):
        if self.values and x.sum() > 0:
            return x
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

made = Routing()
"""

WHOLE = """
- match: "layers.*.router"
  params: {weight: {tp: shard(1)}}
  in_src: {x: {tp: replicate}}
  in_dst: {x: {tp: replicate}}
  out_src: {output: {tp: partial}}
  out_dst: {output: {tp: replicate}}
- match: head
  params: {weight: {tp: shard(0)}, bias: {tp: shard(0)}}
  in_src: {input: {tp: replicate}}
  in_dst: {input: {tp: replicate}}
  out_src: {output: {tp: shard(2)}}
  out_dst: {output: {tp: replicate}}
"""


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    (tmp_path / "acme_on_meta.py").write_text(KERNELS, encoding="utf-8")
    (tmp_path / "acme_not_here.py").write_text("import acme_native\n", encoding="utf-8")
    (tmp_path / "routing.py").write_text(MODELS, encoding="utf-8")
    return tmp_path


def injected(target: str, match: str = "*.mlp", field: str = "local_compute_fn", **more: str) -> str:
    extra = "".join(f"  {key}: {value}\n" for key, value in more.items())
    return f'- match: "{match}"\n  region_dispatch: false\n  {field}: {{_target_: {target}}}\n{extra}'


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("acme_not_here.fused", "needs the module `acme_native`, which is not installed here"),
        ("acme_on_meta.reads_values", "RuntimeError: "),
        ("acme_on_meta.no_backward", "RuntimeError: acme: no such device"),
        ("acme_on_meta.breaks_while_built", "fails: OSError: acme: no such device"),
    ],
)
def test_the_own_forward_of_a_module_runs_for_a_function_that_cannot(target, reason, kernels):
    found = dry("tiny_llama", injected(target), ON, src=(str(kernels),))
    plain = dry("tiny_llama", "  []", ON)
    [left_out] = found["not_counted"]
    assert left_out["function"] == target and left_out["instead"] == "own forward"
    assert left_out["reason"].startswith(reason)
    assert left_out["modules"] == ["model.layers.0.mlp", "model.layers.1.mlp"]
    assert rows(found) == rows(plain) and found["parameters"] == plain["parameters"]


def test_inputs_that_cannot_be_made_up_leave_the_parameters(kernels):
    plan = "- match: scale\n  params: {}\n"
    found = dry(f"py:{kernels / 'routing.py'}:Unknown", plan, ON)
    [left_out] = found["not_counted"]
    assert left_out["reason"] == "cannot make up the input `x` of Unknown: no parameter tells its size"
    assert found["parameters"]["bytes"]["total"] == 4


def test_a_module_whose_own_forward_does_not_fit_either_is_shaped_like_its_input(kernels):
    layouts = """{gate_proj.weight: {tp: shard(0)}, up_proj.weight: {tp: shard(0)}, down_proj.weight: {tp: shard(0)}}"""
    found = dry("tiny_llama", injected("acme_not_here.fused", params=layouts), ON, src=(str(kernels),))
    [left_out] = found["not_counted"]
    assert (left_out["function"], left_out["instead"]) == ("acme_not_here.fused", "shape of the input")
    assert rows(found) == rows(dry("tiny_llama", "  []", ON))


def test_a_wrapper_that_reads_values_is_left_out(kernels):
    text = injected("acme_on_meta.reads_keys", "*.self_attn", "inner_wrapper", inner_target="self")
    found = dry("tiny_llama", text, ON, src=(str(kernels),))
    assert [(o["function"], o["instead"]) for o in found["not_counted"]] == [("acme_on_meta.reads_keys", "own forward")]
    assert rows(found) == rows(dry("tiny_llama", "  []", ON))


def test_an_expert_function_that_routes_by_values_is_counted_as_hplints_own_exchange(kernels):
    on = topology(tp=2, ep=2, seq_len=16)
    found = dry("tiny_mixtral", injected("acme_on_meta.routes_by_values"), on, src=(str(kernels),))
    own = dry("tiny_mixtral", injected("hplint.apply.experts.expert_parallel"), on)
    [left_out] = found["not_counted"]
    assert (left_out["function"], left_out["instead"]) == ("acme_on_meta.routes_by_values", "own exchange of tokens")
    assert rows(found, estimated=True) == rows(own, estimated=True) and own["not_counted"] == []
    assert found["gradients"] == own["gradients"]


def test_experts_that_hplints_own_exchange_does_not_know_either_are_shaped_like_their_input(kernels, monkeypatch):
    def cannot(module, normalised):
        raise CannotApply("finds no router")

    monkeypatch.setattr("hplint.apply.experts.parallel.router_of", cannot)
    on = topology(tp=2, ep=2, seq_len=16)
    found = dry("tiny_mixtral", injected("acme_not_here.routed"), on, src=(str(kernels),))
    [left_out] = found["not_counted"]
    assert (left_out["function"], left_out["instead"]) == ("acme_not_here.routed", "shape of the input")
    assert {row["axis"] for b in found["boundaries"] for row in b["communication"]} == {"tp"}


def test_a_shipped_function_that_does_not_fit_its_module_is_refused_as_when_applied():
    text = injected("sdpa_qkv", "*.self_attn", "inner_wrapper", inner_target="self").replace(
        "{_target_: sdpa_qkv}", "sdpa_qkv"
    )
    with pytest.raises(ApplyFailed, match="needs a forward with the parameters"):
        dry("tiny_llama", text, topology(cp=2, seq_len=16))


def test_a_forward_that_routes_by_values_is_shaped_like_its_input_at_all_boundaries_of_its_kind(kernels):
    found = dry(f"py:{kernels / 'routing.py'}:Routing", WHOLE, ON)
    [left_out] = found["not_counted"]
    assert left_out["modules"] == [f"layers.{i}.router" for i in range(3)] and left_out["function"] is None
    assert left_out["instead"] == "shape of the input"
    size = 16 * 8 * 4
    assert sent(found, "layers.1.router") == [
        ("output", "forward", "all-reduce", "tp", size),
        ("x", "backward", "all-reduce", "tp", size),
    ]
    assert [row[2] for row in sent(found, "head")] == ["all-gather", "all-reduce"]


def test_a_spec_may_name_a_module_itself(kernels):
    found = dry(f"py:{kernels / 'routing.py'}:made", WHOLE, ON)
    assert len(sent(found, "layers.1.router")) == 2 == len(sent(found, "head"))


def test_a_model_that_reads_values_outside_of_boundaries_still_gets_its_parameters_counted(kernels):
    found = dry(f"py:{kernels / 'routing.py'}:Routing?values=True", WHOLE, ON)
    [left_out] = found["not_counted"]
    assert (left_out["modules"], left_out["instead"]) == ([], "nothing")
    assert found["boundaries"] == [] == found["gradients"]
    assert found["parameters"]["bytes"]["total"] == 4 * (3 * 8 * 8 + 8 * 8 + 8) // 2


def test_a_model_that_does_not_run_on_meta_for_other_reasons_is_told_the_same_way():
    # The kernel that transformers runs experts with takes bfloat16 alone there.
    found = dry("tiny_mixtral", "experts_whole.yaml", ON)
    [left_out] = found["not_counted"]
    assert left_out["modules"] == ["model.layers.0.mlp", "model.layers.1.mlp"]
    assert left_out["instead"] == "shape of the input"
    assert [row[2] for row in sent(found, "model.layers.0.self_attn")] == [
        "all-gather", "reduce-scatter", "all-gather", "reduce-scatter"
    ]  # fmt: skip


def test_a_plan_whose_shapes_do_not_fit_is_an_error_and_nothing_to_leave_out():
    column = ", ".join(f"{name}.weight: {{tp: shard(0)}}" for name in ("gate_proj", "up_proj"))
    wrong = f'- match: "*.mlp"\n  params: {{{column}, down_proj.weight: {{tp: replicate}}}}\n'
    with pytest.raises(BoundaryError, match=r"the forward of `model\.layers\.0\.mlp` raised RuntimeError: ") as told:
        dry("tiny_llama", wrong, ON)
    assert "the unsharded model runs" in told.value.hint


def test_a_sequence_that_an_axis_does_not_divide_is_an_error():
    with pytest.raises(BoundaryError, match="which tp=2 does not divide"):
        dry("tiny_llama", "  []", topology(True, tp=2, seq_len=15))
