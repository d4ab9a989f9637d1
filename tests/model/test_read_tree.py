"""Reading modules: peculiar ones too, in any number and depth."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from hplint.model.build_worker import read_tree  # noqa: E402
from hplint.model.failure import ModelError  # noqa: E402
from hplint.model.tree import ForwardParameter, ModuleTree, Tensor  # noqa: E402


@pytest.fixture(scope="module")
def tiny() -> Iterator[Any]:
    import importlib

    sys.path.insert(0, str(Path(__file__).parent.parent.parent / "fixtures" / "models"))
    yield importlib.import_module("tiny")
    sys.path.pop(0)


def read(make: Callable[[], nn.Module]) -> ModuleTree:
    with torch.device("meta"):
        return read_tree(make(), "x")


def named(model: nn.Module) -> list[str]:
    return [name for name, _ in model.named_modules()]


def test_modules_stand_in_the_order_of_named_modules(tiny: Any) -> None:
    for make in (tiny.Layers, tiny.Tied, tiny.Shared, tiny.Cyclic, tiny.Odd, tiny.Frozen):
        model = make()
        tree = read_tree(model, "x")
        assert list(tree.modules) == named(model)
        if not tree.aliases:
            assert list(tree.parameters) == [n for n, _ in model.named_parameters(remove_duplicate=False)]


def test_equal_layers_share_one_node_and_know_their_numbers(tiny: Any) -> None:
    tree = read(lambda: tiny.Layers(40))
    assert len(tree.nodes) == 4
    assert tree.modules["layers.12"].ints == {"layer_idx": 12, "layer_number": 13, "num_heads": 4}


def test_a_forward_shows_names_kinds_and_what_is_required(tiny: Any) -> None:
    assert read(tiny.Layers).modules["layers.0"].forward == (
        ForwardParameter("hidden_states", "positional", True),
        ForwardParameter("scale", "keyword", False),
        ForwardParameter("kwargs", "var_keyword", False),
    )
    assert read(tiny.Layers).modules["layers"].forward is None


def test_tied_parameters_are_one_group(tiny: Any) -> None:
    assert read(tiny.Tied).ties == (("embed_tokens.weight", "lm_head.weight"),)


def test_shared_modules_have_further_names_and_one_tensor(tiny: Any) -> None:
    tree = read(tiny.Shared)
    assert tree.aliases == {"again": "first", "inner.a-b": "first"}
    assert tree.ties == (("first.proj.weight", "again.proj.weight", "inner.a-b.proj.weight"),)
    assert tree.children("inner") == ("other", "a-b")


def test_a_child_that_holds_its_parent_does_not_go_round(tiny: Any) -> None:
    tree = read(tiny.Cyclic)
    assert list(tree.modules) == ["", "child"] and tree.aliases == {"child.parent": ""} and tree.ties == ()


def test_odd_attributes_are_left_alone(tiny: Any) -> None:
    tree = read(tiny.Odd)
    root = tree.modules[""]
    assert root.ints == {"window": 7} and dict(root.parameters) == {}
    assert root.node.buffers == {"table": Tensor((2,), "int64", False)}
    assert tree.config == {"hidden": 8, "name": "tiny"}
    assert root.forward is not None and [p.kind for p in root.forward] == ["var_positional", "var_keyword"]


def test_a_parameter_without_a_shape_is_named(tiny: Any) -> None:
    with pytest.raises(ModelError) as caught:
        read(tiny.LazyHead)
    assert "`head.weight` has no shape before a first forward" in caught.value.reason


def test_what_does_not_train_is_marked(tiny: Any) -> None:
    assert read(tiny.Frozen).parameters["proj.weight"] == Tensor((3, 2), "float32", False)


def test_a_scripted_module_is_read_like_any_other(tiny: Any) -> None:
    scripted = torch.jit.script(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    tree = read_tree(scripted, "x")
    assert list(tree.modules) == ["", "0", "1"] and tree.parameters["0.weight"].shape == (3, 2)


def test_depth_beyond_the_recursion_limit_is_read(tiny: Any) -> None:
    with torch.device("meta"):
        model = tiny.Deep(1500)
    tree = read_tree(model, "x")
    assert len(tree.modules) == 1502
    assert len(ModuleTree.from_json(tree.to_json()).modules) == 1502


def test_ten_thousands_of_modules_are_few_nodes(tiny: Any) -> None:
    with torch.device("meta"):
        layers = [nn.ModuleList(nn.Identity() for _ in range(299)) for _ in range(100)]
    tree = read_tree(nn.ModuleList(layers), "x")
    assert len(tree.modules) == 30_001 and len(tree.nodes) == 3
