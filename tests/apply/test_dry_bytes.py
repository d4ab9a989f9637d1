"""What parameters take on a rank: stacks of experts, several dtypes, kinds of equal tensors."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
import torch.distributed as dist
from applying import plan_for, topology
from torch import nn

from hplint.apply.applier import apply_plan
from hplint.apply.dry_run.dry_bytes import MOST, parameter_bytes
from hplint.apply.mesh.meshes import build_meshes
from hplint.apply.plan import ApplyBoundary
from hplint.plan.placement import REPLICATE, shard


@pytest.fixture
def _four_ranks() -> Iterator[None]:
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    yield
    dist.destroy_process_group()


class Mixture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 4, bias=False)
        self.experts = nn.ModuleList(nn.Linear(8, 6, bias=False) for _ in range(4))


@pytest.mark.usefixtures("_four_ranks")
def test_stacked_experts_are_one_tensor_and_copies_on_edp_count_on_each_rank():
    with torch.device("meta"):
        model = Mixture()
    on = topology(dp=2, tp=2, ep=2)
    sources = tuple(f"experts.{i}.weight" for i in range(4))
    boundary = ApplyBoundary(
        "", ep_size=2, ep_stack={"experts.up": sources}, params={"experts.up": {"edp": REPLICATE, "ep": shard(0)}}
    )
    meshes = build_meshes(on, "cpu")
    applied = apply_plan(model, replace(plan_for(model, "", on), boundaries=(boundary,)), meshes)
    found = parameter_bytes(model, applied.layouts, meshes)
    assert found["bytes"] == {
        "sharded": 2 * 6 * 8 * 4, "replicated": 4 * 8 * 4, "total": 2 * 6 * 8 * 4 + 4 * 8 * 4,
        "unsharded": 4 * 6 * 8 * 4 + 4 * 8 * 4,
    }  # fmt: skip
    assert [(row["tensors"], row["shape"], row["cuts"]) for row in found["largest"]] == [
        (["experts.up"], [2, 6, 8], {"ep": 0}),
        (["gate.weight"], [4, 8], {}),
    ]


class Many(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4, bias=False) for _ in range(3))
        self.others = nn.ParameterDict({f"p{n}": nn.Parameter(torch.empty(n)) for n in range(1, MOST + 5)})
        self.low = nn.Parameter(torch.empty(1000, dtype=torch.bfloat16))
        self.register_buffer("table", torch.empty(10**6))


@pytest.mark.usefixtures("_four_ranks")
def test_the_ten_largest_kinds_are_listed_by_bytes_and_buffers_do_not_count():
    with torch.device("meta"):
        model = Many()
    found = parameter_bytes(model, {}, build_meshes(topology(tp=4), "cpu"))
    assert len(found["largest"]) == MOST and found["largest"] == found["largest_replicated"]
    first, second = found["largest"][:2]
    assert (first["tensors"], first["dtype"], first["bytes"]) == (["low"], "bfloat16", 2000)
    assert (second["tensors"], second["bytes"]) == ([f"layers.{i}.weight" for i in range(3)], 64)
    assert found["dtypes"] == {"float32": found["bytes"]["total"] - 2000, "bfloat16": 2000}
