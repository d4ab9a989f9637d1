"""Where the cursor stands in a text that need not parse."""

from pathlib import Path

import pytest
from checking import FIXTURES, check_plans, fixture_tree, mesh_topology
from hypothesis import given, settings
from hypothesis import strategies as st

from hplint.ide.lsp.completion import completions
from hplint.ide.lsp.cursor import cursor_at
from hplint.ide.lsp.desk import Sheet
from hplint.ide.lsp.hover import hover
from hplint.text.source import Source

TEXTS = sorted((FIXTURES / "plans" / "ok").glob("*.yaml"))


@pytest.mark.parametrize(
    ("text", "path", "on", "typed"),
    [
        ("- match: a.b|", ("match",), "value", "a.b"),
        ("- match: a\n  pa|", (), "key", "pa"),
        ("- match: a\n  params:\n    w|", ("params",), "key", "w"),
        ("- match: a\n  params:\n    w: {t|", ("params", "w"), "key", "t"),
        ("- match: a\n  params:\n    w: {tp: s|", ("params", "w", "tp"), "value", "s"),
        ("- match: a\n  params:\n    w: {tp: shard(0), c|", ("params", "w"), "key", "c"),
        ("- match: a\n  params:\n    w:\n      tp: s|", ("params", "w", "tp"), "value", "s"),
        ("- match: a\n  params: {w: {tp: shard(0)}, v|", ("params",), "key", "v"),
        ("- match: a\n  params: {w: {tp: shard(0)},\n           v: {t|", ("params", "v"), "key", "t"),
        ("- {match: a, out_dst: a|", ("out_dst",), "value", "a"),
        ("plan_overrides:\n- match: a\n  out_dst: {tp: |", ("out_dst", "tp"), "value", ""),
        ("plan_overrides:\n  - match: a\n    in_src:\n      h: {tp: |}\n", ("in_src", "h", "tp"), "value", ""),
        ("plan_overrides:\n  a.b:\n    params:\n      w|", ("params",), "key", "w"),
    ],
)
def test_the_keys_around_the_cursor_are_found(text: str, path: tuple[str, ...], on: str, typed: str) -> None:
    found = cursor_at(text.replace("|", ""), text.index("|"))
    assert (found.path, found.on, found.typed) == (path, on, typed)


def test_the_match_of_the_entry_is_found_below_the_cursor_too() -> None:
    text = "- match: b\n  when: cp\n- out_dst: |\n  match: 'a.*'  # here\n- match: c\n"
    assert cursor_at(text.replace("|", ""), text.index("|")).match == "a.*"


def sheet_of(path: Path) -> Sheet:
    text = path.read_text(encoding="utf-8")
    plans = check_plans(text, mesh_topology({"dp": 2, "tp": 2}), fixture_tree("toy")).plans
    return Sheet("file:///plan.yaml", Source("plan.yaml", text), checked=list(plans), plans=list(plans))


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: p.stem)
def test_completion_and_hover_answer_at_every_place_of_a_plan(path: Path) -> None:
    sheet = sheet_of(path)
    for offset in range(0, len(sheet.source.text) + 1, 7):
        completions(sheet, sheet.plans, offset, "utf-16")
        hover(sheet, offset)


@settings(max_examples=200)
@given(st.text(st.sampled_from("- :{}[]\n#'\"match a.*params{tp shard(0),"), max_size=80), st.data())
def test_no_text_is_too_broken_for_completion(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    found = cursor_at(text, offset)
    assert text[found.start : offset] == found.typed
    completions(Sheet("file:///p.yaml", Source("p.yaml", text)), (), offset, "utf-8")
