"""The matcher over a module tree against fnmatch over the list of its names."""

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st
from trees import tree_of

from hplint.resolve.match import Matcher

SEGMENTS = st.sampled_from(["a", "b", "ab", "0", "1", "10", "mlp", "q_proj", "[x]"])
FQNS = st.lists(SEGMENTS, min_size=1, max_size=5).map(".".join)
PARTS = st.sampled_from(
    ["*", "?", "[0-9]", "[!a]", "a", "b", "0", "mlp", "q_proj", "*proj", "m*", ".", ".", ".", "[", "[]", ""]
)
GLOBS = st.lists(PARTS, max_size=8).map("".join)


@given(st.lists(FQNS, max_size=12), GLOBS, st.booleans())
def test_a_glob_hits_what_fnmatch_hits_in_module_order(names: list[str], glob: str, shared: bool) -> None:
    tree = tree_of(names, shared=shared)
    assert list(Matcher(tree).hits(glob)) == [f for f in tree.modules if fnmatchcase(f, glob)]


def test_a_star_reaches_the_root() -> None:
    assert Matcher(tree_of(["a.b"])).hits("*") == ("", "a", "a.b")


def test_the_same_glob_is_matched_once() -> None:
    matcher = Matcher(tree_of(["a.mlp", "b.mlp"]))
    assert matcher.hits("*.mlp") is matcher.hits("*.mlp") == ("a.mlp", "b.mlp")


def test_a_hundred_thousand_modules_in_equal_layers_cost_one_layer() -> None:
    names = [f"model.layers.{i}.mlp.experts.{j}.up_proj" for i in range(60) for j in range(550)]
    tree = tree_of(names)
    assert len(tree.modules) > 60_000
    assert len(tree.nodes) < 10
    matcher = Matcher(tree)
    assert len(matcher.hits("*.experts.7.up_proj")) == 60
    assert len(matcher.hits("model.layers.3.*")) == 550 * 2 + 2


def test_a_tree_deeper_than_pythons_stack_is_matched() -> None:
    from hplint.model.tree import ModuleTree, Node

    depth = 3000
    nodes = tuple(Node(-1, {}, {}, {}, (("m", i + 1),) if i < depth else ()) for i in range(depth + 1))
    tree = ModuleTree(classes=(), nodes=nodes, root=0, aliases={}, ties=(), config={})
    assert len(Matcher(tree).hits("*.m")) == depth - 1
