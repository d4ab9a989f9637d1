"""`# hplint:` comments."""

import pytest

from hplint.front.directives import read_directives
from hplint.front.read import read_document
from hplint.text.comments import yaml_comments


def read(text: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    directives, faults = read_directives(yaml_comments(text))
    for d in directives:
        assert text[slice(*d.span)] == d.value
    return [(d.key, d.value) for d in directives], [(f.rule, text[slice(*f.span)]) for f in faults]


def test_values_may_hold_equals_signs() -> None:
    text = "# hplint: model=py:toy.py:toy?layers=2 mesh=dp=2,cp=1,tp=2\n#hplint: ep=2 derive=false\n"
    expected = [("model", "py:toy.py:toy?layers=2"), ("mesh", "dp=2,cp=1,tp=2"), ("ep", "2"), ("derive", "false")]
    assert read(text) == (expected, [])


def test_an_unknown_key_is_a_fault_at_the_key() -> None:
    assert read("# hplint: modle=x seq_len=8") == ([("seq_len", "8")], [("unknown-key", "modle")])


@pytest.mark.parametrize(
    "word",
    ["mesh=", "mesh=2", "mesh=tp=0", "mesh=tp=2,tp=4", "ep=two", "ep=0", "derive=no", "seq_len=-1", "loss_parallel=1"],
)
def test_a_value_that_cannot_be_read_is_a_fault_and_no_directive(word: str) -> None:
    key, _, value = word.partition("=")
    assert read(f"# hplint: {word} src=lib") == ([("src", "lib")], [("wrong-type", value or key)])


def test_suppressions_are_left_to_others_with_their_reasons() -> None:
    text = "# hplint: ignore[HPL101] it is meant\n# hplint: ignore-file[HPL2]\n# noqa: HPL101\n# hplints: x\n"
    assert read(text) == ([], [])


def test_directives_are_read_from_comments_only() -> None:
    text = 'a: "# hplint: ep=2"\nb: |\n  # hplint: ep=3\nc: d # hplint: ep=4\n'
    document = read_document("plan.yaml", text.encode())
    assert [d.value for d in document.directives] == ["4"]


def test_directives_of_a_broken_file_are_read() -> None:
    document = read_document("plan.yaml", b"# hplint: mesh=tp=2\na: [\n")
    assert [d.value for d in document.directives] == ["tp=2"]
    assert [f.rule for f in document.faults] == ["syntax-error"]


@pytest.mark.parametrize("spaced", ["mesh = dp=2,tp=2", "mesh =dp=2,tp=2", "mesh= dp=2,tp=2"])
def test_white_space_around_the_equals_sign_is_one_fault(spaced: str) -> None:
    assert read(f"# hplint: {spaced} ep=2") == ([("ep", "2")], [("wrong-type", spaced)])


def test_a_value_that_is_left_out_before_the_next_key_is_no_spaced_one() -> None:
    assert read("# hplint: mesh= ep=2") == ([("ep", "2")], [("wrong-type", "mesh")])
