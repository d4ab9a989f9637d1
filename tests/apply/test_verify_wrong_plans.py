"""Plans that are wrong on purpose: --verify or validate mode catches each, and names the boundary."""

import pytest
from ranks import RANKS, RankError, on_ranks
from verifying import unlinted, verified

pytestmark = [RANKS, pytest.mark.filterwarnings("ignore")]
TP = {"tp": 2}
MISSING_REDUCTION = """
- match: model.layers.0.mlp
  out_src: {output: {tp: replicate}}
  out_dst: {output: {tp: replicate}}
"""
WRONG_LAYOUT = """
- match: model.layers.1.mlp
  out_src: {output: {tp: shard(2)}}
  out_dst: {output: {tp: replicate}}
"""
WRONG_HEAD_LAYOUT = """
- match: lm_head
  out_src: {output: {tp: shard(1)}}
  out_dst: {output: {tp: replicate}}
"""
SWAPPED = """
- match: model.layers.1.mlp
  params:
    gate_proj.weight: {tp: shard(1)}
    up_proj.weight: {tp: shard(1)}
    down_proj.weight: {tp: shard(0)}
"""
SWAPPED_ATTENTION = """
- match: model.layers.0.self_attn
  params:
    q_proj.weight: {tp: shard(1)}
    k_proj.weight: {tp: shard(1)}
    v_proj.weight: {tp: shard(1)}
    o_proj.weight: {tp: shard(0)}
"""
SEQUENCE_FORGOTTEN = """
- match: model.layers.1.self_attn
  in_src: {hidden_states: {tp: replicate}}
  in_dst: {hidden_states: {tp: replicate}}
"""
COUNTED_TWICE = """
- match: model.norm
  out_src: {output: {tp: partial}}
  out_dst: {output: {tp: replicate}}
"""


def _told(plan, mode, sequence_parallel=False, model="tiny_llama"):
    results = on_ranks(2, unlinted, model, plan, sequence_parallel, mode, TP, timeout=120)
    assert not any(r["agrees"] for r in results)
    return results[0]


@pytest.mark.parametrize(
    ("plan", "boundary"),
    [
        (MISSING_REDUCTION, "model.layers.0.mlp"),
        (WRONG_HEAD_LAYOUT, "lm_head"),
        (COUNTED_TWICE, "model.norm"),
    ],
)
def test_a_wrong_contract_differs_at_its_boundary(plan, boundary):
    result = _told(plan, "local")
    assert (result["first_difference"], result["fault"]) == (boundary, None)
    assert [c["name"] for c in result["outputs"] if not c["agrees"]] == ["logits"]


@pytest.mark.parametrize(
    ("plan", "boundary", "behind", "sequence_parallel"),
    [
        (WRONG_LAYOUT, "model.layers.1.mlp", True, False),
        (SWAPPED, "model.layers.1.mlp", False, False),
        (SWAPPED_ATTENTION, "model.layers.0.self_attn", False, False),
        (SEQUENCE_FORGOTTEN, "model.layers.1.self_attn", False, True),
    ],
)
def test_shapes_that_do_not_fit_stop_the_run_at_their_boundary(plan, boundary, behind, sequence_parallel):
    result = _told(plan, "local", sequence_parallel)
    assert result["first_difference"] == result["fault"]["boundary"] == boundary
    assert result["fault"]["behind"] is behind
    assert result["fault"]["message"].startswith("the sharded forward raised RuntimeError: ")


@pytest.mark.parametrize(
    ("plan", "boundary", "declared", "actual"),
    [
        (MISSING_REDUCTION, "model.layers.0.mlp", "replicate", "partial"),
        (WRONG_LAYOUT, "model.layers.1.mlp", "shard(2)", "partial"),
        (WRONG_HEAD_LAYOUT, "lm_head", "shard(1)", "shard(2)"),
        (COUNTED_TWICE, "model.norm", "partial", "replicate"),
    ],
)
def test_validate_mode_names_the_layout_that_was_declared_and_the_one_that_came(plan, boundary, declared, actual):
    result = _told(plan, "validate")
    fault = result["fault"]
    assert (result["first_difference"], fault["boundary"]) == (boundary, boundary)
    assert (fault["declared"]["tp"], fault["actual"]["tp"]) == (declared, actual)


def test_a_gradient_that_alone_is_wrong_names_the_boundary_that_owns_it(tmp_path):
    (tmp_path / "careless.py").write_text(
        "from hplint.apply import local_compute\n"
        "@local_compute\n"
        "def detached(mesh, tp_mesh, cp_mesh, ep_mesh):\n"
        "    def compute(module, x):\n"
        "        gate = module.act_fn(module.gate_proj(x)).detach()\n"
        "        return module.down_proj(gate * module.up_proj(x))\n"
        "    return compute\n",
        encoding="utf-8",
    )
    plan = (
        "plan_overrides:\n  - match: model.layers.1.mlp\n    region_dispatch: false\n"
        "    local_compute_fn: {_target_: careless.detached}\n"
    )
    results = on_ranks(2, verified, "tiny_llama", plan, TP, "local", 1, (str(tmp_path),), timeout=120)
    wrong = [c["name"] for c in results[0]["gradients"] if not c["agrees"]]
    assert "model.layers.1.mlp.gate_proj.weight" in wrong and "lm_head.weight" not in wrong
    assert all(c["agrees"] for c in results[0]["outputs"])
    assert results[0]["first_difference"] == "model.layers.1.mlp"


def test_experts_without_a_function_that_computes_them_are_refused():
    with pytest.raises(RankError, match="HPL411"):
        on_ranks(2, verified, "tiny_mixtral", "plan_overrides:\n  []\n", TP, "local", 2, timeout=120)
