"""Entries from text: what is read, and what is at fault where."""

import pytest

from hplint.front import entries
from hplint.front.entries import read_entries
from hplint.front.nodes import Mapping, Node, PlacementNode, Scalar, Sequence, TargetNode, UnknownNode
from hplint.front.read import read_document
from hplint.plan.entry import UNKNOWN, Entry, Target, Text
from hplint.plan.placement import PARTIAL, REPLICATE, shard
from hplint.plan.plan import Plan
from hplint.resolve import topology
from hplint.text.span import Span


def plan_of(text: str) -> Plan:
    document = read_document("plan.yaml", text.encode())
    assert document.faults == ()
    (plan,) = document.plans
    return plan


def entry_of(body: str) -> Entry:
    plan = plan_of(f'- match: "*.mlp"\n{body}')
    assert plan.faults == (), plan.faults
    return plan.entries[0]


def faults_of(text: str) -> list[tuple[str, str, str | None]]:
    plan = plan_of(text)
    return [(f.rule, plan.source.cut(f.span), f.field) for f in plan.faults]


def faulty(body: str) -> list[tuple[str, str, str | None]]:
    return faults_of(f'- match: "*.mlp"\n{body}')


def test_a_whole_entry_is_read_with_its_places() -> None:
    text = """\
- match: "*.self_attn"
  when: cp
  params:
    q_proj.weight: {tp: Shard( 0 ), cp: replicate}
  in_src: auto
  in_dst: none
  out_src: {tp: partial}
  out_dst: {output: {tp: shard(1)}, cache: {tp: replicate}}
  region_dispatch: false
  inner_target: self
  inner_wrapper: sdpa_hf
  inner_out_src: first_input
  tp_divide_attrs: [num_heads]
  local_compute_fn: {_target_: a.b, size: 3, names: [x, {y: 1}]}
"""
    plan = plan_of(text)
    assert plan.faults == ()
    (entry,) = plan.entries
    cut = plan.source.cut
    assert entry.match and entry.match.value == "*.self_attn" and cut(entry.match.span) == '"*.self_attn"'
    assert entry.when and cut(entry.when.span) == "cp"
    params = entry.contract["params"].layouts
    assert params and params["q_proj.weight"].placements == {"tp": shard(0), "cp": REPLICATE}
    layout = params["q_proj.weight"]
    assert layout.name_span and cut(layout.name_span) == "q_proj.weight"
    assert cut(layout.axis_spans["tp"]) == "tp" and cut(layout.placement_spans["tp"]) == "Shard( 0 )"
    assert entry.contract["in_src"].sentinel == "auto" and entry.contract["in_dst"].sentinel == "none"
    out = entry.contract["out_src"]
    assert out.shorthand and out.layouts and out.layouts["output"].placements == {"tp": PARTIAL}
    named = entry.contract["out_dst"]
    assert not named.shorthand and named.layouts and list(named.layouts) == ["output", "cache"]
    assert entry.region_dispatch and entry.region_dispatch.value is False
    assert entry.inner_out_src and entry.inner_out_src.first_input
    assert [a.value for a in entry.tp_divide_attrs or ()] == ["num_heads"]
    target = entry.local_compute_fn
    assert target and target.path.value == "a.b"
    assert {k: v.value for k, v in target.keywords.items()} == {"size": 3, "names": ["x", {"y": 1}]}
    assert cut(target.keywords["size"].key_span) == "size" and cut(target.keywords["size"].span) == "3"
    assert cut(entry.keys["inner_target"]) == "inner_target"
    assert entry.broken == set()


def test_null_inherits_and_an_empty_mapping_is_a_value() -> None:
    entry = entry_of("  params: null\n  in_src: {}\n  when:\n  region_dispatch: ~\n")
    assert entry.contract["params"].null
    assert entry.contract["in_src"].layouts == {}
    assert entry.when is None and entry.region_dispatch is None and entry.broken == set()


def test_a_target_may_be_an_inner_wrapper() -> None:
    entry = entry_of("  inner_wrapper:\n    _target_: pkg.wrap\n    window: 4\n")
    assert isinstance(entry.inner_wrapper, Target)


def test_a_keyword_that_is_no_plain_value_is_unknown() -> None:
    entry = entry_of("  local_compute_fn: {_target_: a.b, since: 2001-01-01}\n")
    assert entry.local_compute_fn and entry.local_compute_fn.keywords["since"].value is UNKNOWN


def test_merged_keys_count_like_written_ones() -> None:
    plan = plan_of('- &a\n  match: "*.mlp"\n  params: auto\n- <<: *a\n  match: "*.norm"\n')
    assert plan.faults == ()
    assert [e.match.value for e in plan.entries if e.match] == ["*.mlp", "*.norm"]
    assert plan.entries[1].contract["params"].sentinel == "auto"


@pytest.mark.parametrize(
    ("body", "rule", "token", "field"),
    [
        ("  params: auto\n  foo: 1\n", "unknown-key", "foo", None),
        ("  out_names: [a]\n", "unknown-key", "out_names", None),
        ("  params: auto\n  1: x\n", "unknown-key", "1", None),
        ("  params: [a]\n", "wrong-type", "[a]", "params"),
        ("  params: 3\n", "wrong-type", "3", "params"),
        ("  params: yes\n", "wrong-type", "yes", "params"),
        ("  params: 2001-01-01\n", "wrong-type", "2001-01-01", "params"),
        ('  region_dispatch: "false"\n', "wrong-type", '"false"', "region_dispatch"),
        ("  region_dispatch: 0\n", "wrong-type", "0", "region_dispatch"),
        ("  exact_type:\n", "wrong-type", "", "exact_type"),
        ("  inner_target: 3\n", "wrong-type", "3", "inner_target"),
        ("  local_compute_fn: a.b\n", "wrong-type", "a.b", "local_compute_fn"),
        ("  inner_wrapper: [a]\n", "wrong-type", "[a]", "inner_wrapper"),
        ("  tp_divide_attrs: num_heads\n", "wrong-type", "num_heads", "tp_divide_attrs"),
        ("  tp_divide_attrs: [a, 3]\n", "wrong-type", "3", "tp_divide_attrs"),
        ("  tp_divide_attrs: [a.b]\n", "local-attribute", "a.b", "tp_divide_attrs"),
        ("  tp_divide_attrs: [a, b, a]\n", "local-attribute", "a", "tp_divide_attrs"),
        ("  when: sp\n", "invalid-when", "sp", "when"),
        ("  when: on\n", "invalid-when", "on", "when"),
        ("  when: [cp]\n", "invalid-when", "[cp]", "when"),
        ("  params: AUTO\n", "invalid-sentinel", "AUTO", "params"),
        ("  params: ' auto'\n", "invalid-sentinel", "' auto'", "params"),
        ("  params: ''\n", "invalid-sentinel", "''", "params"),
        ("  params: {w: {tp: shard}}\n", "not-a-placement", "shard", "params"),
        ("  params: {w: {tp: shard(-1)}}\n", "not-a-placement", "shard(-1)", "params"),
        ("  params: {w: {tp: 0}}\n", "not-a-placement", "0", "params"),
        ("  params: {w: {tp:}}\n", "not-a-placement", "", "params"),
        ("  params: {w: {on: replicate}}\n", "not-a-placement", "on", "params"),
        ("  params: {w: {'': replicate}}\n", "not-a-placement", "''", "params"),
        ("  params: {w: shard(0)}\n", "not-a-placement", "shard(0)", "params"),
        ("  params: {w: {}}\n", "not-a-placement", "{}", "params"),
        ("  params: {w: [shard(0)]}\n", "not-a-placement", "[shard(0)]", "params"),
        ("  in_src: {x: shard(1)}\n", "not-a-placement", "shard(1)", "in_src"),
        ("  in_src: {tp: shard(1)}\n", "not-a-placement", "tp", "in_src"),
        ("  out_src: {tp: shard(1), o: {tp: shard(1)}}\n", "not-a-placement", "{tp: shard(1)}", "out_src"),
        ("  params: {w: {tp: shard(" + "9" * 5000 + ")}}\n", "not-a-placement", f"shard({'9' * 5000})", "params"),
        ("  inner_out_src: firstinput\n", "invalid-inner-out-src", "firstinput", "inner_out_src"),
        ("  inner_out_src: {}\n", "invalid-inner-out-src", "{}", "inner_out_src"),
        ("  inner_out_src: [a]\n", "invalid-inner-out-src", "[a]", "inner_out_src"),
        ("  inner_out_src: {tp: shard}\n", "not-a-placement", "shard", "inner_out_src"),
        ("  inner_out_src: {tp: partial, a: {tp: partial}}\n", "not-a-placement", "{tp: partial}", "inner_out_src"),
        ("  local_compute_fn: {target: a.b}\n", "unresolved-target", "target", "local_compute_fn"),
        ("  local_compute_fn: {_target_: a..b}\n", "unresolved-target", "a..b", "local_compute_fn"),
        ("  local_compute_fn: {_target_: 3}\n", "unresolved-target", "3", "local_compute_fn"),
        ("  out_dst: auto\n  out_dst: none\n", "duplicate-key", "out_dst", None),
        ("  params: {w: {tp: shard(0), tp: shard(1)}}\n", "duplicate-key", "tp", "params"),
    ],
)
def test_a_fault_stands_at_the_smallest_token(body: str, rule: str, token: str, field: str | None) -> None:
    assert faulty(body) == [(rule, token, field)]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("- params: auto\n", [("missing-match", "params", None)]),
        ('- match: ""\n  params: auto\n', [("missing-match", '""', "match")]),
        ("- match: []\n  params: auto\n", [("missing-match", "[]", "match")]),
        ("- match:\n  params: auto\n", [("wrong-type", "", "match")]),
        ("- match: 3\n  params: auto\n", [("wrong-type", "3", "match")]),
        ("- match: [a]\n  params: auto\n", [("match-list", "[a]", "match")]),
        ("- match: [a, b]\n", [("match-list", "[a, b]", "match")]),
        ("- match: [a, b]\n  replace_module: {_target_: x.y}\n  module_type: x.Z\n  tp_divide_attrs: [n]\n", []),
        ("- match: [a, b]\n  replace_module: {_target_: x.y}\n  params: auto\n", [("match-list", "[a, b]", "match")]),
        ("- match: [a, b]\n  replace_module: {_target_: x.y}\n  params: null\n", []),
        ('- "*.mlp"\n- match: a\n  params: auto\n', [("wrong-type", '"*.mlp"', None)]),
        ("- match: a\n  params: auto\n- 3\n", [("wrong-type", "3", None)]),
    ],
)
def test_entries_need_one_match_and_a_mapping(text: str, faults: list[tuple[str, str, str | None]]) -> None:
    assert faults_of(text) == faults


def test_a_misspelt_match_is_one_fault_and_still_matches() -> None:
    plan = plan_of('- macth: "*.mlp"\n  params: auto\n')
    assert [(f.rule, f.data["meant"]) for f in plan.faults] == [("unknown-key", "match")]
    assert plan.entries[0].match and plan.entries[0].match.value == "*.mlp"


def test_a_misspelt_field_is_read_as_the_field_that_it_means() -> None:
    plan = plan_of("- match: a\n  parms: {w: {tp: shard(0)}}\n")
    assert [f.rule for f in plan.faults] == ["unknown-key"]
    assert plan.entries[0].contract["params"].layouts


def test_a_misspelt_field_beside_the_right_one_is_left_alone() -> None:
    plan = plan_of("- match: a\n  params: auto\n  parms: none\n")
    assert plan.entries[0].contract["params"].sentinel == "auto"


def test_unreadable_values_are_named_as_broken() -> None:
    text = '- match: a\n  params: [x]\n  region_dispatch: "no"\n  when: x\n  in_src: {h: {tp: x}}\n'
    entry = plan_of(text).entries[0]
    assert entry.broken == {"params", "region_dispatch", "when"}
    assert entry.contract["params"].broken
    layouts = entry.contract["in_src"].layouts
    assert layouts and layouts["h"].placements == {"tp": None} and entry.contract["in_src"].partly_broken


def test_every_item_gives_one_entry_with_its_index() -> None:
    plan = plan_of("- x\n- match: a\n  out_dst: auto\n- {}\n- [1]\n")
    assert [e.index for e in plan.entries] == [0, 1, 2, 3]
    assert [f.entry for f in plan.faults] == [0, 2, 3]
    assert "params" in plan.entries[0].broken and plan.entries[0].has_contract


AT = Span(0, 1)


def python_entry(field: str, value: Node) -> tuple[Entry, list[str]]:
    spec = Mapping([(Scalar(field, Span(0, 1)), value)], Span(0, 9))
    read, faults = read_entries([(Scalar("*.mlp", Span(0, 1)), spec)], "python")
    return read[0], [f"{f.rule} {f.data.get('problem', '')}".strip() for f in faults]


def mapping(**values: Node) -> Mapping:
    return Mapping([(Scalar(k, Span(0, 1)), v) for k, v in values.items()], Span(0, 9))


@pytest.mark.parametrize(
    ("field", "value", "faults"),
    [
        ("params", mapping(w=mapping(tp=PlacementNode(shard(0), AT))), []),
        ("params", mapping(w=mapping()), []),
        ("params", mapping(w=mapping(tp=Scalar("shard(0)", AT))), ["not-a-placement quoted-placement"]),
        ("params", mapping(w=PlacementNode(shard(0), AT)), ["not-a-placement no-axis"]),
        ("out_src", mapping(tp=PlacementNode(shard(1), AT)), []),
        ("params", UnknownNode(AT, "a call"), []),
        ("params", mapping(w=UnknownNode(AT, "a call")), []),
        ("params", Scalar("derive", AT), ["invalid-sentinel"]),
        ("params", Scalar(None, AT), []),
        ("when", Scalar("cp", AT), ["unknown-key"]),
        ("out_names", Sequence([Scalar("a", AT)], AT), []),
        ("is_boundary", Scalar(True, AT), []),
        ("tp_divide_attrs", Scalar("num_heads", AT), ["local-attribute not-list"]),
        ("tp_divide_attrs", Sequence([UnknownNode(AT, "a name")], AT), []),
        ("local_compute_fn", TargetNode(Target(Text("a.b", AT)), AT), []),
        ("inner_wrapper", Scalar("sdpa_hf", AT), []),
        ("inner_wrapper", Scalar(3, AT), ["wrong-type"]),
        ("region_dispatch", UnknownNode(AT, "a name"), []),
    ],
)
def test_python_specs_take_objects_and_never_echo_expressions(field: str, value: Node, faults: list[str]) -> None:
    entry, found = python_entry(field, value)
    assert found == faults
    if isinstance(value, UnknownNode):
        assert field in entry.broken


def test_an_entry_that_cannot_be_read_is_broken_as_a_whole() -> None:
    read, faults = read_entries([(Scalar("", Span(0, 2)), UnknownNode(Span(4, 5), "a call"))], "python")
    assert faults == ()
    assert read[0].match and read[0].match.value == "" and read[0].span == Span(0, 5)
    assert "params" in read[0].broken and read[0].has_contract


def test_the_words_of_when_are_those_of_the_topology() -> None:
    assert entries.WHEN_WORDS == topology.WHEN_WORDS
