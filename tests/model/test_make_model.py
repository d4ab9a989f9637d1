"""Making models in-process: every way in which one cannot be had is one plain line."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from hplint.model.build import _request
from hplint.model.failure import ModelError
from hplint.model.make_model import make_model
from hplint.model.read_tree import read_tree
from hplint.model.spec import parse_spec
from hplint.model.tree import ModuleTree

ROOT = Path(__file__).parent.parent.parent
MODELS = ROOT / "fixtures" / "models"


@pytest.fixture(autouse=True)
def same_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    yield


def made(text: str, base: Path = MODELS) -> Any:
    return make_model(_request(parse_spec(text, base), (), "", None))


def tree(text: str, base: Path = MODELS) -> ModuleTree:
    return read_tree(made(text, base), text)


def failure(text: str, base: Path = MODELS) -> str:
    with pytest.raises(ModelError) as caught:
        made(text, base)
    assert "\n" not in caught.value.reason
    return f"{caught.value.reason} | {caught.value.hint}"


# -- py: ---------------------------------------------------------------------------------------------------------------


def test_a_class_and_a_function_and_a_model_are_factories() -> None:
    assert len(tree("py:tiny.py:Layers").modules) == 10
    assert len(tree("py:tiny.py:sized").modules) == 7
    assert len(tree("py:tiny.py:built").modules) == 4


def test_arguments_reach_the_factory() -> None:
    found = tree("py:tiny.py:sized?hidden=16&layers=1&name=extra")
    assert "extra" in found.modules and found.parameters["layers.0.proj.weight"].shape == (16, 16)


def test_nothing_is_allocated() -> None:
    assert {p.device.type for p in made("py:tiny.py:Layers?hidden=1000000").parameters()} == {"meta"}


def test_a_package_file_may_import_its_neighbours() -> None:
    found = tree("py:package/model.py:make")
    assert found.modules["0"].cls is not None and found.modules["0"].cls.name == "package.parts.Part"


def test_a_model_that_reads_values_is_built_with_small_tensors_real() -> None:
    found = tree("py:tiny.py:ReadsValues")
    assert found.parameters["big.weight"].shape == (100_000, 4096)
    assert found.parameters["big.weight"].dtype == "bfloat16"
    assert found.modules[""].ints["kept"] == 10


def test_a_file_may_have_the_name_of_a_standard_module(tmp_path: Path) -> None:
    (tmp_path / "types.py").write_text("from torch import nn\nimport types\ndef make(): return nn.Linear(2, 2)\n")
    assert tree("types.py:make", tmp_path).parameters["weight"].shape == (2, 2)
    assert hasattr(sys.modules["types"], "ModuleType")


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("raises", "`raises` raised ValueError: hidden must divide by heads (failing.py:14)"),
        ("deeper", "`deeper` raised"),
        ("returns_dict", "`returns_dict` returned a dict, not an nn.Module | the factory must return the model itself"),
        ("returns_none", "`returns_none` returned None, not an nn.Module"),
        ("returns_class", "`returns_class` returned the class `Identity`, not an nn.Module"),
        ("exits", "`exits` ended the process (sys.exit(3)) (failing.py:34)"),
        ("needs", "`needs` needs the argument `config` | give it in the spec, as in py:…:needs?config=…"),
        ("needs?confg=1", "`needs` takes no argument `confg` | did you mean `config`"),
        ("needs?zebra=1", "`needs` takes no argument `zebra` | it takes `config` and `size`"),
        ("raises?zebra=1", "`raises` takes no argument `zebra` | it takes no arguments"),
        ("runs_out", "`runs_out` ran out of memory (failing.py:"),
        ("rises", "`failing.py` has no `rises` | did you mean `raises`"),
        ("entirely_else", "`failing.py` has no `entirely_else` | it defines `raises`, `deeper`"),
        ("nn.Linnear", "`failing.py` has no `nn.Linnear` | did you mean `Linear`"),
        ("NUMBER", "`NUMBER` in `failing.py` is an int, not a function or class"),
        ("reads_large", "the model reads tensor values or needs a device while it builds"),
    ],
)
def test_what_a_factory_does_wrong_is_told_with_its_place(factory: str, said: str) -> None:
    assert said in failure(f"py:failing.py:{factory}")


def test_an_import_that_fails_names_the_package_and_the_line() -> None:
    said = failure("py:imports_missing.py:make")
    assert "`imports_missing.py` imports `no_such_package_anywhere`, which is not installed here" in said
    assert "(imports_missing.py:3)" in said and "--src" in said


def test_a_module_that_is_not_there_is_told_apart_from_its_imports(tmp_path: Path) -> None:
    assert "there is no module `nowhere_at_all` here" in failure("py:nowhere_at_all.models:make", tmp_path)
    assert "there is no module `package.nowhere` here" in failure("py:package.nowhere:make")
    assert "`imports_missing` imports `no_such_package_anywhere`" in failure("py:imports_missing:make")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:\n", "`bad1.py` is not valid Python: invalid syntax (bad1.py:1)"),
        ("x = 1\n1 / 0\n", "importing `bad2.py` raised ZeroDivisionError: division by zero (bad2.py:2)"),
        ("from torch import nothing_like_it\n", "importing `bad3.py` raised ImportError: cannot import name"),
        ("raise SystemExit('no')\n", "importing `bad4.py` ended the process (sys.exit('no')) (bad4.py:1)"),
        ("x = '\udcff'", "`bad5.py`"),
    ],
)
def test_a_file_that_cannot_be_imported_is_told_with_its_place(
    tmp_path: Path, text: str, said: str, request: pytest.FixtureRequest
) -> None:
    name = said.split("bad")[1][0]
    (tmp_path / f"bad{name}.py").write_text(text, encoding="utf-8", errors="surrogateescape")
    assert said in failure(f"bad{name}.py:f", tmp_path)


# -- hf: ---------------------------------------------------------------------------------------------------------------


def config(folder: Path, **values: Any) -> Path:
    (folder / "config.json").write_text(json.dumps(values))
    return folder


SIZES = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
         "num_key_value_heads": 2}  # fmt: skip


@pytest.fixture
def transformers() -> Any:
    return pytest.importorskip("transformers")


def test_the_class_that_the_configuration_names_is_built(transformers: Any, tmp_path: Path) -> None:
    config(tmp_path, model_type="llama", architectures=["LlamaModel"], **SIZES)
    assert tree("hf:.", tmp_path).class_name == "LlamaModel"


def test_without_a_class_the_model_type_decides(transformers: Any, tmp_path: Path) -> None:
    config(tmp_path, model_type="llama", **SIZES)
    assert tree("hf:.", tmp_path).class_name == "LlamaForCausalLM"


def test_a_class_that_is_not_known_gives_way_to_the_model_type(transformers: Any, tmp_path: Path) -> None:
    config(tmp_path, model_type="llama", architectures=["LLaMAForCausalLM"], **SIZES)
    assert tree("hf:.", tmp_path).class_name == "LlamaForCausalLM"


def test_without_a_model_type_the_class_decides(transformers: Any, tmp_path: Path) -> None:
    config(tmp_path, architectures=["LlamaForCausalLM"], **SIZES)
    assert tree("hf:.", tmp_path).class_name == "LlamaForCausalLM"


def test_tied_heads_and_dtypes_are_as_a_load_would_give(transformers: Any, tmp_path: Path) -> None:
    config(
        tmp_path, model_type="llama", architectures=["LlamaForCausalLM"], tie_word_embeddings=True, dtype="bfloat16",
        attn_implementation="flash_attention_2", **SIZES,
    )  # fmt: skip
    found = tree("hf:.", tmp_path)
    assert found.ties == (("model.embed_tokens.weight", "lm_head.weight"),)
    assert found.parameters["lm_head.weight"].dtype == "bfloat16"


def test_a_model_of_pictures_and_words_is_built_with_both(transformers: Any, tmp_path: Path) -> None:
    text = {**SIZES, "model_type": "llama"}
    vision = {"model_type": "clip_vision_model", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
              "num_attention_heads": 2, "image_size": 28, "patch_size": 14}  # fmt: skip
    config(
        tmp_path, model_type="llava", architectures=["LlavaForConditionalGeneration"], text_config=text,
        vision_config=vision,
    )  # fmt: skip
    found = tree("hf:.", tmp_path)
    assert {"model.language_model.layers.1", "model.vision_tower.encoder.layers.1"} <= set(found.modules)
    assert found.config["text_config"]["hidden_size"] == 16


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"model_type": "lama"}, "knows no model type `lama` | did you mean `llama`"),
        ({"model_type": "zzzzqq"}, "knows no model type `zzzzqq` | a newer transformers may know it"),
        ({"model_type": "own", "auto_map": {"AutoConfig": "c.C"}}, "the model type `own` is defined by code"),
        (
            {"model_type": "llama", "architectures": ["OwnLM"], "auto_map": {"AutoModel": "m.OwnLM"}},
            "`OwnLM` is defined by code in the model's own repository (trust_remote_code), which hplint never runs",
        ),
        ({"_class_name": "Unet"}, "names no model_type and no class that transformers knows"),
        ({"model_type": "llama", **SIZES, "hidden_size": "wide"}, "error for field 'hidden_size': TypeError: "),
    ],
)  # fmt: skip
def test_a_configuration_that_gives_no_model_is_told_in_one_line(
    transformers: Any, tmp_path: Path, values: dict[str, Any], said: str
) -> None:
    assert said in failure("hf:.", config(tmp_path, **values))


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "config.json is not JSON"), ("[]", "config.json holds no mapping"), ("[" * 99999, "not JSON")]
)  # fmt: skip
def test_a_configuration_that_is_no_mapping_is_told_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert said in failure("hf:.", tmp_path)


def test_transformers_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert "transformers is not installed here" in failure("hf:.", config(tmp_path, model_type="llama"))


def test_a_class_that_transformers_keeps_to_itself_is_found_beside_its_configuration(
    transformers: Any, tmp_path: Path
) -> None:
    config(tmp_path, model_type="voxtral_realtime_text", architectures=["VoxtralRealtimeTextModel"], **SIZES)
    assert type(made(f"hf:{tmp_path}")).__name__ == "VoxtralRealtimeTextModel"
