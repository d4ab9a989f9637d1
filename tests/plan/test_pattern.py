"""Globs read names exactly as fnmatch.fnmatchcase does."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hplint.plan.pattern import Pattern, is_glob

PATTERNS = st.text("ab.*?[]!-0\\^\n", max_size=10)
NAMES = st.text("ab.0-[]!*\\^\n", max_size=8)


@given(PATTERNS, NAMES)
def test_a_pattern_matches_what_fnmatch_matches(text: str, name: str) -> None:
    assert Pattern(text).matches(name) == fnmatchcase(name, text)


@given(PATTERNS, NAMES, NAMES)
def test_a_name_may_be_read_in_pieces(text: str, head: str, tail: str) -> None:
    pattern = Pattern(text)
    states = pattern.read(pattern.read(pattern.start, head), tail)
    assert pattern.accepts(states) == fnmatchcase(head + tail, text)


@given(PATTERNS, NAMES)
def test_a_last_segment_that_a_pattern_spells_out_is_that_of_every_match(text: str, name: str) -> None:
    pattern = Pattern(text)
    if pattern.last is not None and pattern.matches(name):
        assert name.rpartition(".")[2] == pattern.last


@pytest.mark.parametrize(
    ("text", "name", "hit"),
    [
        ("*.mlp", "model.layers.0.mlp", True),
        ("*.mlp", "mlp", False),
        ("model.layers.?.mlp", "model.layers.10.mlp", False),
        ("model.layers.[0-9].mlp", "model.layers.7.mlp", True),
        ("model.layers.[!0-9].mlp", "model.layers.7.mlp", False),
        ("model.layers?0", "model.layers.0", True),
        ("*", "", True),
        ("?*", "", False),
        ("*.MLP", "model.mlp", False),
        ("a[b", "a[b", True),
        ("a[]]", "a]", True),
        ("a[!]]", "a]", False),
        ("a[z-a]", "az", False),
    ],
)
def test_stars_cross_dots_case_counts_and_brackets_are_classes(text: str, name: str, hit: bool) -> None:
    assert Pattern(text).matches(name) is hit
    assert fnmatchcase(name, text) is hit


@pytest.mark.parametrize(("text", "glob"), [("a.b", False), ("", False), ("a.*", True), ("a?", True), ("a[", True)])
def test_any_of_three_characters_makes_a_glob(text: str, glob: bool) -> None:
    assert is_glob(text) is glob
