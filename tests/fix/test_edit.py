"""Edits as such: applied, compared, cut down."""

from hypothesis import given
from hypothesis import strategies as st

from hplint.fix.edit import apply, difference, overlap, smallest
from hplint.lint.diagnostic import Edit
from hplint.text.span import Span

TEXTS = st.text("ab \n\r", max_size=30)


def edit(start: int, end: int, text: str) -> Edit:
    return Edit(Span(start, end), text)


def test_edits_are_applied_whatever_their_order() -> None:
    assert apply("abcdef", [edit(4, 5, "X"), edit(0, 2, ""), edit(6, 6, "!")]) == "cdXf!"


def test_insertions_at_one_place_keep_their_order() -> None:
    assert apply("ab", [edit(1, 1, "x"), edit(1, 1, "y"), edit(1, 2, "z")]) == "axyz"


def test_edits_that_share_a_character_overlap_and_neighbours_do_not() -> None:
    assert overlap([edit(0, 3, "")], [edit(2, 4, "")])
    assert overlap([edit(1, 1, "x")], [edit(0, 3, "")])
    assert overlap([edit(2, 2, "x")], [edit(2, 3, "")])
    assert not overlap([edit(0, 2, "")], [edit(2, 4, "")])
    assert not overlap([edit(2, 2, "x")], [edit(2, 2, "y")])
    assert not overlap([edit(0, 1, "")], [edit(5, 6, ""), edit(8, 9, "")])


def test_what_both_sides_share_is_no_part_of_an_edit() -> None:
    assert smallest("model.layers.0.mpl", [edit(0, 18, "model.layers.0.mlp")]) == (edit(16, 18, "lp"),)
    assert smallest("abc", [edit(0, 3, "abc")]) == ()


@given(TEXTS, TEXTS)
def test_a_difference_makes_the_one_text_of_the_other(old: str, new: str) -> None:
    edits = difference(old, new)
    assert apply(old, edits) == new
    assert apply(old, smallest(old, edits)) == new


@given(TEXTS, st.data())
def test_smallest_edits_do_what_the_edits_did(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    edits = [edit(a, b, data.draw(TEXTS)) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    assert apply(text, smallest(text, edits)) == apply(text, edits)
