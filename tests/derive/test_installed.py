"""Boundaries from an installed HyperParallel, for which a stub package stands in."""

from pathlib import Path

import pytest
from checking import fixture_tree, mesh_topology

from hplint.derive.installed import plan_boundaries
from hplint.errors import RequestError

STUB = """
print("chatter on the standard output")

class Shard:
    def __init__(self, dim): self.dim = dim
class Replicate: pass
class _Partial: pass

class Spec:
    def __init__(self, **fields):
        for name in ("params", "in_src", "in_dst", "out_src", "out_dst", "region_dispatch"):
            setattr(self, name, fields.get(name))

class Plan:
    def __init__(self, specs): self.specs, self.loss_parallel = specs, False

class ShardingPlanner:
    def __init__(self, plan_overrides, derive=True, allow_uncovered_params=False):
        assert plan_overrides == {} and derive

    def plan(self, model, mesh, tp_size, cp_size, ep_size, sequence_parallel=True, loss_parallel=False):
        assert (mesh.mesh_dim_names, mesh.shape, tp_size) == (("dp", "tp"), (2, 4), 4)
        BROKEN
        names = dict(model.named_modules())
        assert type(names["model.layers.0.mlp"]).__name__ == "GatedMLP"
        assert names["model.layers.0.mlp.up_proj"].weight.is_meta
        return Plan({"model.layers.0.mlp": Spec(
            params={"up_proj.weight": {"tp": Shard(0)}},
            out_src={"output": {"tp": _Partial()}}, out_dst={"output": {"tp": Replicate()}})})
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    package = folder / "hyper_parallel" / "distributed"
    package.mkdir(parents=True)
    (folder / "hyper_parallel" / "__init__.py").write_text("")
    (package / "__init__.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_an_installed_planner_gives_the_boundaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, STUB.replace("BROKEN", "pass"))
    found = plan_boundaries(fixture_tree("toy"), mesh_topology({"dp": 2, "tp": 4}))
    assert list(found) == ["model.layers.0.mlp"]
    boundary = found["model.layers.0.mlp"]
    assert str((boundary.params or {})["up_proj.weight"].placements["tp"]) == "shard(0)"
    assert str((boundary.out_src or {})["output"].placements["tp"]) == "partial"
    assert boundary.in_src is None


def test_a_planner_that_fails_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, STUB.replace("BROKEN", 'raise ValueError("no\\nway")'))
    with pytest.raises(RequestError) as caught:
        plan_boundaries(fixture_tree("toy"), mesh_topology({"dp": 2, "tp": 4}))
    assert caught.value.message == "HyperParallel's planner failed: ValueError: no"


def test_without_an_installed_planner_one_line_says_so() -> None:
    with pytest.raises(RequestError) as caught:
        plan_boundaries(fixture_tree("toy"), mesh_topology({"dp": 2, "tp": 4}))
    assert caught.value.message == 'planner = "hyper_parallel", but HyperParallel is not installed here'
    assert caught.value.hint
