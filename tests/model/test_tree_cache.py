"""The cache on disk: what counts as a hit, and that nothing there can do harm."""

import json
import os
import time
from pathlib import Path

import pytest

from hplint.model import store
from hplint.model.build import Built
from hplint.model.cache import cache_folder, digest, read_cached, write_cached
from hplint.model.failure import ModelError
from hplint.model.spec import ModelSpec, parse_spec
from hplint.model.store import load_tree
from hplint.model.tree import ModuleTree, Node

TREE = ModuleTree(
    classes=(), nodes=(Node(-1, {}, {}, {}, ()),), root=0, aliases={}, ties=(), config={"n": 1}, spec="first"
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HPLINT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[ModelSpec]:
    """Stands for real builds; each reads the factory's file."""
    done: list[ModelSpec] = []

    def build(spec: ModelSpec, **_: object) -> Built:
        done.append(spec)
        stat = Path(spec.path).stat()
        return Built(TREE, {spec.path: (stat.st_size, stat.st_mtime_ns)} if spec.kind == "py" else {})

    monkeypatch.setattr(store, "build", build)
    return done


def entry(cache: Path) -> Path:
    (found,) = cache.glob("trees-*/*.json")
    return found


def test_a_tree_is_kept_and_found() -> None:
    assert read_cached("k") is None
    write_cached("k", TREE, {})
    found = read_cached("k")
    assert found is not None and found.to_json() == TREE.to_json()


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b"", lambda b: b[:-5], lambda b: b[: len(b) // 2], lambda b: b.replace(b'"n":1', b'"n":2'),
        lambda b: b"\x00\xff" + b, lambda b: b"{}\n{}", lambda b: b"[]\n" + b, lambda b: b"null\nnull",
        lambda b: b"[" * 99999, lambda b: b.replace(b"hplint-tree-cache", b"some-other-cache"),
        lambda b: b.replace(b'"files": {}', b'"files": 3'),
    ],
)  # fmt: skip
def test_a_damaged_or_foreign_file_counts_as_absent_and_is_replaced(cache: Path, damage) -> None:  # type: ignore[no-untyped-def]
    write_cached("k", TREE, {})
    path = entry(cache)
    path.write_bytes(damage(path.read_bytes()))
    assert read_cached("k") is None
    write_cached("k", TREE, {})
    assert read_cached("k") is not None


def test_a_file_of_another_key_is_not_taken(cache: Path) -> None:
    write_cached("k", TREE, {})
    entry(cache).rename(entry(cache).with_name("other.json"))
    assert read_cached("other") is None


def test_an_unwritable_folder_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HPLINT_CACHE_DIR", str(tmp_path / "file" / "below"))
    write_cached("k", TREE, {})
    assert read_cached("k") is None


def test_a_folder_in_place_of_the_file_is_no_error(cache: Path) -> None:
    write_cached("k", TREE, {})
    path = entry(cache)
    path.unlink()
    path.mkdir()
    write_cached("k", TREE, {})
    assert read_cached("k") is None


def test_nothing_half_written_stays_and_old_trees_go(cache: Path) -> None:
    write_cached("old", TREE, {})
    folder = entry(cache).parent
    long_ago = time.time() - 100 * 86400
    other = cache / "trees-0.0"
    other.mkdir()
    for path in (folder / "old.json", folder / "x.json.77.part", other / "k.json"):
        path.touch()
        os.utime(path, (long_ago, long_ago))
    write_cached("k", TREE, {})
    assert [p.name for p in cache.glob("trees-*/*")] == ["k.json"] and not other.exists()


def test_a_hit_on_an_old_tree_keeps_it_from_being_removed(cache: Path) -> None:
    write_cached("k", TREE, {})
    long_ago = time.time() - 50 * 86400
    os.utime(entry(cache), (long_ago, long_ago))
    assert read_cached("k") is not None
    assert entry(cache).stat().st_mtime > long_ago + 86400


def test_the_cache_folder_keeps_itself_out_of_git(cache: Path) -> None:
    write_cached("k", TREE, {})
    assert (cache / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"HPLINT_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"HPLINT_CACHE_DIR": "", "XDG_CACHE_HOME": "/b"}, "/b/hplint"),
        ({"HPLINT_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/hplint"),
    ],
)
def test_the_environment_says_where_the_cache_is(
    env: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert str(cache_folder()) == folder


def test_parts_of_a_key_do_not_run_together() -> None:
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")


# -- load_tree ---------------------------------------------------------------------------------------------------------


def factory(tmp_path: Path, text: str = "x = 1") -> str:
    (tmp_path / "net.py").write_text(text)
    return "py:net.py:make"


def test_a_second_load_builds_nothing(tmp_path: Path, builds: list[ModelSpec]) -> None:
    spec = factory(tmp_path)
    load_tree(parse_spec(spec, tmp_path))
    assert load_tree(parse_spec(spec, tmp_path)).config == {"n": 1}
    assert len(builds) == 1


def test_a_tree_carries_the_spec_that_it_was_asked_for_by(tmp_path: Path, builds: list[ModelSpec]) -> None:
    factory(tmp_path)
    assert load_tree(parse_spec("py:net.py:make", tmp_path)).spec == "py:net.py:make"
    assert load_tree(parse_spec("net.py:make", tmp_path)).spec == "net.py:make"
    assert len(builds) == 1


@pytest.mark.parametrize("spec", ["py:net.py:other", "py:net.py:make?hidden=2"])
def test_another_factory_or_argument_is_another_tree(tmp_path: Path, builds: list[ModelSpec], spec: str) -> None:
    load_tree(parse_spec(factory(tmp_path), tmp_path))
    load_tree(parse_spec(spec, tmp_path))
    assert len(builds) == 2


def test_an_edit_of_equal_length_within_the_same_instant_is_seen(tmp_path: Path, builds: list[ModelSpec]) -> None:
    spec = parse_spec(factory(tmp_path, "x = 1"), tmp_path)
    load_tree(spec)
    stat = Path(spec.path).stat()
    factory(tmp_path, "x = 2")
    os.utime(spec.path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    load_tree(spec)
    assert len(builds) == 2


def test_a_file_that_the_build_read_is_watched(tmp_path: Path) -> None:
    data = tmp_path / "sizes.json"
    data.write_text("1")
    stat = data.stat()
    files = {str(data): (stat.st_size, stat.st_mtime_ns), str(tmp_path / "absent"): None}
    write_cached("k", TREE, files)
    assert read_cached("k") is not None
    os.utime(data)
    assert read_cached("k") is not None, "touched, but its content is the same"
    (tmp_path / "absent").touch()
    assert read_cached("k") is None
    (tmp_path / "absent").unlink()
    data.write_text("22")
    assert read_cached("k") is None


def test_a_file_that_changed_during_the_build_is_not_kept(tmp_path: Path) -> None:
    data = tmp_path / "sizes.json"
    data.write_text("1")
    write_cached("k", TREE, {str(data): (1, 12345)})
    assert read_cached("k") is None


def test_without_the_cache_every_load_builds_and_leaves_nothing(
    tmp_path: Path, cache: Path, builds: list[ModelSpec]
) -> None:
    for _ in range(2):
        load_tree(parse_spec(factory(tmp_path), tmp_path), use_cache=False)
    assert len(builds) == 2 and not cache.exists()


def test_a_folder_of_plans_alone_makes_no_difference(tmp_path: Path, builds: list[ModelSpec]) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        load_tree(parse_spec(factory(tmp_path), tmp_path), src=(str(tmp_path / name),))
    assert len(builds) == 1


def test_a_configuration_is_known_by_its_content(tmp_path: Path, builds: list[ModelSpec]) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text('{"model_type": "llama"}')
        load_tree(parse_spec(f"hf:{name}", tmp_path))
    assert len(builds) == 1
    (tmp_path / "two" / "config.json").write_text('{"model_type": "llama", "hidden_size": 8}')
    load_tree(parse_spec("hf:two", tmp_path))
    assert len(builds) == 2


def test_a_hub_id_that_is_not_here_says_how_to_fetch_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError) as caught:
        load_tree(parse_spec("hf:org/large", tmp_path))
    assert "neither a folder here nor in the local hub cache" in caught.value.reason
    assert "hf download org/large config.json" in caught.value.hint


@pytest.mark.parametrize("text", ["", "[", "[]", '{"format": "hplint-tree", "version": 1}', "[" * 99999, "\ufeff{}"])
def test_a_tree_file_of_anything_else_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "tree.json").write_text(text)
    with pytest.raises(ModelError) as caught:
        load_tree(parse_spec("tree:tree.json", tmp_path))
    assert "`tree.json`" in caught.value.reason and "\n" not in caught.value.reason


def test_a_tree_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text(json.dumps(TREE.to_json()))
    tree = load_tree(parse_spec("tree.json", tmp_path))
    assert tree.config == {"n": 1} and tree.spec == "tree.json"


def test_a_checkpoint_is_read_again_when_a_file_of_it_changes(tmp_path: Path) -> None:
    def write(shape: str) -> None:
        data = b'{"w.weight": {"dtype": "F32", "shape": %s}}' % shape.encode()
        (tmp_path / "model.safetensors").write_bytes(len(data).to_bytes(8, "little") + data)

    write("[2, 2]")
    assert load_tree(parse_spec("safetensors:.", tmp_path)).parameters["w.weight"].shape == (2, 2)
    assert load_tree(parse_spec("safetensors:.", tmp_path)).parameters["w.weight"].shape == (2, 2)
    write("[3, 20]")
    assert load_tree(parse_spec("safetensors:.", tmp_path)).parameters["w.weight"].shape == (3, 20)
