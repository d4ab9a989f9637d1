"""Selecting rules by code, prefix and name."""

import pytest

from hplint.errors import RequestError
from hplint.lint.registry import Registry
from hplint.lint.select import choose

REGISTRY = Registry()


def chosen(select: str = "", ignore: str = "", extend: str = "") -> set[str]:
    selection = choose(REGISTRY, [select], [ignore], [extend])
    return {code for code in REGISTRY.rules if code in selection and code != "HPL001"}


def test_all_rules_run_by_default() -> None:
    assert chosen() == set(REGISTRY.rules) - {"HPL001"}


def test_a_prefix_selects_its_group() -> None:
    assert chosen("HPL1") == {c for c in REGISTRY.rules if c.startswith("HPL1")}


def test_codes_and_names_in_any_case_may_be_mixed() -> None:
    assert chosen("hpl101, unknown-axis") == {"HPL101", "HPL201"}


def test_ignore_beats_select_of_the_same_length() -> None:
    assert chosen("HPL101,HPL102", "HPL101") == {"HPL102"}


def test_a_longer_prefix_beats_a_shorter_one() -> None:
    assert chosen("HPL1", "HPL10", "HPL101") == {"HPL101"}
    assert chosen("HPL101", "HPL1") == {"HPL101"}


def test_ignoring_a_group_leaves_the_rest() -> None:
    assert chosen(ignore="HPL2") == {c for c in REGISTRY.rules if not c.startswith("HPL2")} - {"HPL001"}


def test_an_unknown_rule_is_a_wrong_request_with_near_names() -> None:
    with pytest.raises(RequestError, match="unknown rule `HPL999`"):
        chosen("HPL999")
    with pytest.raises(RequestError) as caught:
        chosen("unknown-axes")
    assert "`unknown-axis`" in caught.value.hint


def test_a_file_that_cannot_be_read_is_told_whatever_is_selected() -> None:
    assert "HPL001" in choose(REGISTRY, ["HPL8"], ["HPL001"], [])


@pytest.mark.parametrize(("select", "ignore"), [("HPL101", "HPL101"), ("", "HPL"), (",", "ALL")])
def test_a_selection_that_leaves_no_rule_is_a_wrong_request(select: str, ignore: str) -> None:
    with pytest.raises(RequestError, match="leaves no rule"):
        chosen(select, ignore)
