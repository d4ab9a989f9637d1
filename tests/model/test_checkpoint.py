"""Trees of safetensors checkpoints, whole and damaged."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hplint.model.checkpoint import read_checkpoint
from hplint.model.failure import ModelError
from hplint.model.tree import Tensor


def write(path: Path, tensors: dict[str, list[int]], dtype: str = "BF16") -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    header |= {name: {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]} for name, shape in tensors.items()}
    data = json.dumps(header).encode()
    path.write_bytes(len(data).to_bytes(8, "little") + data)


def sharded(folder: Path, shards: dict[str, dict[str, list[int]]]) -> None:
    places = {}
    for file, tensors in shards.items():
        write(folder / file, tensors)
        places |= dict.fromkeys(tensors, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


def reason(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        read_checkpoint(str(path))
    return caught.value.reason


LAYER = {"q_proj.weight": [8, 8], "q_proj.bias": [8]}


def layers(*numbers: int) -> dict[str, list[int]]:
    return {f"model.layers.{n}.self_attn.{name}": shape for n in numbers for name, shape in LAYER.items()}


def test_modules_are_inferred_from_names_and_layers_stand_in_natural_order(tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", {**layers(10, 2, 0), "model.norm.weight": [8]})
    tree = read_checkpoint(str(tmp_path))
    assert list(tree.modules) == [
        "", "model", "model.layers",
        "model.layers.0", "model.layers.0.self_attn", "model.layers.0.self_attn.q_proj",
        "model.layers.2", "model.layers.2.self_attn", "model.layers.2.self_attn.q_proj",
        "model.layers.10", "model.layers.10.self_attn", "model.layers.10.self_attn.q_proj",
        "model.norm",
    ]  # fmt: skip
    assert tree.parameters["model.layers.2.self_attn.q_proj.weight"] == Tensor((8, 8), "bfloat16", True)
    assert not tree.has_classes and tree.class_name == "" and tree.modules["model"].forward is None
    assert len(tree.nodes) == 7, "equal layers are one node"


def test_shards_are_read_through_the_index(tmp_path: Path) -> None:
    sharded(tmp_path, {"a-1.safetensors": layers(0), "a-2.safetensors": layers(1)})
    assert len(read_checkpoint(str(tmp_path)).parameters) == 4


def test_several_files_without_an_index_make_one_model(tmp_path: Path) -> None:
    write(tmp_path / "a.safetensors", layers(0))
    write(tmp_path / "b.safetensors", layers(1))
    assert len(read_checkpoint(str(tmp_path)).parameters) == 4


def test_a_single_file_may_be_named(tmp_path: Path) -> None:
    write(tmp_path / "a.safetensors", layers(0), dtype="F8_E4M3")
    write(tmp_path / "b.safetensors", layers(1))
    tree = read_checkpoint(str(tmp_path / "a.safetensors"))
    assert {t.dtype for t in tree.parameters.values()} == {"float8_e4m3fn"} and len(tree.parameters) == 2


def test_the_configuration_beside_it_gives_numbers(tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", layers(0))
    (tmp_path / "config.json").write_text('{"num_experts": 8}')
    assert read_checkpoint(str(tmp_path)).config == {"num_experts": 8}


def test_a_causal_model_without_a_head_has_it_tied_to_the_embedding(tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", {"model.embed_tokens.weight": [32, 8]})
    (tmp_path / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    tree = read_checkpoint(str(tmp_path))
    assert tree.ties == (("model.embed_tokens.weight", "lm_head.weight"),)
    assert tree.parameters["lm_head.weight"].shape == (32, 8)


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    sharded(tmp_path, {"a-1.safetensors": layers(0), "a-2.safetensors": layers(1), "a-3.safetensors": layers(2)})
    (tmp_path / "a-2.safetensors").unlink()
    (tmp_path / "a-3.safetensors").unlink()
    assert reason(tmp_path) == (
        "`model.safetensors.index.json` names `a-2.safetensors`, which is not there (nor 1 other file)"
    )


@pytest.mark.parametrize(
    "data",
    [
        b"", b"short", b"\xff" * 40, (2**63).to_bytes(8, "little") + b"{}", (2).to_bytes(8, "little") + b"{",
        (2).to_bytes(8, "little") + b"[]", (4).to_bytes(8, "little") + b"\xff\xfe{}",
        (9).to_bytes(8, "little") + b'{"a": 10}',
        (40).to_bytes(8, "little") + b'{"a": {"shape": [-1], "dtype": "F32"}}  ',
        (200_000).to_bytes(8, "little") + b"[" * 200_000,
    ],
)  # fmt: skip
def test_a_damaged_file_is_told_in_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(data)
    said = reason(tmp_path)
    assert "`model.safetensors`" in said and "\n" not in said


@given(st.binary(max_size=60))
@settings(max_examples=60, deadline=None)
def test_no_bytes_give_a_traceback(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "model.safetensors"
    path.write_bytes((len(data)).to_bytes(8, "little") + data)
    with pytest.raises(ModelError):
        read_checkpoint(str(path))


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ("[", "is not JSON"),
        ("[]", "has no weight_map"),
        ('{"weight_map": {"a": 1}}', "has no weight_map"),
        ('{"weight_map": {"a": "../secret.safetensors"}}', "names files outside its folder"),
        ('{"weight_map": {"a": "x.safetensors"}}', "says that `x.safetensors` holds `a`, but it does not"),
        ('{"weight_map": {}}', "holds no tensors"),
    ],
)
def test_a_damaged_index_is_told_in_one_line(tmp_path: Path, index: str, said: str) -> None:
    write(tmp_path / "x.safetensors", layers(0))
    (tmp_path / "model.safetensors.index.json").write_text(index)
    assert said in reason(tmp_path)
