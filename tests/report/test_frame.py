import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hplint.report.frame import Mark, frame
from hplint.report.style import Style
from hplint.report.visible import width
from hplint.text.source import Source
from hplint.text.span import Span

PLAN = """\
plan_overrides:
- match: model.layers.0.mlp
  params:
    up_proj.weight: {tp: shard(0), tp: shrd(1)}
  in_src: {x: {tp: replicate}}
  in_dst: {x: {tp: replicate}}

- match: lm_head
  out_src: none
  out_dst: auto
"""


def span(text: str, token: str, nth: int = 0) -> Span:
    start = -1
    for _ in range(nth + 1):
        start = text.index(token, start + 1)
    return Span(start, start + len(token))


def shown(text: str, *marks: Mark, **style: object) -> str:
    return "\n".join(frame(Source("plan.yaml", text), marks, Style(**style))) + "\n"  # type: ignore[arg-type]


def test_the_place_is_marked_between_its_neighbours() -> None:
    assert shown(PLAN, Mark(span(PLAN, "shrd(1)"))) == (
        "3 │   params:\n"
        "4 │     up_proj.weight: {tp: shard(0), tp: shrd(1)}\n"
        "  │                                        ^^^^^^^\n"
        "5 │   in_src: {x: {tp: replicate}}\n"
    )


def test_places_of_one_line_share_it_and_labels_hang_below_their_own() -> None:
    marks = [Mark(span(PLAN, "tp", 1)), Mark(span(PLAN, "tp"), "first here", False)]
    marks.append(Mark(span(PLAN, "up_proj.weight"), "of this parameter", False))
    assert shown(PLAN, *marks) == (
        "3 │   params:\n"
        "4 │     up_proj.weight: {tp: shard(0), tp: shrd(1)}\n"
        "  │     --------------   --            ^^\n"
        "  │     │                │\n"
        "  │     │                first here\n"
        "  │     of this parameter\n"
        "5 │   in_src: {x: {tp: replicate}}\n"
    )


def test_far_places_are_parted_by_a_gap_and_the_gutter_is_as_wide_as_the_largest_number() -> None:
    text = PLAN + "".join(f"# line {n}\n" for n in range(11, 21))
    marks = [Mark(span(text, "line 18")), Mark(span(text, "mlp"), "the entry", False)]
    assert shown(text, *marks) == (
        " 2 │ - match: model.layers.0.mlp\n"
        "   │                         --- the entry\n"
        " … │\n"
        "17 │ # line 17\n"
        "18 │ # line 18\n"
        "   │   ^^^^^^^\n"
        "19 │ # line 19\n"
    )


def test_a_single_hidden_line_is_shown_rather_than_parted() -> None:
    marks = [Mark(span(PLAN, "in_dst")), Mark(span(PLAN, "params"), "here", False)]
    assert shown(PLAN, *marks).splitlines()[2].startswith("4 │     up_proj")


def test_a_place_over_several_lines_has_a_bar_and_no_blank_end() -> None:
    entry = Span(PLAN.index("- match"), PLAN.index("- match: lm_head"))
    assert shown(PLAN, Mark(entry)) == (
        "1 │   plan_overrides:\n"
        "2 │ ╭ - match: model.layers.0.mlp\n"
        "3 │ │   params:\n"
        "4 │ │     up_proj.weight: {tp: shard(0), tp: shrd(1)}\n"
        "5 │ │   in_src: {x: {tp: replicate}}\n"
        "6 │ ╰   in_dst: {x: {tp: replicate}}\n"
    )


def test_a_labelled_place_over_several_lines_ends_in_its_label() -> None:
    entry = Span(PLAN.index("- match: lm_head"), len(PLAN))
    assert shown(PLAN, Mark(span(PLAN, "none")), Mark(entry, "this entry", False), encoding="ascii") == (
        " 8 | / - match: lm_head\n"
        " 9 | |   out_src: none\n"
        "   | |            ^^^^\n"
        "10 | |   out_dst: auto\n"
        "   | \\- this entry\n"
    )


def test_a_very_tall_place_is_shown_by_its_ends() -> None:
    text = "".join(f"line {n}\n" for n in range(1, 31))
    lines = shown(text, Mark(Span(0, len(text)))).splitlines()
    assert [line.split(" ")[0] or line.split(" ")[1] for line in lines] == ["1", "2", "3", "…", "29", "30"]
    assert lines[3] == " … │ │"


def test_tabs_and_wide_characters_keep_the_markers_below_their_tokens() -> None:
    text = "a:\n\t中文: {tp: x}\n"
    line, markers = shown(text, Mark(span(text, "tp"))).splitlines()[1:3]
    assert line == "2 │     中文: {tp: x}"
    assert width(markers[: markers.index("^")]) == width(line[: line.index("tp")])


def test_combining_characters_take_no_column() -> None:
    text = "e\u0301e\u0301: tp\n"
    assert shown(text, Mark(span(text, "tp"))).splitlines()[1] == "  │     ^^"


def test_a_terminal_in_ascii_gets_ascii_and_markers_still_fit() -> None:
    text = "中文: {tp: x}\n"
    assert shown(text, Mark(span(text, "tp")), encoding="ascii") == (
        "1 | \\u4e2d\\u6587: {tp: x}\n"
        "  |                ^^\n"
    )  # fmt: skip


def test_control_and_direction_characters_are_made_visible() -> None:
    text = "a: \x1b[31m\u202eb\x7f\x85\udc80\n"
    assert shown(text, Mark(span(text, "a"))).splitlines()[0] == "1 │ a: ␛[31m<U+202E>b␡<U+0085><U+DC80>"
    assert shown(text, Mark(span(text, "a")), encoding="ascii").splitlines()[0].startswith("1 | a: ^[[31m<U+202E>b^?")


def test_a_long_line_is_cut_around_each_of_its_places() -> None:
    text = "a: [" + ", ".join(f"item{n}" for n in range(400)) + "]\n"
    marks = [Mark(span(text, "item200,")), Mark(span(text, "item399"), "the last", False)]
    lines = shown(text, *marks, width=60).splitlines()
    assert len(lines) == 4
    for line, markers, token in ((lines[0], lines[1], "item200,"), (lines[2], lines[3], "item399")):
        start = line.index(token)
        assert re.sub(r"[^-^]", " ", markers)[start : start + len(token)] in ("^" * len(token), "-" * len(token))
        assert width(line) <= 60 and line[4] == "…"
    assert lines[0].endswith("…") and lines[3].endswith("the last")


def test_one_line_of_many_megabytes_is_no_trouble() -> None:
    text = "x" * 3_000_000 + "tp" + "y" * 3_000_000
    line, markers = shown(text, Mark(span(text, "tp"))).splitlines()
    assert line.index("tpy") == markers.index("^^")


def test_windows_line_ends_and_a_byte_order_mark_do_not_show() -> None:
    text = "\ufeffa: 1\r\nb: 2\r\nc: 3\r\n"
    assert shown(text, Mark(span(text, "a"))) == "1 │ a: 1\n  │ ^\n2 │ b: 2\n"
    assert shown(text, Mark(span(text, "b: 2\r\n"))) == "1 │ a: 1\n2 │ b: 2\n  │ ^^^^\n3 │ c: 3\n"


def test_empty_places_get_one_marker() -> None:
    assert shown("abc", Mark(Span(3, 3))) == "1 │ abc\n  │    ^\n"
    assert shown("abc\n", Mark(Span(4, 4))).splitlines()[-1] == "  │ ^"
    assert frame(Source("x", ""), [Mark(Span(0, 0))], Style()) == []


def test_overlapping_places_get_rows_of_their_own() -> None:
    marks = [Mark(span(PLAN, "shrd(1)")), Mark(span(PLAN, "tp: shrd(1)"), "the layout", False)]
    assert shown(PLAN, *marks).splitlines()[2:4] == [
        "  │                                        ^^^^^^^",
        "  │                                    ----------- the layout",
    ]


def test_colours_change_nothing_else() -> None:
    marks = [Mark(span(PLAN, "tp", 1)), Mark(span(PLAN, "tp"), "first here", False)]
    marks.append(Mark(span(PLAN, "up_proj.weight"), "a label " * 30, False))
    painted = shown(PLAN, *marks, color=True)
    assert "\x1b[1;31m^^\x1b[0m" in painted
    plain = re.sub(r"\x1b\[[\d;]*m", "", painted)
    assert [line.rstrip() for line in plain.splitlines()] == shown(PLAN, *marks).splitlines()


TEXT = st.text(st.sampled_from("ab: {}[]\n\r\t中\u0301\x1b\u202e\ufeff\udc80") | st.characters(), max_size=200)


@given(
    TEXT, st.lists(st.tuples(st.integers(0, 210), st.integers(0, 210), st.text(max_size=60)), min_size=1, max_size=4),
    st.sampled_from(["utf-8", "ascii", "latin-1", "cp1252"]), st.integers(40, 120),
)  # fmt: skip
def test_any_places_in_any_text_have_a_frame_that_fits(
    text: str, places: list[tuple[int, int, str]], encoding: str, columns: int
) -> None:
    marks = [Mark(Span(a, b), label, n == 0) for n, (a, b, label) in enumerate(places)]
    style = Style(encoding=encoding, width=columns)
    for line in frame(Source("x", text), marks, style):
        assert "\n" not in line and "\x1b" not in line and "\u202e" not in line


@pytest.mark.parametrize("columns", [40, 60, 100])
@given(st.integers(0, 2000), st.integers(0, 90))
def test_lines_are_never_wider_than_the_terminal(columns: int, start: int, size: int) -> None:
    text = "abc 中文 " * 300
    start = min(start, len(text) - 1)
    for line in frame(Source("x", text), [Mark(Span(start, start + size))], Style(width=columns)):
        assert width(line) <= columns
