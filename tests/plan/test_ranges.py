"""Globs for some modules among many."""

from fnmatch import fnmatchcase

from hypothesis import given, settings
from hypothesis import strategies as st

from hplint.plan.ranges import globs

LAYERS = [f"model.layers.{n}.mlp" for n in range(130)]


def test_layers_are_told_by_few_classes_of_digits() -> None:
    assert globs(LAYERS[3:61]) == ["model.layers.[3-9].mlp", "model.layers.[1-5][0-9].mlp", "model.layers.60.mlp"]


def test_names_that_share_no_pattern_stay_as_they_are() -> None:
    assert globs(["lm_head", "model.layers.0.mlp", "model.norm"]) == ["lm_head", "model.layers.0.mlp", "model.norm"]


@settings(max_examples=60, deadline=None)
@given(st.sets(st.sampled_from(LAYERS)))
def test_the_patterns_match_the_given_names_and_no_other(names: set[str]) -> None:
    patterns = globs(sorted(names))
    assert {n for n in LAYERS if any(fnmatchcase(n, p) for p in patterns)} == names
    assert sum(fnmatchcase(n, p) for n in LAYERS for p in patterns) == len(names)
