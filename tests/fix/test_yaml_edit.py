"""Edits of YAML and JSON plans: what they change, and what they leave alone to the byte."""

from collections.abc import Callable, Sequence

import pytest

from hplint.fix.edit import CannotRealise, apply
from hplint.fix.yaml_edit import realise
from hplint.front.read import read_document
from hplint.lint.proposal import AddEntries, AddItem, Change, Remove, RemoveEntry, Rename, Rewrite, SetField
from hplint.plan.layout import Layout
from hplint.plan.placement import REPLICATE, shard
from hplint.plan.plan import Plan
from hplint.text.span import Span

Changes = Callable[[Plan], Sequence[Change]]

PLAN = """\
# header
plan_overrides:
  # first entry
  - match: model.layers.0.mlp   # trailing
    when: cp
    params:
      up_proj.weight: {tp: shrd(0)}
      # own
      b: {tp: replicate, cp: partial}  # x
  - match: lm_head
    # about the flag
    region_dispatch: true
"""


def fix(text: str, changes: Changes, name: str = "plan.yaml") -> str:
    document = read_document(name, text.encode())
    plan = document.plans[0]
    after = apply(text, realise(document.source, plan, changes(plan)))
    again = read_document(name, after.encode())
    assert [f for f in again.faults if f.rule == "syntax-error"] == [
        f for f in document.faults if f.rule == "syntax-error"
    ], after
    return after


def lines(text: str) -> list[str]:
    return text.splitlines()


def layout(plan: Plan, index: int, tensor: str, field: str = "params") -> Layout:
    return plan.entries[index].contract[field].layouts[tensor]  # type: ignore[index]


# Renames


def test_a_rename_changes_the_token_alone() -> None:
    after = fix(PLAN, lambda p: [Rename(p.entries[0].match.span, "model.layers.1.mlp")])
    assert after == PLAN.replace("layers.0", "layers.1")


def test_a_part_of_a_token_may_be_renamed() -> None:
    text = '- match: "model.layers.0.mpl"\n  when: cp\n'

    def changes(plan: Plan) -> list[Change]:
        start = plan.entries[0].match.span.start + 16
        return [Rename(Span(start, start + 3), "mlp")]

    assert fix(text, changes) == text.replace("mpl", "mlp")


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("abc", "on", '"on"'),
        ("abc", "*.mlp", '"*.mlp"'),
        ("abc", "12", '"12"'),
        ("abc", "a: b", '"a: b"'),
        ("abc", "a #b", '"a #b"'),
        ("abc", "a\tb", '"a\\tb"'),
        ("abc", "model.layers.0.mlp", "model.layers.0.mlp"),
        ("'abc'", "it's", "'it''s'"),
        ("'abc'", "on", "'on'"),
        ('"abc"', 'say "x" \\', '"say \\"x\\" \\\\"'),
        ('"abc"', "é\U0001f600\x85", '"é\U0001f600\\u0085"'),
    ],
)
def test_a_rename_keeps_the_quotes_and_adds_them_where_the_text_needs_them(before: str, value: str, after: str) -> None:
    text = f"- match: {before}\n  when: cp\n"
    fixed = fix(text, lambda p: [Rename(p.entries[0].match.span, value)])
    assert fixed == text.replace(before, after)
    assert read_document("x.yaml", fixed.encode()).plans[0].entries[0].match.value == value


def test_within_braces_texts_with_commas_are_quoted() -> None:
    text = "- {match: a, when: cp}\n"
    assert fix(text, lambda p: [Rename(p.entries[0].match.span, "a,b")]) == '- {match: "a,b", when: cp}\n'


def test_a_key_is_not_renamed_to_one_that_is_there() -> None:
    text = "- match: a\n  params: {x: {tp: partial, cp: partial}}\n"
    with pytest.raises(CannotRealise, match="`cp` is written there already"):
        fix(text, lambda p: [Rename(layout(p, 0, "x").axis_spans["tp"], "cp")])


def test_a_word_of_a_directive_is_renamed_in_its_comment() -> None:
    text = "# hplint: modle=tree:x.json\n- match: abc\n  when: cp\n"
    assert fix(text, lambda p: [Rename(Span(10, 15), "model")]) == text.replace("modle", "model")


def test_a_tagged_or_block_text_is_not_renamed() -> None:
    for match in ("!!str a", "|-\n    a"):
        with pytest.raises(CannotRealise):
            fix(f"- match: {match}\n  when: cp\n", lambda p: [Rename(p.entries[0].match.span, "b")])


def test_a_value_is_rewritten_in_its_place() -> None:
    text = "- match: a\n  region_dispatch: True  # as built\n  params: {x: {tp: shrd(0)}}\n"
    after = fix(
        text,
        lambda p: [
            Rewrite(p.entries[0].region_dispatch.span, False),
            Rewrite(layout(p, 0, "x").placement_spans["tp"], shard(0)),
        ],
    )
    assert after == "- match: a\n  region_dispatch: false  # as built\n  params: {x: {tp: shard(0)}}\n"


# Removal


def test_an_entry_goes_with_its_own_comments() -> None:
    assert fix(PLAN, lambda p: [RemoveEntry(p.entries[0])]) == (
        "# header\nplan_overrides:\n  - match: lm_head\n    # about the flag\n    region_dispatch: true\n"
    )


def test_the_comments_of_the_neighbours_stay() -> None:
    text = "- match: a\n  when: cp\n  # of a\n# of b\n- match: b\n  when: cp\n\n# of c\n- match: c\n  when: cp\n"
    assert fix(text, lambda p: [RemoveEntry(p.entries[1])]) == (
        "- match: a\n  when: cp\n  # of a\n\n# of c\n- match: c\n  when: cp\n"
    )


def test_what_heads_the_file_and_directives_stay_when_the_first_entry_goes() -> None:
    rest = "- match: b\n  when: cp\n"
    for head in ("# This plan is for the small model.\n", "\n# hplint: mesh=tp=2\n"):
        assert fix(f"{head}- match: a\n  when: cp\n{rest}", lambda p: [RemoveEntry(p.entries[0])]) == head + rest


def test_blank_lines_do_not_double() -> None:
    text = "- match: a\n  when: cp\n\n- match: b\n  when: cp\n\n- match: c\n  when: cp\n"
    middle = "- match: a\n  when: cp\n\n- match: c\n  when: cp\n"
    last = "- match: a\n  when: cp\n\n- match: b\n  when: cp\n"
    assert fix(text, lambda p: [RemoveEntry(p.entries[1])]) == middle
    assert fix(text, lambda p: [RemoveEntry(p.entries[2])]) == last


def test_a_text_without_a_final_line_end_keeps_lacking_it() -> None:
    text = "- match: a\n  when: cp\n- match: b\n  when: cp"
    assert fix(text, lambda p: [RemoveEntry(p.entries[1])]) == "- match: a\n  when: cp"
    assert fix(text, lambda p: [SetField(p.entries[1], "out_dst", "auto")]) == text + "\n  out_dst: auto"


def test_the_last_entry_leaves_an_empty_list() -> None:
    after = fix(PLAN, lambda p: [RemoveEntry(p.entries[1]), RemoveEntry(p.entries[0])])
    assert after == "# header\nplan_overrides: []\n"
    assert fix("- match: a\n  when: cp\n", lambda p: [RemoveEntry(p.entries[0])]) == "[]\n"


def test_the_last_item_of_a_mapping_leaves_braces() -> None:
    text = "- match: a\n  params:  # why\n    x: {tp: partial}\n  when: cp\n"
    after = fix(text, lambda p: [Remove(layout(p, 0, "x").name_span)])
    assert after == "- match: a\n  params: {}  # why\n  when: cp\n"


def test_the_last_axis_takes_its_tensor_along() -> None:
    text = "- match: a\n  params:\n    x: {tp: partial}\n    y:\n      tp: partial\n"
    after = fix(text, lambda p: [Remove(layout(p, 0, "y").axis_spans["tp"])])
    assert after == "- match: a\n  params:\n    x: {tp: partial}\n"


def test_what_follows_a_removed_first_field_moves_up_to_the_dash() -> None:
    after = fix(PLAN, lambda p: [Remove(p.entries[0].keys["match"]), Remove(p.entries[1].keys["match"])])
    assert "  - when: cp\n" in after
    assert "  - # about the flag\n    region_dispatch: true\n" in after


@pytest.mark.parametrize(
    ("before", "axis", "after"),
    [
        ("{tp: a, cp: b, ep: c}", "tp", "{cp: b, ep: c}"),
        ("{tp: a, cp: b, ep: c}", "cp", "{tp: a, ep: c}"),
        ("{tp: a, cp: b, ep: c}", "ep", "{tp: a, cp: b}"),
        ("{ tp: a, cp: b }", "cp", "{ tp: a }"),
        ("{ tp: a, cp: b, }", "cp", "{ tp: a, }"),
        ("{tp: a,\n     cp: b,\n     ep: c}", "cp", "{tp: a,\n     ep: c}"),
        ("{tp: a,\n     cp: b,\n     ep: c}", "ep", "{tp: a,\n     cp: b}"),
        ("{\n     tp: a,  # one\n     cp: b  # two\n    }", "cp", "{\n     tp: a  # one\n    }"),
        ("{\n     tp: a,  # one\n     # own\n     cp: b,  # two\n    }", "cp", "{\n     tp: a,  # one\n    }"),
    ],
)
def test_an_item_goes_from_between_braces_with_one_comma(before: str, axis: str, after: str) -> None:
    text = f"- match: m\n  params:\n    x: {before}\n"
    assert fix(text, lambda p: [Remove(layout(p, 0, "x").axis_spans[axis])]) == text.replace(before, after)


def test_two_items_that_go_from_one_mapping_leave_it_whole() -> None:
    text = "- match: m\n  params:\n    x: {tp: a, cp: b, ep: c}\n"
    after = fix(text, lambda p: [Remove(layout(p, 0, "x").axis_spans[a]) for a in ("ep", "cp")])
    assert after == "- match: m\n  params:\n    x: {tp: a}\n"


def test_one_name_of_a_list_goes() -> None:
    text = "- match: m\n  tp_divide_attrs: [a, b]\n- match: n\n  tp_divide_attrs:\n  - a\n  - b  # twice\n"
    after = fix(
        text,
        lambda p: [Remove(p.entries[0].tp_divide_attrs[0].span), Remove(p.entries[1].tp_divide_attrs[1].span)],
    )
    assert after == "- match: m\n  tp_divide_attrs: [b]\n- match: n\n  tp_divide_attrs:\n  - a\n"


# Insertion


def test_a_new_field_stands_behind_the_others_with_its_comment() -> None:
    after = fix(PLAN, lambda p: [SetField(p.entries[0], "region_dispatch", False, "a draft")])
    assert after == PLAN.replace("# x\n", "# x\n    # a draft\n    region_dispatch: false\n")


def test_a_new_field_goes_between_the_braces_of_its_entry() -> None:
    text = "- {match: a, when: cp}\n"
    after = fix(text, lambda p: [SetField(p.entries[0], "params", {"x": {"tp": shard(0)}}, "no room for this")])
    assert after == "- {match: a, when: cp, params: {x: {tp: shard(0)}}}\n"


def test_a_written_field_is_replaced_where_it_stands() -> None:
    text = "- match: a\n  params: auto  # c\n  when: cp\n"
    after = fix(text, lambda p: [SetField(p.entries[0], "params", {"x": {"tp": shard(0)}}, "a draft")])
    assert after == "- match: a\n  # a draft\n  params: {x: {tp: shard(0)}}  # c\n  when: cp\n"


def test_a_field_that_grows_keeps_the_lines_that_it_has() -> None:
    text = "- match: a\n  params:\n    x: {tp: shard(0)}  # good\n    y: {cp: partial}\n"
    value = {"x": {"tp": "shard(0)"}, "y": {"cp": "partial", "tp": "replicate"}, "z": {"tp": REPLICATE}}
    after = fix(text, lambda p: [SetField(p.entries[0], "params", value)])
    assert after == (
        "- match: a\n  params:\n    x: {tp: shard(0)}  # good\n    y: {cp: partial, tp: replicate}\n"
        "    z: {tp: replicate}\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{x: {tp: a}}", "{x: {tp: a}, z: {tp: replicate}}"),
        ("{ x: { tp: a } }", "{ x: { tp: a }, z: { tp: replicate } }"),
        ('{"x": {"tp": "a"}}', '{"x": {"tp": "a"}, "z": {"tp": "replicate"}}'),
        ("{'x': {'tp': 'a'}}", "{'x': {'tp': 'a'}, 'z': {'tp': 'replicate'}}"),
        ("{x: {tp: a},}", "{x: {tp: a}, z: {tp: replicate},}"),
        ("{\n    x: {tp: a},\n    y: {tp: a}  # c\n  }",
         "{\n    x: {tp: a},\n    y: {tp: a},  # c\n    z: {tp: replicate}\n  }"),
        ("{\n    x: {tp: a},  # c\n  }", "{\n    x: {tp: a},  # c\n    z: {tp: replicate},\n  }"),
        ("\n    x: {tp: a}", "\n    x: {tp: a}\n    z: {tp: replicate}"),
        ("\n      x:\n        tp: a", "\n      x:\n        tp: a\n      z:\n        tp: replicate"),
        ('\n    "x": {tp: a}', '\n    "x": {tp: a}\n    "z": {tp: replicate}'),
        ("{}", "{z: {tp: replicate}}"),
        ("auto", "{z: {tp: replicate}}"),
        ("", "\n    z: {tp: replicate}"),
    ],
)  # fmt: skip
def test_a_new_item_follows_the_style_of_its_siblings(before: str, after: str) -> None:
    text = f"- match: m\n  params:{' ' if before[:1] not in ('', chr(10)) else ''}{before}\n  out_dst: auto\n"
    fixed = fix(text, lambda p: [AddItem(p.entries[0], "params", "z", {"tp": REPLICATE})])
    assert fixed.replace("params: ", "params:") == f"- match: m\n  params:{after}\n  out_dst: auto\n"


def test_items_added_to_a_field_that_is_not_there_share_it() -> None:
    text = "- match: m\n  out_dst: auto\n"
    after = fix(text, lambda p: [AddItem(p.entries[0], "params", k, {"tp": REPLICATE}) for k in "ab"])
    assert after == "- match: m\n  out_dst: auto\n  params: {a: {tp: replicate}, b: {tp: replicate}}\n"


def test_new_entries_look_like_their_siblings() -> None:
    new = ({"match": "*.x", "params": {"a": {"tp": "shard(0)"}}, "in_src": "none"}, {"match": "y"})
    after = fix(PLAN, lambda p: [AddEntries(new, p.entries[0], comment="a draft")])
    assert after == PLAN.replace(
        "# x\n",
        '# x\n  # a draft\n  - match: "*.x"\n    params:\n      a: {tp: shard(0)}\n    in_src: none\n  - match: y\n',
    )


def test_new_entries_are_parted_as_the_others_are() -> None:
    text = "-   match: 'a'\n    when: cp\n\n-   match: 'b'\n    when: cp\n"
    after = fix(text, lambda p: [AddEntries(({"match": "c", "when": "ep"},))])
    assert after == f"{text}\n-   match: 'c'\n    when: ep\n"


def test_new_entries_take_the_place_of_one() -> None:
    text = "# the plan\n\n# of a\n- match: a  # old\n  when: cp\n- match: b\n  when: cp\n"
    new = ({"match": "c", "when": "cp"}, {"match": "d", "when": "cp"})
    after = fix(text, lambda p: [AddEntries(new, p.entries[0], replacing=True)])
    assert after == ("# the plan\n\n# of a\n- match: c\n  when: cp\n- match: d\n  when: cp\n- match: b\n  when: cp\n")


def test_a_mapping_of_matches_gets_entries_of_its_form() -> None:
    text = 'plan_overrides:\n    "*.mlp":\n        when: cp\n    lm_head: {out_dst: auto}\n'
    new = ({"match": "*.norm", "when": "ep", "params": {"a": {"tp": REPLICATE}}},)
    after = fix(text, lambda p: [AddEntries(new, p.entries[0])])
    assert after == text.replace(
        "    lm_head", '    "*.norm":\n        when: ep\n        params: {a: {tp: replicate}}\n    lm_head'
    )
    assert fix(text, lambda p: [RemoveEntry(p.entries[0])]) == "plan_overrides:\n    lm_head: {out_dst: auto}\n"


def test_a_match_with_nothing_below_gets_fields() -> None:
    text = "plan_overrides:\n  '*.mlp':\n  lm_head: {out_dst: auto}\n"
    after = fix(text, lambda p: [SetField(p.entries[0], "when", "cp"), SetField(p.entries[0], "out_dst", "auto")])
    assert after == text.replace("'*.mlp':\n", "'*.mlp': {when: cp, out_dst: auto}\n")


def test_fields_of_an_entry_stand_before_the_entries_that_follow() -> None:
    text = "- match: a\n  when: cp\n"
    after = fix(
        text, lambda p: [AddEntries(({"match": "b", "when": "ep"},)), SetField(p.entries[0], "out_dst", "auto")]
    )
    assert after == "- match: a\n  when: cp\n  out_dst: auto\n- match: b\n  when: ep\n"


# JSON


JSON = """\
[
  {
    "match": "a",
    "when": "cp",
    "params": {"x": {"tp": "shard(0)", "cp": "partial"}}
  },
  {"match": "b", "when": "cp"}
]
"""


def test_json_keeps_its_quotes_and_commas() -> None:
    import json

    def check(changes: Changes, expected: str) -> None:
        after = fix(JSON, changes, "plan.json")
        json.loads(after)
        assert after == expected

    check(lambda p: [RemoveEntry(p.entries[1])], JSON.replace('},\n  {"match": "b", "when": "cp"}', "}"))
    check(lambda p: [Remove(layout(p, 0, "x").axis_spans["cp"])], JSON.replace(', "cp": "partial"', ""))
    check(lambda p: [Remove(p.entries[0].keys["params"])],
          JSON.replace('"cp",\n    "params": {"x": {"tp": "shard(0)", "cp": "partial"}}', '"cp"'))  # fmt: skip
    check(
        lambda p: [SetField(p.entries[0], "region_dispatch", False, "JSON knows no comments")],
        JSON.replace('"partial"}}\n', '"partial"}},\n    "region_dispatch": false\n'),
    )
    check(lambda p: [Rename(p.entries[1].match.span, 'a"\n')], JSON.replace('"b"', r'"a\"\n"'))
    check(
        lambda p: [AddEntries(({"match": "c", "out_dst": {"tp": REPLICATE}},))],
        JSON.replace('"when": "cp"}\n]', '"when": "cp"},\n  {"match": "c", "out_dst": {"tp": "replicate"}}\n]'),
    )


def test_tabs_in_json_are_white_space() -> None:
    text = '[\n\t{\n\t\t"match": "a",\n\t\t"when": "cp"\n\t}\n]\n'
    after = fix(text, lambda p: [Remove(p.entries[0].keys["when"])], "plan.json")
    assert after == '[\n\t{\n\t\t"match": "a"\n\t}\n]\n'


# Bytes


def test_line_ends_and_the_byte_order_mark_stay() -> None:
    text = "\ufeff" + PLAN.replace("\n", "\r\n")
    after = fix(
        text,
        lambda p: [SetField(p.entries[0], "out_dst", "auto", "c"), Remove(p.entries[1].keys["region_dispatch"])],
    )
    assert after.count("\n") == after.count("\r\n") and after[0] == "\ufeff"
    assert after.replace("\r\n", "\n") == "\ufeff" + PLAN.replace("# x\n", "# x\n    # c\n    out_dst: auto\n").replace(
        "    # about the flag\n    region_dispatch: true\n", ""
    )


def test_lines_that_end_with_cr_alone_are_lines() -> None:
    text = "- match: a\r  when: cp\r- match: b\r  when: cp\r"
    after = fix(text, lambda p: [RemoveEntry(p.entries[0]), SetField(p.entries[1], "out_dst", "auto")])
    assert after == "- match: b\r  when: cp\r  out_dst: auto\r"


def test_other_documents_of_the_stream_stay() -> None:
    text = "a: 1\n---\n- match: abc\n  when: cp\n...\n---\nb: 1\n"
    after = fix(text, lambda p: [SetField(p.entries[0], "region_dispatch", True)])
    assert after == text.replace("cp\n", "cp\n  region_dispatch: true\n")


# Anchors


ANCHORS = """\
base: &base
  region_dispatch: true
  out_dst: auto
plan_overrides:
- match: a
  params: &p
    up.weight: {tp: shrd(0)}
- match: b
  params: *p
  <<: *base
- &e {match: c, params: {<<: *p, own: {tp: replicate}}}
- *e
- match: d
"""


@pytest.mark.parametrize(
    ("title", "changes"),
    [
        ("a rename within", lambda p: [Rename(layout(p, 0, "up.weight").axis_spans["tp"], "cp")]),
        ("an item more", lambda p: [AddItem(p.entries[0], "params", "x", {"tp": REPLICATE})]),
        ("an item more through the alias", lambda p: [AddItem(p.entries[1], "params", "x", {"tp": REPLICATE})]),
        ("another value in its place", lambda p: [SetField(p.entries[0], "params", "auto")]),
        ("an entry that is shared", lambda p: [SetField(p.entries[2], "when", "cp")]),
        ("an entry that is an alias", lambda p: [SetField(p.entries[3], "when", "cp")]),
        ("without the field that holds it", lambda p: [Remove(p.entries[0].keys["params"])]),
        ("without the entry that holds it", lambda p: [RemoveEntry(p.entries[0])]),
        ("without a merged field", lambda p: [Remove(p.entries[1].keys["region_dispatch"])]),
    ],
)
def test_what_an_anchor_shares_is_left_alone(title: str, changes: Changes) -> None:
    with pytest.raises(CannotRealise):
        fix(ANCHORS, changes)


@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        (lambda p: [SetField(p.entries[1], "params", "auto")], "params: *p", "params: auto"),
        (lambda p: [Remove(p.entries[1].keys["params"])], "  params: *p\n", ""),
        (
            lambda p: [SetField(p.entries[1], "region_dispatch", False)],
            "<<: *base\n-",
            "<<: *base\n  region_dispatch: false\n-",
        ),
        (lambda p: [RemoveEntry(p.entries[3])], "- *e\n", ""),
    ],
)
def test_an_entry_may_turn_from_what_it_shares(changes: Changes, old: str, new: str) -> None:
    assert fix(ANCHORS, changes) == ANCHORS.replace(old, new)


def test_a_token_that_is_at_fault_wherever_it_is_shared_is_fixed_for_all() -> None:
    def changes(plan: Plan) -> list[Change]:
        return [Rewrite(layout(plan, 0, "up.weight").placement_spans["tp"], shard(0))]

    assert fix(ANCHORS, changes) == ANCHORS.replace("shrd", "shard")
    by_name = "plan_overrides:\n  a: {params: &p {x: {tp: shrd(0)}}}\n  b: {params: *p, out_dst: auto}\n"
    assert fix(by_name, lambda p: [Rewrite(layout(p, 0, "x").placement_spans["tp"], shard(0))]) == by_name.replace(
        "shrd", "shard"
    )
