"""Near names: what is close, and what is clearly meant."""

import pytest

from hplint.text.near import is_slip, near, one_near

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")


def test_the_nearest_name_comes_first() -> None:
    assert near("down_prj", ("up_proj", "down_proj", "gate_proj")) == ["down_proj"]


def test_one_name_is_clear_where_it_is_nearer_than_all_others() -> None:
    assert one_near("q_prj", PROJECTIONS) == "q_proj"
    assert one_near("MODEL", ("model",)) == "model"


def test_a_tie_is_not_clear() -> None:
    assert one_near("x_proj", PROJECTIONS) is None


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("q_proj", "o_proj"), ("fc1", "fc2"), ("layers.1.mlp", "layers.2.mlp"), ("kv_proj", "kv_b_proj"), ("w", "w1"),
        ("proj_in", "proj"),
    ],
)  # fmt: skip
def test_a_name_of_its_own_is_no_slip_however_near(word: str, name: str) -> None:
    assert not is_slip(word, name)
    assert one_near(word, (name,)) is None


@pytest.mark.parametrize(
    ("word", "name"),
    [("modl.layers.0", "model.layers.0"), ("selfattn", "self_attn"), ("tpp", "tp"), ("in_scr", "in_src")],
)
def test_a_letter_too_few_or_too_many_is_a_slip(word: str, name: str) -> None:
    assert is_slip(word, name)
