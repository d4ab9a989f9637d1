"""Plans in the shapes of public repositories: each is read as a whole, and right on the model that it is for."""

from pathlib import Path

import pytest
from checking import FIXTURES, engine, fixture_tree, mesh_topology

from hplint.front.read import read_document
from hplint.lint.diagnostic import Diagnostic

PLANS = sorted((FIXTURES / "plans" / "torch").glob("*.py"))


def told(path: Path, text: str, tp: int = 2) -> list[Diagnostic]:
    document = read_document(path.as_posix(), text.encode())
    (model,) = (d.value for d in document.directives if d.key == "model")
    tree, topology = fixture_tree(Path(model).stem), mesh_topology({"tp": tp})
    found = engine().check_document(document)
    for plan in document.plans:
        found += engine().check(plan, tree, topology)[0]
    return found


@pytest.mark.parametrize("path", PLANS, ids=lambda p: p.stem)
def test_a_plan_that_runs_has_no_findings(path: Path) -> None:
    found = told(path, path.read_text(encoding="utf-8"))
    # The blocks of one fixture hold what no plan can cut.
    assert [d for d in found if (d.code, path.stem) != ("HPL612", "named_blocks")] == []


@pytest.mark.parametrize(
    ("name", "old", "new", "code"),
    [
        ("trainer_dense", '"attention.wo"', '"attention.w0"', "HPL601"),
        ("trainer_dense", '"feed_forward.w3": colwise_parallel()', '"feed_forward.w3": rowwise_parallel()', "HPL606"),
        ("trainer_dense", "input_layouts=(Shard(1), Replicate(), None, positions_sharding)",
         "input_layouts=(Shard(1), Replicate(), None, positions_sharding, None)", "HPL609"),
        ("trainer_latent", '"attention.wkv_b": C', '"attention.wkv_B": C', "HPL601"),
        ("trainer_latent", '"moe.shared_experts.w2": RowwiseParallel(output_layouts=Partial())',
         '"moe.shared_experts.w2": ColwiseParallel()', "HPL606"),
        ("fused_projection", "FusedColwise(attn.head_dim * attn.n_head, kv_size, kv_size)", "ColwiseParallel()",
         "HPL607"),
        ("fused_projection", "RowwiseParallel(input_layouts=Replicate())", "RowwiseParallel()", "HPL610"),
        ("strategy_hook", '"attn.proj"', '"attn.prj"', "HPL601"),
        ("plans_by_class", '"model.layers.*.mlp.up_proj"', '"layers.*.mlp.up_proj"', "HPL601"),
        ("plans_by_class", "{LlamaDecoderLayer,", "{LlamaDecoderLayr,", "HPL613"),
        ("recipe_plan", '"attention.wk"', '"attention.wkk"', "HPL601"),
        ("recipe_plan", '"norm": SequenceParallel()', '"norm": ColwiseParallel()',
         "HPL602"),
        ("every_module", '"wo": RowwiseParallel()', '"woo": RowwiseParallel()', "HPL601"),
    ],
)  # fmt: skip
def test_a_slip_in_it_is_found(name: str, old: str, new: str, code: str) -> None:
    path = FIXTURES / "plans" / "torch" / f"{name}.py"
    text = path.read_text(encoding="utf-8")
    assert old in text
    found = {d.code for d in told(path, text.replace(old, new)) if d.severity != "info"}
    assert found == {code}


def test_a_size_that_parts_heads_is_found_in_whatever_shape() -> None:
    for name in ("trainer_dense", "plans_by_class"):
        path = FIXTURES / "plans" / "torch" / f"{name}.py"
        assert "HPL605" in {d.code for d in told(path, path.read_text(encoding="utf-8"), tp=8)}
