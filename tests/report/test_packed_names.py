"""Many names in little room."""

from hypothesis import given
from hypothesis import strategies as st

from hplint.report.packed_names import pack, unpack

SEGMENTS = st.sampled_from(["layers", "0", "1", "2", "10", "007", "٣", "mlp", "", "*", "-", "1-2", "a,b"])
NAMES = st.lists(st.lists(SEGMENTS, min_size=1, max_size=4).map(".".join), unique=True, max_size=40)


@given(NAMES)
def test_names_come_back_as_they_were(names: list[str]) -> None:
    assert sorted(unpack(pack(names))) == sorted(names)


def test_equal_layers_take_the_room_of_one() -> None:
    names = [f"model.layers.{i}.experts.{j}.up_proj" for i in range(61) for j in range(256)]
    assert pack(names) == [[["model", "layers", None, "experts", None, "up_proj"], [["0-60", [["0-255", 0]]]]]]
