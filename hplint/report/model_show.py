"""The module tree for people: classes, shapes, and what a plan may name."""

from collections.abc import Iterator

from hplint.model.outline import lines
from hplint.model.tree import ModuleTree
from hplint.report.style import Style
from hplint.report.visible import printable


def model_show(tree: ModuleTree, style: Style, depth: int | None = None) -> Iterator[str]:
    """The tree with equal neighbours folded, at most ``depth`` levels of modules."""
    if tree.spec:
        yield style.paint(printable(tree.spec, style), "dim")
    for line in lines(tree, depth):
        text = printable(line, style)
        name, colon, rest = text.partition(": ")
        yield f"{style.paint(name, 'strong')}{colon}{rest}" if colon else text


def tree_json(tree: ModuleTree) -> str:
    """The tree as a tree: spec reads it, with a line end."""
    import json

    return json.dumps(tree.to_json()) + "\n"
