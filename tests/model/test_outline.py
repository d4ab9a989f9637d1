"""Outlines: equal neighbours folded, counts right."""

from collections.abc import Callable

from hplint.model.outline import lines, outline, short_count, totals
from hplint.model.tree import ModuleTree, Node, Tensor


def stack(*kinds: int) -> ModuleTree:
    leaves = [Node(-1, {"weight": Tensor((n + 1, 2), "float32", n == 0)}, {}, {}, ()) for n in range(max(kinds) + 1)]
    top = Node(-1, {}, {}, {}, tuple((str(i), kind) for i, kind in enumerate(kinds)))
    return ModuleTree(classes=(), nodes=(*leaves, top), root=len(leaves), aliases={}, ties=(), config={})


def test_neighbours_that_are_equal_make_one_row() -> None:
    rows = [(r.name, r.copies, r.elements) for r in outline(stack(0, 0, 0, 1, 0, 0), depth=1)]
    assert rows == [("", 1, 14), ("0-2", 3, 6), ("3", 1, 4), ("4-5", 2, 4)]


def test_names_that_are_no_numbers_are_not_folded() -> None:
    leaf = Node(-1, {}, {}, {}, ())
    top = Node(-1, {}, {}, {}, (("q", 0), ("k", 0), ("0", 0), ("2", 0)))
    tree = ModuleTree(classes=(), nodes=(leaf, top), root=1, aliases={}, ties=(), config={})
    assert [r.name for r in outline(tree)] == ["", "q", "k", "0", "2"]


def test_totals_count_tied_tensors_once_and_trainable_ones_apart() -> None:
    tree = stack(0, 1)
    assert totals(tree) == (3, 2, 6, 2)
    tree.ties = (("0.weight", "1.weight"),)
    assert totals(tree) == (3, 1, 2, 2)


def test_lines_show_classes_shapes_ties_and_totals(tree: Callable[[str], ModuleTree]) -> None:
    shown = list(lines(tree("llama")))
    assert shown[0].startswith("LlamaForCausalLM")
    assert any(line.strip().startswith("0-1: LlamaDecoderLayer x2") for line in shown)
    shown = list(lines(tree("gemma2")))
    assert "model.embed_tokens.weight = lm_head.weight" in shown
    assert "modules" in shown[-1] and "elements" in shown[-1]


def test_large_counts_are_short() -> None:
    assert [short_count(n) for n in (960, 1500, 12_500_000, 671_026_419_200)] == ["960", "1.5 k", "12.5 M", "671.03 B"]
