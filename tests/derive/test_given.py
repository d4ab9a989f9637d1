"""Boundaries from a JSON file."""

import json
from pathlib import Path
from typing import Any

import pytest
from checking import check_text, fixture_tree, mesh_topology

from hplint.derive.derive import derive_boundaries
from hplint.derive.given import boundaries_from, read_boundaries
from hplint.errors import RequestError
from hplint.front.read import read_document
from hplint.resolve.resolver import resolve
from hplint.resolve.show import to_json


def test_what_plan_show_prints_is_read_back_to_the_same_plan() -> None:
    tree, topology = fixture_tree("qwen3_moe"), mesh_topology({"dp": 4, "tp": 2}, ep=2, sequence_parallel=True)
    empty = read_document("plan.yaml", b"plan_overrides: []\n").plans[0]
    shown = to_json(resolve(empty, tree, topology, derive_boundaries(tree, topology)), tree, topology)
    again = resolve(empty, tree, topology, boundaries_from(json.loads(json.dumps(shown))))
    assert to_json(again, tree, topology)["boundaries"] == shown["boundaries"]


def test_injections_are_read_back_too() -> None:
    text = """
    - match: model.layers.0.self_attn
      region_dispatch: false
      inner_target: o_proj
      inner_wrapper: sdpa_qkv
      inner_out_src: {tp: shard(1)}
    - match: model.layers.0.mlp
      region_dispatch: false
      local_compute_fn: {_target_: toy_kernels.fast_mlp}
    """
    tree, topology = fixture_tree("toy"), mesh_topology({"tp": 2})
    resolved = check_text(text, topology, tree)[1][0]
    assert resolved is not None
    shown = to_json(resolved, tree, topology)
    empty = read_document("plan.yaml", b"plan_overrides: []\n").plans[0]
    again = to_json(resolve(empty, tree, topology, boundaries_from(shown)), tree, topology)
    for fqn, boundary in again["boundaries"].items():
        assert boundary | {"mode": 0} == shown["boundaries"][fqn] | {"mode": 0}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ([], "must be an object"),
        ({"boundaries": 3}, "must be an object"),
        ({"m": 3}, "m: a boundary must be an object"),
        ({"m": {"parms": {}}}, "m: `parms` is no field of a boundary; did you mean `params`?"),
        ({"m": {"params": []}}, "m.params: layouts must be"),
        ({"m": {"params": {"w": "shard(0)"}}}, "m.params.w: a layout must be"),
        ({"m": {"params": {"w": {"tp": "shrd(0)"}}}}, "m.params.w.tp: `shrd(0)` is not a placement"),
        ({"m": {"region_dispatch": "no"}}, "m.region_dispatch: must be true or false"),
        ({"m": {"ep_size": 0}}, "m.ep_size: must be a whole number"),
        ({"m": {"out_names": "a"}}, "m.out_names: must be a list"),
        ({"m": {"inner_out_src": "last"}}, "m.inner_out_src: must be first_input"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(data: Any, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "boundaries.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(RequestError) as caught:
        read_boundaries(path)
    assert str(path) in caught.value.message
    assert reason in caught.value.message


def test_a_missing_file_and_text_that_is_not_json_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="cannot be read"):
        read_boundaries(tmp_path / "absent.json")
    for content in (b"{", b"\xff\xfe", b"[" * 100_000):
        (tmp_path / "bad.json").write_bytes(content)
        with pytest.raises(RequestError, match=r"bad\.json"):
            read_boundaries(tmp_path / "bad.json")


def test_the_negative_dim_of_templates_is_accepted() -> None:
    found = boundaries_from({"lm_head": {"out_src": {"output": {"tp": "shard(-1)"}}}})
    assert str((found["lm_head"].out_src or {})["output"].placements["tp"]) == "shard(-1)"


def test_globs_reach_given_boundaries_that_the_tree_lacks() -> None:
    plan = read_document("plan.yaml", b'- match: "*.ghost"\n  out_dst: none\n').plans[0]
    given = boundaries_from({"model.ghost": {"out_dst": {"output": {"tp": "replicate"}}}})
    resolved = resolve(plan, fixture_tree("toy"), mesh_topology({"tp": 2}), given)
    assert resolved.faults == ()
    assert resolved.boundaries["model.ghost"].out_dst is None
    assert given["model.ghost"].out_dst is not None
