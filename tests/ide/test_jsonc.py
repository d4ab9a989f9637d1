"""Members are added to JSON with comments as text: everything else stays as it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hplint.ide.jsonc import JsoncError, add_item, add_member, parse

SETTINGS = """\
// mine
{
  "a": 1, // one: {"
  /* two, "b" */
  "yaml.schemas": {
    "https://example.com/s.json": ["*.x"], // trailing
  },
  "tasks": [ {"label": "x"} ] // end
}
"""


def test_comments_and_trailing_commas_are_read() -> None:
    assert parse(SETTINGS) == {
        "a": 1, "yaml.schemas": {"https://example.com/s.json": ["*.x"]}, "tasks": [{"label": "x"}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "key"), [((), "new"), (("yaml.schemas",), "new"), (("tasks",), None)], ids=["top", "nested", "array"]
)
def test_additions_keep_every_line_that_is_there(path: tuple[str, ...], key: str | None) -> None:
    value = {"x": [1, 2]}
    after = add_item(SETTINGS, path, value) if key is None else add_member(SETTINGS, path, key, value)
    for word in ("// mine", '// one: {"', '/* two, "b" */', "// trailing", "// end", '"a": 1,'):
        assert word in after
    here = parse(after)
    for part in path:
        here = here[part]
    assert (here[-1] if key is None else here[key]) == value


def test_an_addition_takes_the_indentation_of_the_file() -> None:
    assert add_member('{\n\t"a": 1\n}\n', (), "b", [2]) == '{\n\t"a": 1,\n\t"b": [\n\t\t2\n\t]\n}\n'
    assert add_member('{\n  "a": 1, // c\n}', (), "b", 2) == '{\n  "a": 1, // c\n  "b": 2\n}'
    assert add_member('{\n  "a": 1 // c\n}', (), "b", 2) == '{\n  "a": 1, // c\n  "b": 2\n}'
    assert add_member("{}", (), "b", 2) == '{\n    "b": 2\n}'


@pytest.mark.parametrize(
    ("text", "path", "key"),
    [
        ('{"a": 1}', (), "a"),
        ('{"a": 1}', ("a",), "b"),
        ("[]", (), "a"),
        ("{", (), "a"),
        ("{'a': 1}", (), "b"),
        ("}", (), "b"),
    ],
)
def test_what_cannot_take_an_addition_is_refused(text: str, path: tuple[str, ...], key: str) -> None:
    with pytest.raises(JsoncError):
        add_member(text, path, key, 1)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4), VALUES, st.sampled_from([None, 2, "\t"]))
def test_any_object_takes_any_member(data: dict[str, Any], value: Any, indent: Any) -> None:
    data.pop("key", None)
    assert parse(add_member(json.dumps(data, indent=indent), (), "key", value)) == data | {"key": value}
