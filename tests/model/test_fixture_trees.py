"""The trees under fixtures/trees are what a fresh build gives. ``--update-trees`` rewrites them."""

import json
from pathlib import Path
from typing import Any

import pytest

from hplint.model.spec import parse_spec
from hplint.model.tree import ModuleTree

ROOT = Path(__file__).parent.parent.parent
CONFORMANCE = "fixtures/conformance"
SPECS = {path.parent.name: f"hf:{CONFORMANCE}/models/{path.parent.name}" for path in ROOT.glob(f"{CONFORMANCE}/models/*/config.json")}  # fmt: skip # noqa: E501
SPECS |= {name: f"py:{CONFORMANCE}/toy_models.py:{name}" for name in ("toy", "toy_bias", "toy_odd")}
SPECS |= {
    path.parent.name: f"hf:fixtures/configs/{path.parent.name}"
    for path in ROOT.glob("fixtures/configs/*/config.json")
    if not path.parent.name.startswith("tiny_")  # those are run, and have no tree
}
STAND_INS = ("llama3_8b_aux", "dispatching_moe_8x7b", "qwen3_moe_shared", "jt_deepseek_v3", "deepseek_v41")
SPECS |= {name: f"py:fixtures/models/stand_ins.py:{name}" for name in STAND_INS}
DECODERS = ("titan_dense", "titan_latent", "fused_qkv", "lit")
SPECS |= {name: f"py:fixtures/models/decoders.py:{name}" for name in DECODERS}


def fresh(text: str) -> ModuleTree:
    from hplint.model.build import _request
    from hplint.model.make_model import make_model
    from hplint.model.read_tree import read_tree

    spec = parse_spec(text, ROOT)
    return read_tree(make_model(_request(spec, (), "", None)), text)


@pytest.mark.parametrize("name", sorted(SPECS))
def test_a_stored_tree_is_what_a_fresh_build_gives(name: str, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("torch")
    if SPECS[name].startswith("hf:") or name in STAND_INS:
        pytest.importorskip("transformers")
    path = ROOT / "fixtures" / "trees" / f"{name}.json"
    built: dict[str, Any] = json.loads(json.dumps(fresh(SPECS[name]).to_json()))
    if request.config.getoption("--update-trees"):
        path.write_text(json.dumps(built) + "\n", encoding="utf-8")
    assert built == json.loads(path.read_text(encoding="utf-8"))


def test_no_stored_tree_names_a_place_of_this_machine() -> None:
    for path in (ROOT / "fixtures" / "trees").glob("*.json"):
        assert "_name_or_path" not in path.read_text(encoding="utf-8")
