"""Expert parallelism on models with and without experts."""

import pytest
from checking import check_text, fixture_tree, mesh_topology

ENTRY = "- match: lm_head\n  params: auto\n"


def messages(model: str, **flags: int) -> list[str]:
    topology = mesh_topology({"dp": 2, "tp": 2}, **flags)
    return [d.message for d in check_text(ENTRY, topology, fixture_tree(model))[0] if d.code in ("HPL211", "HPL802")]


@pytest.mark.parametrize("model", ["llama", "qwen3_8b", "gemma2"])
def test_a_dense_model_has_no_experts_to_spread(model: str) -> None:
    (one,) = messages(model, ep=2)
    assert one.startswith("the model has no experts, but ep = 2")
    assert messages(model, ep=1) == []


@pytest.mark.parametrize(
    "model", ["qwen3_moe", "mixtral", "deepseek_v3", "qwen2_moe", "kimi_k2_6", "dispatching_moe_8x7b"]
)
def test_a_model_with_experts_is_not_taken_for_a_dense_one(model: str) -> None:
    assert not any("has no experts" in m for m in messages(model, ep=4))


def test_a_model_without_a_configuration_is_not_judged() -> None:
    assert messages("toy", ep=2) == []


def test_a_count_of_experts_goes_by_the_names_that_it_may_have() -> None:
    assert any("`num_local_experts`, or `num_experts`" in m for m in messages("qwen3_moe", ep=3))
    assert any("(`n_routed_experts`)" in m for m in messages("deepseek_v3", ep=3))
