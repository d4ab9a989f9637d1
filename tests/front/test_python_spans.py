"""Spans of Python plans: characters, whatever stands before them on the line."""

import pytest
from python_samples import IMPORTS, cuts, read

from hplint.front.python.plan import read_python
from hplint.text.source import Source

PLAN = '{"model.ä.mlp": ModuleShardingSpec(params={"wé": {TP: Shard(0)}}, region_dispatch=True)}'


def tokens(text: str) -> dict[str, str]:
    document = read_python(Source("plan.py", text))
    (plan,) = document.plans
    (entry,) = plan.entries
    layout = entry.contract["params"].layouts["wé"]
    return {
        "match": document.source.cut(entry.match.span),
        "entry": document.source.cut(entry.span),
        "key": document.source.cut(entry.keys["params"]),
        "name": document.source.cut(layout.name_span),
        "axis": document.source.cut(layout.axis_spans["tp"]),
        "placement": document.source.cut(layout.placement_spans["tp"]),
        "flag": document.source.cut(entry.region_dispatch.span),
        "anchor": document.source.cut(plan.anchor),
    }


EXPECTED = {
    "match": '"model.ä.mlp"',
    "entry": PLAN[1:-1],
    "key": "params",
    "name": '"wé"',
    "axis": "TP",
    "placement": "Shard(0)",
    "flag": "True",
    "anchor": "plan",
}


@pytest.mark.parametrize(
    "before",
    ["", "x = 'é'; ", "x = '𝔘'; y = 'ü'; ", "\x0c", "if 1:\n\t", "if 1:\n\x0c\t", "x = '\u2028'; ", "x = '\x85\x0b'; ",
     "x = '''é\n\n'''; ", "ünïcödé = 1; ", "x = (1,\\\n'é'); "],
)  # fmt: skip
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_spans_cut_out_the_tokens(before: str, ends: str, bom: str) -> None:
    text = bom + (f"{IMPORTS}{before}plan = {PLAN}\n").replace("\n", ends)
    assert tokens(text) == EXPECTED


def test_a_bom_in_front_of_the_first_line_moves_nothing() -> None:
    assert tokens(f"\ufeffplan = {PLAN}") == EXPECTED


@pytest.mark.parametrize("text", ['f"model.{"a"}"', '("model" ".a")', '"model." + "a"', "r'model.a'", '"""model.a"""'])
def test_the_key_is_marked_as_written(text: str) -> None:
    if text == 'f"model.{"a"}"':
        text = "f'model.{\"a\"}'"
    document = read(f"plan = {{{text}: ModuleShardingSpec()}}")
    (plan,) = document.plans
    assert plan.entries[0].match.value == "model.a"
    assert document.source.cut(plan.entries[0].match.span) == text.strip("()")


def test_a_constant_is_marked_where_it_is_written() -> None:
    document = read('AXIS = "tpx"\nplan = {n: ModuleShardingSpec(params={"w": {AXIS: Shard(0)}}) for n in ("a", "b")}')
    (plan,) = document.plans
    assert [document.source.cut(e.match.span) for e in plan.entries] == ['"a"', '"b"']
    assert document.source.cut(plan.entries[0].contract["params"].layouts["w"].axis_spans["tpx"]) == '"tpx"'


def test_a_field_by_position_has_its_value_for_a_key() -> None:
    document = read('plan = {"a": ModuleShardingSpec({"w": {TP: Shard(0)}})}')
    assert document.source.cut(document.plans[0].entries[0].keys["params"]) == '{"w": {TP: Shard(0)}}'


@pytest.mark.parametrize(
    ("text", "marked", "message"),
    [
        ("x = (1,\n", "(", "was never closed"),
        ("é = 'ü' + )", ")", "unmatched"),
        ("x = 1\n\tx = 2", "", "indent"),
        ("x = 'abc", "'", "unterminated"),
        ("x = 1 +\r\ny = 2", "", "invalid syntax"),
        ("x = 'é\0'", "\0", "null byte"),
        ("x = '\ud800'", "\ud800", "surrogate"),
        ("x = " + "(" * 5000, "(", ""),
        ("x = 1" + "+1" * 20000, "x", "nested too deeply"),
        ("x = " + "-" * 20000 + "1", "x", "nested too deeply"),
        ("x = f'{a b}'", "", ""),
        ("def f(:\n    pass", ":", "invalid syntax"),
        ("x = " + "9" * 5000, "", ""),
        ("\ufeffx = )", ")", "unmatched"),
        ("y = 1\rx = )", ")", "unmatched"),
    ],
)
def test_what_does_not_parse_is_one_syntax_error_at_its_place(text: str, marked: str, message: str) -> None:
    document = read_python(Source("plan.py", text))
    assert document.plans == ()
    (fault,) = document.faults
    assert fault.rule == "syntax-error"
    assert message in fault.data["message"]
    assert fault.data["help"] == ""
    assert 0 <= fault.span.start <= fault.span.end <= len(text)
    if marked:
        assert document.source.cut(fault.span) == marked


def test_an_error_at_the_end_of_a_line_stays_on_its_line() -> None:
    document = read_python(Source("plan.py", "x = 1\ny = 2 +\nz = 3\n"))
    (fault,) = document.faults
    assert document.source.position(fault.span.start).line == 2


def test_warnings_of_the_parser_are_not_shown(recwarn: pytest.WarningsRecorder) -> None:
    document = read('plan = {"a\\d": ModuleShardingSpec()}\nx = 1 is 1')
    assert document.plans[0].entries[0].match.value == "a\\d"
    assert not list(recwarn)


def test_an_expression_inside_an_f_string_is_marked_as_the_whole_string() -> None:
    document = read('def f(a):\n    return {f"model.{a}.{a + 1}": ModuleShardingSpec()}')
    assert cuts(document, document.plans[0].faults) == [("not-evaluated", 'f"model.{a}.{a + 1}"')]
