"""--verify within rounding: outputs and every gradient of decoders from transformers and of the toy models."""

import itertools

import pytest
from ranks import RANKS, on_ranks
from verifying import verified

pytestmark = [RANKS, pytest.mark.filterwarnings("ignore")]
MODES = ("local", "validate")
TP, CP, BOTH, DP, DP_TP = {"tp": 2}, {"cp": 2}, {"cp": 2, "tp": 2}, {"dp": 2}, {"dp": 2, "tp": 2}
DENSE = {"tiny_llama": "dense.yaml", "tiny_qwen2": "dense.yaml"}
TIED = {"tiny_llama_tied": "dense_tied.yaml"}
TOYS = {"toy": "toy.yaml", "toy_bias": "toy.yaml"}
WHOLE_EXPERTS = {
    "tiny_qwen3_moe": "experts_whole.yaml",
    "tiny_mixtral": "experts_whole.yaml",
    "tiny_deepseek_v3": "experts_whole_dense_first.yaml",
}
EXPERTS = {
    "tiny_qwen3_moe": "experts.yaml",
    "tiny_mixtral": "experts.yaml",
    "tiny_deepseek_v3": "experts_dense_first.yaml",
}


def _cases(plans, meshes, ep=1):
    for (model, plan), mesh, mode in itertools.product(plans.items(), meshes, MODES):
        # Both ways on tp alone; on four ranks each way in one of the modes.
        both = (False, True) if mesh == TP else (mode == "local",)
        for sequence_parallel in both if "tp" in mesh else (False,):
            name = "-".join([model, *mesh, mode, *(["sequence"] if sequence_parallel else [])])
            yield pytest.param(model, plan, mesh, ep, mode, sequence_parallel, id=name)


def _verified(model, plan, mesh, ep, mode, sequence_parallel):
    return verified(model, plan, mesh, mode, ep=ep, sequence_parallel=sequence_parallel)


def _agree(model, plan, mesh, ep, mode, sequence_parallel):
    ranks = 1
    for size in mesh.values():
        ranks *= size
    results = on_ranks(ranks, _verified, model, plan, mesh, ep, mode, sequence_parallel, timeout=180)
    for result in results:
        wrong = [c for c in result["outputs"] + result["gradients"] if not c["agrees"]]
        assert (result["fault"], wrong, result["first_difference"]) == (None, [], None)
        assert result["agrees"] and len(result["outputs"]) == 1
    return results[0]


@pytest.mark.parametrize(
    ("model", "plan", "mesh", "ep", "mode", "sequence_parallel"),
    [
        *_cases(DENSE, (TP, CP, BOTH)),
        *_cases(TIED, (TP, CP)),
        *_cases(TOYS, (TP, CP, BOTH)),
        *_cases({"toy": "toy.yaml"}, (DP_TP,)),
    ],
)
def test_a_sharded_dense_model_computes_the_same(model, plan, mesh, ep, mode, sequence_parallel):
    result = _agree(model, plan, mesh, ep, mode, sequence_parallel)
    assert len(result["gradients"]) >= 20


@pytest.mark.parametrize(
    ("model", "plan", "mesh", "ep", "mode", "sequence_parallel"),
    _cases(WHOLE_EXPERTS, (TP, CP)),
)
def test_experts_that_are_whole_on_every_rank_compute_the_same(model, plan, mesh, ep, mode, sequence_parallel):
    _agree(model, plan, mesh, ep, mode, sequence_parallel)


@pytest.mark.parametrize(
    ("model", "plan", "mesh", "ep", "mode", "sequence_parallel"),
    _cases(EXPERTS, (DP, TP, BOTH), ep=2),
)
def test_experts_spread_over_ranks_compute_the_same(model, plan, mesh, ep, mode, sequence_parallel):
    result = _agree(model, plan, mesh, ep, mode, sequence_parallel)
    assert any("experts" in c["name"] for c in result["gradients"])
