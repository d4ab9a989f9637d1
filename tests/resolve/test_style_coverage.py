"""What plans of styles cut of a model, to the byte: the same figures in rules, in `plan show` and on the page."""

import pytest
from checking import fixture_tree, mesh_topology

from hplint.front.read import read_document
from hplint.model.tree import ModuleTree, Tensor
from hplint.plan.entry import Text
from hplint.plan.plan import Plan
from hplint.plan.style import TP_PLAN, Style, StyleEntry
from hplint.resolve.styles.coverage import Gap, StyleCoverage, style_coverage
from hplint.resolve.styles.cuts import style_cuts
from hplint.resolve.styles.memory import style_memory
from hplint.resolve.styles.resolved import ResolvedStyles, collected, resolve_styles
from hplint.resolve.styles.show import styles_json
from hplint.resolve.topology import Topology
from hplint.text.source import Source
from hplint.text.span import START

HEAD = "from torch.distributed.tensor.parallel import *\nfrom trainer import ExpertsParallel, NoParallel\n"


def plan_of(items: str, after: str = "") -> Plan:
    (plan,) = read_document("p.py", f"{HEAD}parallelize_module(model, m, {{{items}}})\n{after}".encode()).plans
    return plan


def covered(plan: Plan, tree: ModuleTree, topology: Topology) -> StyleCoverage:
    found = style_coverage(plan, tree, resolve_styles(plan, tree, topology), topology)
    held = style_memory(plan, tree, topology)
    shown = styles_json(plan, tree, topology)["coverage"]
    assert (held.whole, held.local) == (found.whole, found.per_rank) == (shown["bytes"], shown["bytes_per_rank"])
    return found


def typed(tree: ModuleTree, dtype: str) -> ModuleTree:
    """The same model in another dtype."""
    nodes = [
        n._replace(parameters={name: Tensor(t.shape, dtype, t.requires_grad) for name, t in n.parameters.items()})
        for n in tree.nodes
    ]
    return ModuleTree(
        classes=tree.classes, nodes=tuple(nodes), root=tree.root, aliases=tree.aliases, ties=tree.ties,
        config=tree.config,
    )  # fmt: skip


def words(**by_name: str) -> tuple[Plan, ResolvedStyles]:
    """A ``tp_plan`` whose entries hit modules or parameters by full names."""
    tree = fixture_tree("llama")
    entries = [
        StyleEntry(i, Text(name, START), Style(word, "hf", START), START)
        for i, (name, word) in enumerate((n.replace("__", "."), w) for n, w in by_name.items())
    ]
    plan = Plan(Source("p.json", ""), TP_PLAN, (), styles=tuple(entries))
    return plan, collected(plan, tree, {e.index: (e.key.value,) for e in entries if e.key}, {})


def test_unequal_parts_count_as_the_rank_that_holds_most_has_them() -> None:
    tree = fixture_tree("llama")
    rows, columns = tree.parameters["lm_head.weight"].shape
    found = covered(plan_of("'lm_head': ColwiseParallel()"), tree, mesh_topology({"tp": 3}))
    assert rows % 3
    assert found.whole - found.per_rank == (rows - -(-rows // 3)) * columns * 4
    assert found.cut == rows * columns * 4


@pytest.mark.parametrize(("dtype", "size"), [("float8_e4m3fn", 1), ("bfloat16", 2), ("complex128", 16), ("strange", 4)])
def test_bytes_go_by_the_dtype(dtype: str, size: int) -> None:
    tree = fixture_tree("llama")
    plan = plan_of("'model.layers.*.mlp.up_proj': ColwiseParallel()")
    topology = mesh_topology({"tp": 2})
    plain, found = covered(plan, tree, topology), covered(plan, typed(tree, dtype), topology)
    assert (found.whole, found.per_rank, found.cut) == tuple(
        n * size // 4 for n in (plain.whole, plain.per_rank, plain.cut)
    )


def test_norms_and_containers_that_other_runs_prepare_are_not_cut() -> None:
    text = HEAD + (
        "def f(model, m, sp):\n plan = {'lm_head': ColwiseParallel()}\n"
        " if sp:\n  plan['model.embed_tokens'] = SequenceParallel()\n"
        " else:\n  plan['model.norm'] = SequenceParallel()\n"
        " parallelize_module(model, m, plan)"
    )
    tree, topology = fixture_tree("llama"), mesh_topology({"tp": 2})
    for plan in read_document("p.py", text.encode()).plans:
        found = covered(plan, tree, topology)
        head = tree.parameters["lm_head.weight"].shape
        assert found.whole - found.per_rank == head[0] * head[1] * 4 // 2
        assert "model.embed_tokens.weight" in [g.name for g in found.largest]


def test_what_another_run_cuts_is_no_gap() -> None:
    text = HEAD + (
        "def f(model, m, moe):\n plan = {'lm_head': ColwiseParallel()}\n"
        " if moe:\n  plan['model.norm'] = SequenceParallel()\n"
        " else:\n  plan['model.layers.*.mlp.up_proj'] = ColwiseParallel()\n"
        " parallelize_module(model, m, plan)"
    )
    tree, topology = fixture_tree("llama"), mesh_topology({"tp": 2})
    first, then = (covered(p, tree, topology) for p in read_document("p.py", text.encode()).plans)
    assert (first.per_rank, first.cut) == (then.per_rank, then.cut)


def test_gaps_of_equal_layers_are_one_with_their_number() -> None:
    tree = fixture_tree("llama")
    found = covered(plan_of("'lm_head': ColwiseParallel()"), tree, mesh_topology({"tp": 2}))
    shape = tree.parameters["model.layers.0.mlp.up_proj.weight"].shape
    assert Gap("model.layers.*.mlp.up_proj.weight", 2 * shape[0] * shape[1] * 4, 2) in found.largest


@pytest.mark.parametrize(
    ("items", "after", "local"),
    [
        ("'output': ColwiseParallel()", "", 1.5),
        ("'tok_embeddings': RowwiseParallel()", "", 1.5),
        ("'tok_embeddings': RowwiseParallel(), 'output': ColwiseParallel()", "", 1.0),
        ("'tok_embeddings': RowwiseParallel(), 'output': ColwiseParallel()", "model.tie_weights()", 0.5),
        ("'norm': SequenceParallel()", "", 1.0),
    ],
)
def test_a_tie_that_the_plan_parts_takes_the_bytes_of_each_tensor(items: str, after: str, local: float) -> None:
    tree = fixture_tree("styled")
    rows, columns = tree.parameters["tok_embeddings.weight"].shape
    found = covered(plan_of(items, after), tree, mesh_topology({"tp": 2}))
    assert found.per_rank - found.whole == (local - 1) * rows * columns * 4


def test_a_rule_of_a_parameter_comes_before_that_of_its_module() -> None:
    tree, topology = fixture_tree("llama"), mesh_topology({"tp": 2})
    up = tree.parameters["model.layers.0.mlp.up_proj.weight"].shape
    plan, resolved = words(model__layers__0__mlp__up_proj="colwise")
    by_module = style_coverage(plan, tree, resolved, topology)
    plan, resolved = words(model__layers__0__mlp__up_proj__weight="colwise")
    by_parameter = style_coverage(plan, tree, resolved, topology)
    assert by_module.whole - by_module.per_rank == by_parameter.whole - by_parameter.per_rank == up[0] * up[1] * 4 // 2
    plan, resolved = words(model__layers__0__mlp__up_proj__weight="replicate", model__layers__0__mlp__up_proj="colwise")
    kept = style_coverage(plan, tree, resolved, topology)
    assert kept.per_rank == kept.whole


def test_experts_are_cut_by_the_axis_of_experts() -> None:
    tree = fixture_tree("llama")
    up = tree.parameters["model.layers.0.mlp.up_proj.weight"].shape
    plan, resolved = words(model__layers__0__mlp__up_proj="grouped_gemm")
    found = style_coverage(plan, tree, resolved, mesh_topology({"tp": 2, "ep": 4}))
    assert found.whole - found.per_rank == up[0] * up[1] * 4 * 3 // 4
    assert style_coverage(plan, tree, resolved, Topology(tp=2)).unsized == ("ep",)


def test_without_a_size_the_part_that_is_cut_is_told_and_no_bytes_of_a_rank() -> None:
    tree = fixture_tree("llama")
    shown = styles_json(plan_of("'lm_head': ColwiseParallel()"), tree, Topology())["coverage"]
    assert shown["bytes_per_rank"] is None
    assert shown["cut_bytes"] == 4 * 128 * 64


def test_nobody_knows_how_a_style_of_ones_own_cuts() -> None:
    tree, topology = fixture_tree("llama"), mesh_topology({"tp": 2})
    plan = plan_of("'lm_head': ExpertsParallel(), 'model.embed_tokens': NoParallel()")
    resolved = resolve_styles(plan, tree, topology)
    whole = {c.name for c in style_cuts(plan, tree, resolved) if not c.is_unread}
    assert "model.embed_tokens.weight" in whole
    assert "lm_head.weight" not in whole
