"""Changes of Python plans, as the text that they make: one pair for each change and way of writing."""

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hplint.fix.edit import CannotRealise, apply
from hplint.fix.python_edit import realise
from hplint.front.python.plan import read_python
from hplint.lint.proposal import AddEntries, AddItem, Change, Remove, RemoveEntry, Rename, Rewrite, SetField
from hplint.plan.placement import REPLICATE, shard
from hplint.plan.plan import Plan
from hplint.text.source import Source
from hplint.text.span import Span

HEAD = """\
from hyper_parallel.core.dtensor.placement_types import Replicate, Shard
from hyper_parallel.distributed import CP, TP, ModuleShardingSpec, Target

"""
Changes = Callable[[Plan, str], Sequence[Change]]


class Pair(NamedTuple):
    """A plan before and after some changes, without the imports above it."""

    before: str
    changes: Changes
    after: str


def at(text: str, token: str) -> Span:
    """The place of the only, or the first, such token."""
    start = text.index(token)
    return Span(start, start + len(token))


def made(text: str, changes: Changes) -> str:
    source = Source("plan.py", text)
    (plan,) = read_python(source).plans
    return apply(text, realise(source, plan, changes(plan, text)))


LITERAL = """\
plan = {
    # the first
    "a.mlp": ModuleShardingSpec(
        params={"w.weight": {TP: Shard(0)}},  # cut
        region_dispatch=True,
    ),
    'b.mlp': ModuleShardingSpec(out_dst="auto"),
}
"""
SUBSCRIPT = """\
plan = {}
plan["a.mlp"] = ModuleShardingSpec(params={"w.weight": {TP: Shard(0)}})
# the second
plan["b.mlp"] = ModuleShardingSpec(out_dst="auto")
"""
LOOP = """\
plan = {}
for i in range(3):
    plan[f"layers.{i}.mlp"] = ModuleShardingSpec(params={"w.weight": {"tpp": Shard(0)}})
"""
COMPREHENSION = 'plan = {f"layers.{i}.mlp": ModuleShardingSpec(region_dispatch=True) for i in range(3)}\n'

PAIRS = {
    "rename_a_key_keeps_its_quotes": Pair(
        LITERAL, lambda p, t: [Rename(at(t, "'b.mlp'"), "c.mlp")], LITERAL.replace("'b.mlp'", "'c.mlp'")
    ),
    "rename_an_axis_that_is_quoted": Pair(
        LOOP, lambda p, t: [Rename(at(t, '"tpp"'), "tp")], LOOP.replace('"tpp"', '"tp"')
    ),
    "rename_an_axis_that_is_a_name": Pair(
        LITERAL, lambda p, t: [Rename(_shifted(t, "TP: Sh", 2), "cp")],
        LITERAL.replace("TP: Shard", "CP: Shard"),
    ),
    "rename_a_keyword": Pair(
        LITERAL, lambda p, t: [Rename(at(t, "region_dispatch"), "inner_target")],
        LITERAL.replace("region_dispatch", "inner_target"),
    ),
    "rewrite_a_placement": Pair(
        LITERAL, lambda p, t: [Rewrite(at(t, "Shard(0)"), REPLICATE)], LITERAL.replace("Shard(0)", "Replicate()")
    ),
    "rewrite_a_flag": Pair(
        LITERAL, lambda p, t: [Rewrite(at(t, "True"), False)], LITERAL.replace("True", "False")
    ),
    "remove_a_field_with_its_line": Pair(
        LITERAL, lambda p, t: [Remove(at(t, "region_dispatch"))],
        LITERAL.replace("        region_dispatch=True,\n", ""),
    ),
    "remove_the_only_item_of_a_dict": Pair(
        LITERAL, lambda p, t: [Remove(at(t, '"w.weight"'))], LITERAL.replace('{"w.weight": {TP: Shard(0)}}', "{}")
    ),
    "set_a_field_that_is_there": Pair(
        LITERAL, lambda p, t: [SetField(p.entries[0], "region_dispatch", False)], LITERAL.replace("True", "False")
    ),
    "set_a_new_field_on_lines_of_their_own": Pair(
        LITERAL, lambda p, t: [SetField(p.entries[0], "inner_target", "self", "why")],
        LITERAL.replace("=True,\n", '=True,\n        # why\n        inner_target="self",\n'),
    ),
    "set_a_new_field_on_one_line": Pair(
        SUBSCRIPT, lambda p, t: [SetField(p.entries[1], "out_src", {"output": {"tp": shard(1)}})],
        SUBSCRIPT.replace('"auto")', '"auto", out_src={"output": {TP: Shard(1)}})'),
    ),
    "add_an_item": Pair(
        LITERAL, lambda p, t: [AddItem(p.entries[0], "params", "v.weight", {"tp": "replicate"})],
        LITERAL.replace("Shard(0)}}", 'Shard(0)}, "v.weight": {TP: Replicate()}}'),
    ),
    "remove_an_entry_with_its_own_comment": Pair(
        LITERAL, lambda p, t: [RemoveEntry(p.entries[0])],
        "plan = {\n    'b.mlp': ModuleShardingSpec(out_dst=\"auto\"),\n}\n",
    ),
    "remove_a_statement_with_its_own_comment": Pair(
        SUBSCRIPT, lambda p, t: [RemoveEntry(p.entries[1])], SUBSCRIPT[: SUBSCRIPT.index("# the second")]
    ),
    "add_an_entry_behind_another": Pair(
        LITERAL, lambda p, t: [AddEntries(({"match": "c.mlp", "region_dispatch": False},), p.entries[1])],
        LITERAL.replace('"auto"),\n', '"auto"),\n    "c.mlp": ModuleShardingSpec(region_dispatch=False),\n'),
    ),
    "add_a_statement_behind_another": Pair(
        SUBSCRIPT, lambda p, t: [AddEntries(({"match": "c.mlp", "out_src": "none"},), comment="new")],
        SUBSCRIPT + '# new\nplan["c.mlp"] = ModuleShardingSpec(out_src="none")\n',
    ),
    "replace_an_entry_by_two": Pair(
        SUBSCRIPT,
        lambda p, t: [AddEntries(({"match": "c", "params": "auto"}, {"match": "d", "params": {}}), p.entries[1], True)],
        SUBSCRIPT.replace(
            'plan["b.mlp"] = ModuleShardingSpec(out_dst="auto")',
            'plan["c"] = ModuleShardingSpec(params="auto")\nplan["d"] = ModuleShardingSpec(params={})',
        ),
    ),
    "set_a_field_for_all_rounds_of_a_loop": Pair(
        COMPREHENSION, lambda p, t: [SetField(e, "region_dispatch", False) for e in p.entries],
        COMPREHENSION.replace("True", "False"),
    ),
}  # fmt: skip


def _shifted(text: str, token: str, length: int) -> Span:
    start = text.index(token)
    return Span(start, start + length)


@pytest.mark.parametrize("name", PAIRS)
def test_a_change_stands_where_it_belongs(name: str) -> None:
    before, changes, after = PAIRS[name]
    assert made(HEAD + before, changes) == HEAD + after


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_ends_and_a_byte_order_mark_stay(name: str, ending: str) -> None:
    before, changes, after = PAIRS[name]
    text = "\ufeff" + (HEAD + before).replace("\n", ending)
    assert made(text, changes) == "\ufeff" + (HEAD + after).replace("\n", ending)


SHARED = """\
spec = ModuleShardingSpec(params={"w.weight": {TP: Shard(0)}})
plan = {"a.mlp": spec, "b.mlp": spec}
"""


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (SHARED, lambda p, t: [SetField(p.entries[0], "region_dispatch", False)]),
        (SHARED, lambda p, t: [AddItem(p.entries[0], "params", "v", {"tp": REPLICATE})]),
        (SHARED, lambda p, t: [Rewrite(at(t, "Shard(0)"), REPLICATE)]),
        (COMPREHENSION, lambda p, t: [SetField(p.entries[0], "region_dispatch", False)]),
        (COMPREHENSION, lambda p, t: [RemoveEntry(p.entries[0])]),
        (LOOP, lambda p, t: [Rename(p.entries[0].matches[0].span, "layers.0.mlp")]),
        (LITERAL, lambda p, t: [SetField(p.entries[0], "when", "cp")]),
    ],
    ids=["spec", "dict", "token", "round", "round_removed", "made_name", "field_of_yaml"],
)
def test_what_other_entries_share_is_left_alone(text: str, changes: Changes) -> None:
    with pytest.raises(CannotRealise):
        made(HEAD + text, changes)


def test_an_import_that_a_new_value_takes_is_added_beside_its_siblings() -> None:
    head = "from hyper_parallel.core.dtensor.placement_types import Shard as S\n"
    head += "from hyper_parallel.distributed import TP\n"
    text = head + 'from x import ModuleShardingSpec\n\nplan = {"a": ModuleShardingSpec(params={"w": {TP: S(0)}})}\n'
    after = made(text, lambda p, t: [Rewrite(at(t, "S(0)"), REPLICATE)])
    assert after == text.replace("import Shard as S", "import Replicate, Shard as S").replace("S(0)", "Replicate()")


KEYS = st.lists(st.sampled_from(["a", "b.c", "é.mlp", "layers.*.x", "d"]), min_size=1, max_size=4, unique=True)
SPACE = st.sampled_from(["", " ", "\n    ", "  # note\n    "])


@st.composite
def plans(draw: st.DrawFn) -> str:
    """A dict literal, formatted at random."""
    quote = draw(st.sampled_from("'\""))
    items = [
        f"{draw(SPACE)}{quote}{key}{quote}:{draw(st.sampled_from(['', ' ']))}ModuleShardingSpec("
        f"{draw(SPACE)}region_dispatch=True{draw(st.sampled_from(['', ',']))}{draw(SPACE)})"
        for key in draw(KEYS)
    ]
    tail = draw(st.sampled_from(["", ",", ",\n"]))
    return HEAD + "plan = {" + ",".join(items) + tail + draw(SPACE) + "}" + draw(st.sampled_from(["", "\n"]))


@settings(max_examples=150, deadline=None)
@given(plans(), st.data())
def test_edits_of_any_formatting_parse_and_leave_other_lines_byte_equal(text: str, data: st.DataObject) -> None:
    (plan,) = read_python(Source("plan.py", text)).plans
    entry = data.draw(st.sampled_from(plan.entries))
    kind = data.draw(st.sampled_from(["set", "add", "remove", "entry", "more"]))
    changes: dict[str, Change] = {
        "set": SetField(entry, "region_dispatch", False),
        "add": SetField(entry, "inner_target", "self", data.draw(st.sampled_from(["", "why"]))),
        "remove": Remove(entry.keys["region_dispatch"]),
        "entry": RemoveEntry(entry),
        "more": AddEntries(({"match": "new", "out_dst": "auto"},), entry),
    }
    edits = realise(Source("plan.py", text), plan, [changes[kind]])
    after = apply(text, edits)
    ast.parse(after)
    found = {e.matches[0].value: e for p in read_python(Source("plan.py", after)).plans for e in p.entries}
    match = entry.matches[0].value
    expected = {e.matches[0].value for e in plan.entries}
    assert set(found) == (expected - {match} if kind == "entry" else expected | {"new"} if kind == "more" else expected)
    if kind in ("set", "add"):
        changed = found[match]
        assert changed.region_dispatch and changed.region_dispatch.value == (kind == "add")
        assert (changed.inner_target is not None) == (kind == "add")
    first, last = min(e.span.start for e in edits), max(e.span.end for e in edits)
    assert after.startswith(text[:first]) and after.endswith(text[last:])
