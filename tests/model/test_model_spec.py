"""Model specs: what each spelling names, and what is said of one that names nothing."""

from pathlib import Path

import pytest

from hplint.model.hub import snapshot
from hplint.model.spec import ModelSpec, SpecError, parse_spec


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for name, files in {
        "llama": ["config.json"],
        "weights": ["model.safetensors"],
        "empty": [],
        "models": ["toy.py", "tree.json"],
        "pack": ["__init__.py"],
    }.items():
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).write_text("{}")
    cached = tmp_path / "hub" / "models--org--small"
    for commit in ("aaa", "bbb"):
        (cached / "snapshots" / commit).mkdir(parents=True)
        (cached / "snapshots" / commit / "config.json").write_text("{}")
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("aaa\n")
    return tmp_path


def problem(text: str, base: Path) -> str:
    with pytest.raises(SpecError) as caught:
        parse_spec(text, base)
    return f"{caught.value.reason} | {caught.value.hint}"


@pytest.mark.parametrize(
    ("text", "kind", "path"),
    [
        ("hf:llama", "hf", "llama"),
        ("hf:llama/", "hf", "llama"),
        ("hf:./llama/config.json", "hf", "llama"),
        ("llama", "hf", "llama"),
        ("llama/config.json", "hf", "llama"),
        ("weights", "safetensors", "weights"),
        ("safetensors:weights", "safetensors", "weights"),
        ("weights/model.safetensors", "safetensors", "weights/model.safetensors"),
        ("tree:models/tree.json", "tree", "models/tree.json"),
        ("models/tree.json", "tree", "models/tree.json"),
        ("py:models/toy.py:make", "py", "models/toy.py"),
        ("models/toy.py:make", "py", "models/toy.py"),
        ("py:./pack:make", "py", "pack/__init__.py"),
        ("hf:org/small", "hf", "hub/models--org--small/snapshots/aaa"),
        ("org/small", "hf", "hub/models--org--small/snapshots/aaa"),
        ("hf:org/small@bbb", "hf", "hub/models--org--small/snapshots/bbb"),
    ],
)
def test_a_spec_says_its_kind_or_shows_it(project: Path, text: str, kind: str, path: str) -> None:
    spec = parse_spec(text, project)
    assert (spec.kind, spec.path, spec.text) == (kind, str(project / path), text)


def test_an_absolute_path_and_a_home_path_need_no_base(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(project))
    assert parse_spec(f"hf:{project}/llama", "/").path == parse_spec("hf:~/llama", "/").path == str(project / "llama")


def test_a_module_spec_keeps_its_dotted_name(project: Path) -> None:
    spec = parse_spec("py:my.models:Net.small", project)
    assert spec == ModelSpec("py", "py:my.models:Net.small", "", str(project), "my.models", "Net.small")


def test_arguments_are_literals_or_text(project: Path) -> None:
    text = "py:models/toy.py:make?hidden=64&rate=0.5&bias=True&tie=false&act=silu&shape=(1,2)&zip=007&none=null&p=a%26b"
    assert dict(parse_spec(text, project).arguments) == {
        "hidden": 64, "rate": 0.5, "bias": True, "tie": False, "act": "silu", "shape": (1, 2), "zip": "007",
        "none": None, "p": "a&b",
    }  # fmt: skip


def test_an_endless_number_stays_text(project: Path) -> None:
    assert dict(parse_spec("py:models/toy.py:make?x=1e999", project).arguments) == {"x": "1e999"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "an empty model spec"),
        ("hf:", "`hf:` names no model"),
        ("hf:lama", "no folder `lama` | did you mean `llama`"),
        ("hf:models/lama", "no folder `models/lama`"),
        ("./lama", "no file or folder `./lama` | did you mean `llama`"),
        ("hf:llama/sub/deeper", "no folder `llama/sub/deeper`"),
        ("hf:empty", "the folder `empty` has no config.json"),
        ("hf:weights", "for names and shapes alone: safetensors:weights"),
        ("empty", "holds no config.json and no .safetensors files"),
        ("py:models/toi.py:make", "no file `models/toi.py` | did you mean `models/toy.py`"),
        ("models/toy.py", "names no factory | add the function or class that builds it: py:models/toy.py:NAME"),
        ("py:models/toy.py:", "names no factory"),
        ("py:models/toy.py:a b", "`a b` cannot be the name"),
        ("py:models/toy.py:f?x", "`x` is not an argument"),
        ("py:models/toy.py:f?x=1&x=2", "the argument `x` is given twice"),
        ("py:models:f:g", "no file `models:f`"),
        ("safetensors:weight", "no folder `weight` | did you mean `weights`"),
        ("safetensors:empty", "holds no .safetensors files"),
        ("tree:models/tre.json", "did you mean `models/tree.json`"),
        ("tree:models", "is a folder, not a module tree"),
        ("hff:llama", "`hff:` is not a kind of model spec | did you mean `hf:llama`"),
        ("my.models:make", "did you mean `py:my.models:make`"),
        ("toy", "no file or folder `toy`"),
        ("a\0b", "is not a model spec"),
    ],
)
def test_a_spec_that_names_nothing_is_a_wrong_request(project: Path, text: str, said: str) -> None:
    assert said in problem(text, project)


@pytest.mark.parametrize("text", ["hf:org/large", "org/large", "hf:gpt9"])
def test_a_hub_id_that_is_not_in_the_local_cache_is_still_a_model(project: Path, text: str) -> None:
    spec = parse_spec(text, project)
    assert (spec.kind, spec.path, spec.name) == ("hf", "", text.removeprefix("hf:"))


def test_without_a_main_reference_the_newest_snapshot_counts(project: Path) -> None:
    import os

    (project / "hub/models--org--small/refs/main").unlink()
    os.utime(project / "hub/models--org--small/snapshots/aaa", (1, 1))
    assert snapshot("org/small") == str(project / "hub/models--org--small/snapshots/bbb")


def test_the_hub_cache_follows_hf_home(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.delenv("HUGGINGFACE_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(project))
    assert snapshot("org/small") is not None
