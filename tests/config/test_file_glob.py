import pytest
from hypothesis import given
from hypothesis import strategies as st

from hplint.config.glob import matches


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.yaml", "deep/down/a.yaml", True),
        ("plans/*.yaml", "plans/a.yaml", True),
        ("plans/*.yaml", "plans/deep/a.yaml", False),
        ("plans/**/*.yaml", "plans/a.yaml", True),
        ("plans/**/*.yaml", "plans/deep/down/a.yaml", True),
        ("plans", "plans/deep/a.yaml", True),
        ("plans/", "plans/a.yaml", True),
        ("./plans/a.yaml", "plans/a.yaml", True),
        ("plan?.yaml", "plan1.yaml", True),
        ("plans/a?b", "plans/a/b", False),
        ("a[bc].yaml", "ab.yaml", True),
        ("a[!bc].yaml", "ab.yaml", False),
        ("a[!bc].yaml", "ad.yaml", True),
        ("a[", "a[", True),
        ("a.yaml", "axyaml", False),
        ("plans/*.yaml", "other/plans/a.yaml", False),
        ("../shared/*.yaml", "../shared/a.yaml", True),
    ],
)
def test_globs_over_paths(glob: str, path: str, expected: bool) -> None:
    assert matches(glob, path) is expected


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_can_be_a_glob(glob: str, path: str) -> None:
    assert matches(glob, path) in (True, False)
