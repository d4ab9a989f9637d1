"""Patterns that hit some modules and no others."""

from checking import fixture_tree
from hypothesis import given, settings
from hypothesis import strategies as st

from hplint.resolve.match import Matcher
from hplint.resolve.patterns import exact_patterns

TREE = fixture_tree("toy")
MATCHER = Matcher(TREE)


def test_a_star_stands_for_every_layer_where_it_hits_nothing_else() -> None:
    assert exact_patterns([f"model.layers.{i}.mlp" for i in range(3)], MATCHER) == ["model.layers.*.mlp"]


def test_layers_themselves_need_a_range_for_a_star_crosses_dots() -> None:
    assert exact_patterns([f"model.layers.{i}" for i in range(3)], MATCHER) == ["model.layers.[0-2]"]


def test_some_layers_are_named_one_by_one_or_by_range() -> None:
    assert exact_patterns(["model.layers.0.mlp", "model.layers.2.mlp"], MATCHER) == ["model.layers.[02].mlp"]
    assert exact_patterns(["model.layers.1.mlp"], MATCHER) == ["model.layers.1.mlp"]


def test_one_pattern_stands_for_all_modules_of_a_name() -> None:
    experts = Matcher(fixture_tree("qwen2_moe"))
    wanted = [f for f in experts.names if f.endswith(".act_fn")]
    assert exact_patterns(wanted, experts) == ["*.act_fn"]


def test_the_root_is_left_out() -> None:
    assert exact_patterns(["", "model.norm"], MATCHER) == ["model.norm"]


@settings(max_examples=60, deadline=None)
@given(st.sets(st.sampled_from([n for n in MATCHER.names if n]), min_size=1))
def test_patterns_hit_exactly_what_they_are_for(wanted: set[str]) -> None:
    hits: set[str] = set()
    for pattern in exact_patterns(wanted, MATCHER):
        hits.update(MATCHER.hits(pattern) or (pattern,))
    assert hits == wanted
