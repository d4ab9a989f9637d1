"""The composer: same values as the safe loader, exact places, bounds."""

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hplint.front.nodes import Mapping, Node, Scalar, Sequence, UnknownNode, static
from hplint.front.yaml import nodes as yaml_nodes
from hplint.front.yaml.nodes import Stream, compose

PLANS = [
    '- match: "*.mlp"\n  params:\n    up_proj.weight: {tp: shard(0)}  # r\n  out_dst: auto\n',
    "plan_overrides:\n- match: '*.self_attn'\n  when: cp\n  region_dispatch: false\n  inner_wrapper: sdpa_hf\n",
    "a: &a {tp: shard(1)}\nb:\n  <<: *a\n  cp: replicate\nc: [*a, 'it''s', \"\\xe9\"]\nd: |\n  x # y\n\n  z\ne: >\n f",
    "\ufeffx: é 𝄞\r\ny:\r\n- 1:30\r\n- on\r\n- 0x1F\r\n- ~\r\n",
    '{"match": "m", "params": {"w": {"tp": "shard(0)"}}, "n": [1, 2.5, null, true]}',
    "k: !!str 5\nl: &x !!int '7'\nm: &e\nn: *e\n",
    "a: plain text\n  over lines\nb: 'quoted\n\n  over lines'\n? long\n: 1\n",
]


def walk(node: Node) -> Any:
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        if isinstance(found, Sequence):
            stack += found.items
        elif isinstance(found, Mapping):
            for pair in (*found.items, *found.merged):
                stack += pair


def one(text: str) -> Node:
    stream = compose(text)
    assert stream.error is None
    assert len(stream.trees) == 1
    return stream.trees[0].root


def check_places(text: str, stream: Stream) -> None:
    """Every span lies in the text, and what it cuts out means the node's value."""
    for tree in stream.trees:
        for problem in tree.problems:
            assert 0 <= problem.span.start <= problem.span.end <= len(text)
        for node in walk(tree.root):
            start, end = node.span
            assert 0 <= start <= end <= len(text)
            token = text[start:end]
            if isinstance(node, Scalar) and isinstance(node.value, str) and not node.kind and not node.quoted:
                assert node.value.split() == token.split()
            if isinstance(node, Scalar) and node.quoted:
                assert token[0] in "\"'|>"
                assert token[0] in "|>" or token[-1] == token[0]
    if stream.error:
        assert 0 <= stream.error.span.start <= stream.error.span.end <= len(text)


def loads(text: str) -> Iterator[Any]:
    """What the safe loaders make of a text: the two accept slightly different ones."""
    for loader in (yaml.CSafeLoader, yaml.SafeLoader):
        with suppress(yaml.YAMLError):
            yield yaml.load(text, Loader=loader)


def tokens(stream: Stream) -> list[list[Any]]:
    """Values with their places, but for those that nobody wrote."""
    return [[(type(n), n.span, static(n)) for n in walk(t.root) if n.span[0] < n.span[1]] for t in stream.trees]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(v, b[k]) for k, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("text", PLANS)
def test_values_are_those_of_the_safe_loader(text: str) -> None:
    assert same(static(one(text)), yaml.safe_load(text))


@pytest.mark.parametrize("text", PLANS)
def test_spans_cut_out_their_tokens(text: str) -> None:
    check_places(text, compose(text))


@pytest.mark.parametrize("text", PLANS)
def test_both_parsers_give_the_same_nodes(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = compose(text)
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    assert compose(text) == quick


@pytest.mark.parametrize(
    ("text", "token", "value"),
    [
        ("\ufeffa: b", "b", "b"),
        ("é: 1\r\nb: 𝄞𝄞 # c", "𝄞𝄞", "𝄞𝄞"),
        ("a: é\x85b: c", "c", "c"),
        ('a: "x\u2028 y"\nb: c', "c", "c"),
        ("a: &anchor   !!str   text # c", "text", "text"),
        ("a: &anchor # c\n  'text'", "'text'", "text"),
        ("a: |\n  one\n  two\n\n\n# c\nb: 1", "|\n  one\n  two", "one\ntwo\n"),
        ("a:\tb", "b", "b"),
    ],
)
def test_a_scalar_is_found_at_its_own_token(text: str, token: str, value: str) -> None:
    root = one(text)
    tokens = {(text[n.span.start : n.span.end], n.value) for n in walk(root) if isinstance(n, Scalar)}
    assert (token, value) in tokens


def test_a_block_collection_ends_with_its_last_token() -> None:
    text = "a:\n  b: &x [1]\n  c: *x   # comment\n\n# more\nd: 1\n"
    root = one(text)
    assert isinstance(root, Mapping)
    inner = root.items[0][1]
    assert text[inner.span.start : inner.span.end] == "b: &x [1]\n  c: *x"
    assert text[root.span.start : root.span.end] == text.rstrip()


def test_duplicate_keys_are_kept_and_the_last_counts() -> None:
    root = one("a: 1\na: 2\n")
    assert isinstance(root, Mapping)
    assert len(root.items) == 2
    assert static(root) == {"a": 2}


def test_a_merge_brings_in_only_what_is_not_written() -> None:
    root = one("x: &x {aa: 1, bb: 2}\ny: &y {bb: 3, cc: 4}\nz:\n  aa: 0\n  <<: [*x, *y]\n")
    assert static(root)["z"] == {"bb": 2, "cc": 4, "aa": 0}


@pytest.mark.parametrize(
    ("text", "token", "part"),
    [
        ("a: *x", "*x", "no anchor"),
        ("&a [*a]", "*a", "inside its own anchor"),
        ("a: &x 1\nb: &x 2", "2", "set twice"),
        ("a: !thing b", "!thing", "`!thing`"),
        ("a: !thing [b]", "!thing", "`!thing`"),
        ("a: !!python/name:os.system", "!!python/name:os.system", "python/name:os.system"),
        ("{a: b}: c", "{a: b}", "cannot be a key"),
        ("x: {{ y }}", "{ y }", "template"),
        ("a: 2001-13-01", "2001-13-01", "no date"),
        ("a: =", "=", "quote it"),
        ("a: {<<: 1}", "1", "merges mappings only"),
        ("a: " + "9" * 5000, "9" * 5000, "is no int"),
    ],
)
def test_what_a_safe_loader_refuses_is_a_problem_at_its_place(text: str, token: str, part: str) -> None:
    with pytest.raises((yaml.YAMLError, ValueError)):
        if "*a" in text:
            raise ValueError
        yaml.safe_load(text)
    (tree,) = compose(text).trees
    assert part in tree.problems[0].message
    assert text[slice(*tree.problems[0].span)] == token


def test_dates_and_binaries_are_no_strings() -> None:
    root = one("- 2001-01-01\n- 2001-12-14t21:59:43.10-05:00\n- !!binary aGVsbG8=\n")
    assert isinstance(root, Sequence)
    assert [i.kind for i in root.items if isinstance(i, Scalar)] == ["date", "date", "binary value"]


@pytest.mark.parametrize(
    ("text", "token", "part"),
    [
        ("a:\n\tb: 1", "\t", "tab"),
        ("a: b: c", ":", "no mapping can start"),
        ('a: "x\nb: 1\n', '"', "never closed"),
        ("a: [1, 2\nb: 3\n", ":", "not closed"),
        ("a: @x", "@", "cannot start a value"),
        ("a: 'b\x07'", "\x07", "U+0007"),
        ("a: 1\n b: 2", ":", "no mapping can start"),
        ('a: "\\q"', "\\", "unknown escape"),
        ("- a\nb: 1", "b", "neither"),
    ],
)
@pytest.mark.parametrize("native", [True, False])
def test_a_syntax_error_is_told_in_plain_words_at_its_place(
    text: str, token: str, part: str, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml, "__with_libyaml__", native)
    error = compose(text).error
    assert error is not None
    assert part in error.message
    if native:
        assert text[slice(*error.span)] == token


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("text", ["[" * 10_000, "{a: " * 10_000, "- " * 10_000, "[" * 10_000 + "]" * 10_000])
def test_deep_nesting_is_an_error_with_a_place(text: str, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "__with_libyaml__", native)
    error = compose(text).error
    assert error is not None
    assert "levels deep" in error.message
    assert 0 < error.span.start < len(text)


def test_an_alias_bomb_is_an_error_at_the_alias_that_goes_too_far() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    text = "\n".join(lines)
    error = compose(text).error
    assert error is not None
    assert "1,000,000 values" in error.message
    assert text[slice(*error.span)].startswith("*a")


def test_a_merge_bomb_is_an_error() -> None:
    lines = ["a0: &a0 {x: 1}"] + [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}" for i in range(1, 12)]
    assert compose("\n".join(lines)).error is not None


def test_a_text_beyond_the_size_limit_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_nodes, "SIZE_LIMIT", 100)
    error = compose("a: 1\n" * 100).error
    assert error is not None
    assert "too large" in error.message


def test_what_only_the_pure_parser_accepts_is_read() -> None:
    text = "%UNKNOWN directive\n---\na: 1\n"
    assert static(one(text)) == {"a": 1}


def mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(PLANS))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.integers(0, 4)))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[end:]
    return text


PIECES = [
    "", "\n", "\t", " ", ":", ": ", "- ", "[", "]", "{", "}", "'", '"', "#", " #", "&x ", "*x", "<<: *a", "!t ", "|\n",
    "é", "𝄞", "\ufeff", "\r", "\x85", "\u2028", "\\", "---\n", "...", "%", "?", ",", "0", "!!int ", "\x00", "~", "on",
    "\n  ",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.composite(mutated)())
def test_any_mutation_of_a_plan_is_read_with_places_inside_the_text(text: str) -> None:
    stream = compose(text)
    check_places(text, stream)
    refused = stream.error or len(stream.trees) > 1 or any(t.problems for t in stream.trees)
    if not refused and stream.trees:
        given_value = static(stream.trees[0].root)
        unknown = any(isinstance(n, UnknownNode) or getattr(n, "kind", "") for n in walk(stream.trees[0].root))
        if not unknown and "<<" not in text and "\t" not in text:
            assert any(same(given_value, loaded) for loaded in loads(text.lstrip("\ufeff")))


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab:-[]{},&*!|>'\"#%@?~ \t\r\n\ufeffé\x85\u2028𝄞\x00\\x0"), max_size=40))
def test_any_text_is_read_with_places_inside_the_text(text: str) -> None:
    check_places(text, compose(text))


@settings(max_examples=200, deadline=None)
@given(st.composite(mutated)())
def test_where_both_parsers_accept_they_give_the_same_nodes(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        quick = compose(text)
        patch.setattr(yaml, "__with_libyaml__", False)
        slow = compose(text)
    # They differ on what a lone `!` tags.
    if not quick.error and not slow.error and not re.search(r"!\s", text):
        assert repr(tokens(quick)) == repr(tokens(slow))
