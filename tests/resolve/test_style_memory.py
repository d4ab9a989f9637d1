"""Bytes of parameters under plans of styles."""

from pathlib import Path

import pytest
from checking import fixture_tree, mesh_topology

from hplint.front.read import read_document
from hplint.plan.plan import Plan
from hplint.resolve.memory import ParameterMemory
from hplint.resolve.styles.memory import style_memory
from hplint.resolve.styles.show import styles_json
from hplint.resolve.topology import Topology

PLAN = """\
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

parallelize_module(model, tp_mesh, {
    "model.layers.*.mlp.up_proj": ColwiseParallel(),
    "model.layers.*.mlp.down_proj": RowwiseParallel(),
    "model.layers.*.mlp.gate_proj": unknown(),
    "lm_head": ColwiseParallel(),
})
"""


def plan_of(text: str) -> Plan:
    (plan,) = read_document("plan.py", text.encode()).plans
    return plan


def told(topology: Topology) -> dict[str, ParameterMemory]:
    found = style_memory(plan_of(PLAN), fixture_tree("llama"), topology)
    return {p.name: p for p in found.parameters}


def test_styles_cut_weights_along_their_dims() -> None:
    found = told(mesh_topology({"tp": 2}))
    up, down = found["model.layers.0.mlp.up_proj.weight"], found["model.layers.0.mlp.down_proj.weight"]
    assert (up.local * 2, up.cuts) == (up.whole, (("tp", 0),))
    assert (down.local * 2, down.cuts) == (down.whole, (("tp", 1),))


def test_modules_without_a_style_stay_whole() -> None:
    found = told(mesh_topology({"tp": 2}))["model.norm.weight"]
    assert (found.local, found.cuts, found.boundary) == (found.whole, (), None)


def test_a_cut_that_does_not_divide_counts_the_largest_share() -> None:
    head = told(mesh_topology({"tp": 3}))["lm_head.weight"]
    rows, columns = fixture_tree("llama").parameters["lm_head.weight"].shape
    assert rows % 3
    assert head.local == -(-rows // 3) * columns * 4


def test_without_a_size_nothing_is_cut_and_the_axis_is_named() -> None:
    found = style_memory(plan_of(PLAN), fixture_tree("llama"), Topology())
    assert (found.local, found.unsized) == (found.whole, ("tp",))


@pytest.mark.parametrize("name", ["helper_styles", "update_chain"])
def test_the_sum_is_what_plan_show_says(name: str, fixtures: Path) -> None:
    plan = plan_of((fixtures / "plans" / "torch" / f"{name}.py").read_text(encoding="utf-8"))
    tree, topology = fixture_tree("llama"), mesh_topology({"tp": 2})
    found = style_memory(plan, tree, topology)
    assert found.local == styles_json(plan, tree, topology)["coverage"]["bytes_per_rank"] < found.whole
