"""Comments and where they do not start."""

import io
import tokenize

from hypothesis import given, settings
from hypothesis import strategies as st

from hplint.text.comments import python_comments, yaml_comments
from hplint.text.span import Span


def test_a_yaml_comment_runs_to_the_end_of_its_line() -> None:
    text = "# one\r\na: b # two\nc: d#e\n#three"
    found = list(yaml_comments(text))
    assert [c.text for c in found] == ["# one", "# two", "#three"]
    assert [text[slice(*c.span)] for c in found] == ["# one", "# two", "#three"]


def test_a_hash_inside_an_opaque_scalar_starts_no_comment() -> None:
    text = "a: 'b # c' # d"
    assert [c.text for c in yaml_comments(text, [Span(3, 10)])] == ["# d"]


def test_a_comment_may_follow_a_byte_order_mark() -> None:
    assert [c.span for c in yaml_comments("\ufeff# hplint: tp=2")] == [Span(1, 15)]


def test_python_strings_hold_no_comments() -> None:
    text = 'a = "# no"  # one\nb = \'\'\'\n# no\n\'\'\'  # two\nc = r"\\"  # no" # three\nd = f"{x}#no"#four'
    assert [c.text for c in python_comments(text)] == ["# one", "# two", "# three", "#four"]


def test_broken_python_still_has_comments() -> None:
    assert [c.text for c in python_comments('x = "unclosed # no\n# yes\ny = """ # no\n')] == ["# yes"]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(["a", "'", '"', "'''", '"""', "#", "\\", "\n", " ", "x = ", "r"]), max_size=25))
def test_python_comments_are_those_of_the_tokenizer(parts: list[str]) -> None:
    text = "".join(parts)
    found = [c.text for c in python_comments(text)]
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return
    if not any(t.type == tokenize.ERRORTOKEN for t in tokens):
        assert found == [t.string for t in tokens if t.type == tokenize.COMMENT]
