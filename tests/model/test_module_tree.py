"""Module trees as JSON: the same tree comes back, and nothing else gets in."""

import copy
from typing import Any

import pytest

from hplint.model.tree import ForwardParameter, ModuleClass, ModuleTree, Node, Tensor


def tree() -> ModuleTree:
    linear = ModuleClass("torch.nn.Linear", ("torch.nn.Module",), (ForwardParameter("input", "positional", True),))
    layers = ModuleClass("torch.nn.ModuleList", ("torch.nn.Module",), None)
    leaf = Node(0, {"weight": Tensor((4, 2), "float32", True)}, {}, {"idx": "@0", "nr": "@0+1", "n": 3}, ())
    top = Node(1, {}, {"table": Tensor((2,), "int64")}, {}, (("0", 0), ("1", 0), ("10", 0)))
    return ModuleTree(
        classes=(linear, layers), nodes=(leaf, top), root=1, aliases={"again": "0"}, ties=(("0.weight", "1.weight"),),
        config={"sizes": {"hidden": 4}}, spec="py:x.py:f",
    )  # fmt: skip


def test_a_tree_comes_back_from_json() -> None:
    data = tree().to_json()
    back = ModuleTree.from_json(copy.deepcopy(data))
    assert back.to_json() == data
    assert back.modules == tree().modules and back.parameters == tree().parameters
    assert back.children("") == ("0", "1", "10", "again")


def test_layer_numbers_are_read_from_the_name_of_the_module() -> None:
    assert tree().modules["10"].ints == {"idx": 10, "nr": 11, "n": 3}


def _change(path: list[Any], value: Any) -> Any:
    data: Any = tree().to_json()
    at = data
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "not a module tree written by hplint"),
        ([], "not a module tree written by hplint"),
        ({"format": "other"}, "not a module tree written by hplint"),
        (_change(["version"], 99), "a module tree of version 99; this hplint reads version 1"),
        ({"format": "hplint-tree", "version": 1}, "a damaged module tree"),
        (_change(["nodes", 1, "children", 0, 1], 1), "a damaged module tree"),
        (_change(["nodes", 1, "children", 0, 1], -1), "a damaged module tree"),
        (_change(["nodes", 0, "class"], 7), "a damaged module tree"),
        (_change(["nodes", 0, "parameters"], [1]), "a damaged module tree"),
        (_change(["nodes", 0, "parameters", "weight"], [1]), "a damaged module tree"),
        (_change(["root"], 5), "a damaged module tree"),
        (_change(["config"], 5), "a damaged module tree"),
        (_change(["classes", 0], 5), "a damaged module tree"),
    ],
)
def test_anything_else_is_refused_with_a_reason(data: Any, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        ModuleTree.from_json(data)
    assert said in str(caught.value)


def test_a_tree_that_would_unfold_without_end_is_refused() -> None:
    node = {"class": -1, "parameters": {}, "buffers": {}, "ints": {}, "children": []}
    nodes = [node] + [{**node, "children": [["a", n], ["b", n]]} for n in range(60)]
    data = {**tree().to_json(), "nodes": nodes, "root": 60}
    with pytest.raises(ValueError, match="more than 10,000,000 modules"):
        ModuleTree.from_json(data)
