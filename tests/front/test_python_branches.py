"""Conditions in Python plans: known ones are followed, of unknown ones both branches are read."""

import pytest
from python_samples import cuts, faults, matches, read, the_plan

A, B, C = ("ModuleShardingSpec(region_dispatch=True)", "ModuleShardingSpec()", "ModuleShardingSpec(inner_target='x')")
HEAD = f"A = {A}\nB = {B}\nC = {C}\n"


def variants(text: str) -> list[list[str]]:
    return [matches(p) for p in read(HEAD + text).plans]


@pytest.mark.parametrize(
    "condition",
    ["True", "1 < 2", "not None", "'a' in ('a', 'b')", "N == 3", "N % 2", "len([1]) == 1", "N > 2 and NAME", "DATA",
     "DATA.get('x') is None", "NAME.startswith('mod')", "3 in range(N + 1)", "1 < N < 5", "N is not None",
     "any([0, 1])", "all(x for x in (1, 2))", "isinstance_free == 1", "'k' in DATA"],
)  # fmt: skip
def test_a_known_condition_is_followed(condition: str) -> None:
    text = (
        f"N, NAME, DATA, isinstance_free = 3, 'model', {{'k': 1}}, 1\nplan = {{'a': A}}\n"
        f"if {condition}:\n    plan['b'] = B\nelse:\n    plan['c'] = C"
    )
    assert variants(text) == [["a", "b"]]


def test_an_entry_under_an_unknown_condition_is_in_the_plan() -> None:
    assert variants("plan = {'a': A}\nif flag():\n    plan['b'] = B") == [["a", "b"]]
    assert variants("plan = {'a': A}\nif not flag():\n    plan['b'] = B") == [["a", "b"]]


def test_branches_that_exclude_one_another_give_one_plan_each() -> None:
    assert variants("plan = {'a': A}\nif flag():\n    plan['b'] = B\nelse:\n    plan['c'] = C") == [
        ["a", "b"],
        ["a", "c"],
    ]


def test_every_branch_of_a_chain_is_read() -> None:
    text = (
        "def f(x):\n    if x == 1:\n        return {'a': A}\n    elif x == 2:\n        return {'b': B}\n"
        "    return {'c': C}"
    )
    assert sorted(variants(text)) == [["a"], ["b"], ["c"]]


def test_one_condition_goes_one_way_everywhere() -> None:
    text = "plan = {}\nif cp:\n    plan['a'] = A\nelse:\n    plan['b'] = B\nif not cp:\n    plan['c'] = C"
    assert sorted(variants(text)) == [["a"], ["b", "c"]]


def test_many_conditions_give_few_plans() -> None:
    text = "plan = {}\n" + "".join(f"if c{i}:\n    plan['a{i}'] = A\nelse:\n    plan['b{i}'] = B\n" for i in range(40))
    found = variants(text)
    assert len(found) <= 41
    assert found[0] == [f"a{i}" for i in range(40)]


def test_the_default_of_a_parameter_decides_no_condition() -> None:
    text = (
        "def f(cp=False, layers=2):\n    plan = {f'l{i}': A for i in range(layers)}\n    if cp:\n"
        "        plan['c'] = C\n    return plan"
    )
    assert variants(text) == [["l0", "l1", "c"]]


def test_a_default_handed_on_decides_no_condition_either() -> None:
    text = (
        "def g(cp):\n    plan = {'a': A}\n    if cp:\n        plan['c'] = C\n    return plan\n"
        "def f(cp=False):\n    return g(cp)"
    )
    assert variants(text) == [["a", "c"]]


def test_a_missing_argument_is_replaced_by_what_the_code_says() -> None:
    text = (
        "def f(layers=None):\n    if layers is None:\n        layers = 2\n"
        "    return {f'l{i}': A for i in range(layers)}"
    )
    document = read(HEAD + text)
    assert [matches(p) for p in document.plans] == [["l0", "l1"]]
    assert document.plans[0].faults == ()


def test_the_value_that_a_condition_picks_is_read_both_ways() -> None:
    plans = read("plan = {'a': ModuleShardingSpec(region_dispatch=True if flag else False)}").plans
    assert [p.entries[0].region_dispatch.value for p in plans] == [True, False]


def test_a_function_called_with_arguments_is_read_with_them() -> None:
    text = (
        "def f(n, cp):\n    plan = {f'l{i}': A for i in range(n)}\n    if cp:\n        plan['c'] = C\n"
        "    return plan\nplan = f(2, True)"
    )
    assert variants(text) == [["l0", "l1", "c"]]


def test_a_refused_case_does_not_hide_the_plan() -> None:
    text = "def f(n):\n    if n < 1:\n        raise ValueError\n    return {'a': A}"
    assert variants(text) == [["a"]]


def test_a_handler_is_read_too() -> None:
    assert variants("try:\n    plan = {'a': A}\nexcept OSError:\n    plan = {'b': B}") == [["a"], ["b"]]


def test_unknown_cases_of_a_match_are_all_read() -> None:
    text = (
        "match kind():\n    case 'x':\n        plan = {'a': A}\n    case {'k': v}:\n"
        "        plan = {'b': B}\n    case _:\n        plan = {'c': C}"
    )
    assert sorted(variants(text)) == [["a"], ["b"], ["c"]]


def test_items_of_a_comprehension_under_an_unknown_condition_are_kept() -> None:
    assert variants("plan = {n: A for n in ('a', 'b') if flag(n)}") == [["a", "b"]]


def test_an_unknown_loop_is_one_fault_and_its_body_is_checked() -> None:
    text = """
def build(config):
    plan = {"a": ModuleShardingSpec(params={"w": {TP: "shard(0)"}})}
    for i in range(config.layers):
        plan[f"l.{i}.mlp"] = ModuleShardingSpec(params={"w": {TP: "partial"}})
        plan[f"l.{i}.attn"] = ModuleShardingSpec()
    return plan
"""
    assert sorted(faults(text)) == [
        ("not-a-placement", '"partial"'), ("not-a-placement", '"shard(0)"'), ("not-evaluated", "range(config.layers)"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "marked"),
    [("make()", "make()"), ("from_file", "from_file"), ("specs.mlp", "specs.mlp"), ("args.spec", "args.spec"),
     ("table[key]", "table"), ("b'x'.spec", "b'x'.spec"), ("[*args][0]", "args"), ("await thing", "thing")],
)  # fmt: skip
def test_a_spec_that_cannot_be_read_is_one_fault_and_the_rest_is_checked(value: str, marked: str) -> None:
    text = (
        f"from other import make, from_file, specs\nasync def f(args):\n"
        f"    return {{'a': {value}, 'b': ModuleShardingSpec(parms=1)}}"
    )
    found = faults(text)
    assert ("unknown-key", "parms") in found
    assert [m for rule, m in found if rule == "not-evaluated"] == [marked]


def test_an_unknown_field_breaks_that_field_alone() -> None:
    plan = the_plan("def f(flag):\n    return {'a': ModuleShardingSpec(region_dispatch=flag, inner_target='self')}")
    assert plan.entries[0].broken == {"region_dispatch"}
    assert plan.entries[0].inner_target.value == "self"


def test_unknown_keywords_leave_every_field_open() -> None:
    document = read("def f(more):\n    return {'a': ModuleShardingSpec(inner_target='self', **more)}")
    (entry,) = document.plans[0].entries
    assert entry.inner_target.value == "self"
    assert {"region_dispatch", "params", "local_compute_fn"} <= entry.broken
    assert entry.contract["params"].broken
    assert cuts(document, document.plans[0].faults) == [("not-evaluated", "more")]


def test_an_unknown_mapping_poured_in_is_an_entry_that_nobody_knows() -> None:
    document = read("def f(base):\n    return {**base, 'a': ModuleShardingSpec()}")
    first, second = document.plans[0].entries
    assert first.matches == ()
    assert "match" in first.broken
    assert second.match.value == "a"
    assert cuts(document, document.plans[0].faults) == [("not-evaluated", "base")]


def test_entries_added_to_a_dict_from_elsewhere_are_checked() -> None:
    for add in ("plan['a'] = S", "plan.update({'a': S})", "plan |= {'a': S}", "plan.setdefault('a', S)"):
        document = read(f"S = ModuleShardingSpec()\ndef f(plan):\n    {add}")
        assert [e.match and e.match.value for e in document.plans[0].entries] == [None, "a"], add
        assert cuts(document, document.plans[0].faults) == [("not-evaluated", "plan")]


def test_unknown_items_of_a_layout_leave_the_rest_readable() -> None:
    plan = the_plan("def f(more):\n    return {'a': ModuleShardingSpec(params={**more, 'w': {TP: Shard(0)}})}")
    field = plan.entries[0].contract["params"]
    assert field.partly_broken
    assert list(field.layouts) == ["w"]
