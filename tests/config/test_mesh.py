import pytest
from hypothesis import given
from hypothesis import strategies as st

from hplint.config.mesh import MESH_AXES, MeshError, parse_mesh, spell_mesh


def test_a_mesh_keeps_the_order_in_which_it_was_written() -> None:
    assert list(parse_mesh("dp=2,tp=4,cp=1").items()) == [("dp", 2), ("tp", 4), ("cp", 1)]


def test_spaces_around_axes_and_sizes_do_not_count() -> None:
    assert parse_mesh(" dp = 2 , tp= 4 ") == {"dp": 2, "tp": 4}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "the mesh is empty", "dp=2,tp=4"),
        ("   ", "the mesh is empty", "dp=2,tp=4"),
        ("tpp=2", "there is no axis `tpp`", "`tp`"),
        ("TP=2", "there is no axis `TP`", "`tp`"),
        ("banana=2", "there is no axis `banana`", "`dp_replicate`"),
        ("tp", "`tp` is not axis=size", "dp=2,tp=4"),
        ("tp=2,", "`` is not axis=size", "dp=2,tp=4"),
        ("=2", "`=2` is not axis=size", "dp=2,tp=4"),
        ("tp=2,tp=2", "the axis `tp` twice", ""),
        ("tp=0", "the size of `tp` is `0`, not a whole number of at least 1", ""),
        ("tp=-2", "the size of `tp` is `-2`", ""),
        ("tp=two", "the size of `tp` is `two`", ""),
        ("tp=", "the size of `tp` is ``", ""),
        ("tp=2.0", "the size of `tp` is `2.0`", ""),
        ("tp=1_0", "the size of `tp` is `1_0`", ""),
        ("tp=٢", "the size of `tp` is `٢`", ""),
        ("tp=99999999999999999999", "the size of `tp` is", ""),
    ],
)
def test_a_wrong_mesh_is_told_with_what_to_write(text: str, message: str, hint: str) -> None:
    with pytest.raises(MeshError) as caught:
        parse_mesh(text)
    assert message in str(caught.value)
    assert hint in caught.value.hint


@given(st.dictionaries(st.sampled_from(MESH_AXES), st.integers(1, 10_000), min_size=1))
def test_every_mesh_reads_back_as_it_was_spelt(mesh: dict[str, int]) -> None:
    assert list(parse_mesh(spell_mesh(mesh)).items()) == list(mesh.items())


@given(st.text())
def test_any_text_is_a_mesh_or_a_mesh_error(text: str) -> None:
    try:
        assert all(size >= 1 for size in parse_mesh(text).values())
    except MeshError as error:
        assert str(error)
