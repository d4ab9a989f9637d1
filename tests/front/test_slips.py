"""Slips of form: one fault each, at the token that is wrong, and the rest is read as it was meant."""

import pytest

from hplint.front import keys
from hplint.front.read import read_document
from hplint.plan.plan import Plan
from hplint.resolve import topology


def plan_of(text: str, path: str = "plan.yaml") -> Plan:
    document = read_document(path, text.encode())
    assert document.faults == ()
    (plan,) = document.plans
    return plan


def faults(text: str, path: str = "plan.yaml") -> list[tuple[str, str, str]]:
    plan = plan_of(text, path)
    return [(f.rule, plan.source.cut(f.span), f.data.get("problem", "")) for f in plan.faults]


@pytest.mark.parametrize(
    "text",
    [
        "plan_overrides:\n  match: lm_head\n  params: {weight: {tp: shard(0)}}\n",
        "plan_overrides:\n  match: lm_head\n  when: cp\n",
        "plan_overrides: {match: lm_head}\n",
        "plan_overides:\n  match: lm_head\n  params: {weight: {tp: shard(0)}}\n",
        "match: lm_head\nparams: {weight: {tp: shard(0)}}\n",
    ],
)
def test_an_entry_without_its_dash_is_one_fault_and_is_read(text: str) -> None:
    plan = plan_of(text)
    assert [m.value for m in plan.entries[0].matches] == ["lm_head"]
    assert [f.data.get("problem") for f in plan.faults if f.rule == "wrong-type"] == ["no-dash"]
    assert {f.rule for f in plan.faults} <= {"wrong-type", "unknown-key"}


def test_fields_without_match_and_dash_are_one_fault() -> None:
    text = "plan_overrides:\n  params: {weight: {tp: shard(0)}}\n  region_dispatch: false\n"
    assert faults(text) == [("wrong-type", "params", "no-dash")]


def test_a_module_that_has_the_name_of_a_field_is_no_forgotten_dash() -> None:
    plan = plan_of("plan_overrides:\n  params: {params: {w: {tp: shard(0)}}}\n")
    assert plan.faults == () and [m.value for m in plan.entries[0].matches] == ["params"]


def test_the_value_of_a_match_is_no_match() -> None:
    (fault,) = plan_of("plan_overrides:\n  lm_head: 3\n").faults
    assert fault.field is None and fault.data["match"] == "lm_head"


def test_the_axis_words_are_those_of_the_topology() -> None:
    assert keys.AXIS_WORDS == topology.CANONICAL_AXES


@pytest.mark.parametrize("field", ["params", "in_src", "in_dst"])
def test_an_axis_where_a_tensor_belongs_is_one_fault(field: str) -> None:
    text = f"- match: lm_head\n  {field}: {{tp: shard(1), cp: replicate}}\n"
    assert faults(text) == [("not-a-placement", "tp", "no-tensor")]
    written = plan_of(text).entries[0].contract[field]
    assert written.layouts == {} and written.partly_broken


def test_the_tensors_beside_a_bare_axis_are_still_read() -> None:
    plan = plan_of("- match: lm_head\n  params: {tp: shard(1), weight: {tp: shard(0)}}\n")
    assert [f.data["problem"] for f in plan.faults] == ["no-tensor"]
    assert set(plan.entries[0].contract["params"].layouts or {}) == {"weight"}


@pytest.mark.parametrize(
    ("field", "written", "tensors"),
    [
        ("params", "{tp: {weight: shard(0)}}", {"weight": {"tp": "shard(0)"}}),
        ("params", "{tp: {w: shard(0), b: replicate}, cp: {w: replicate}}",
         {"w": {"tp": "shard(0)", "cp": "replicate"}, "b": {"tp": "replicate"}}),
        ("out_src", "{tp: {output: partial}}", {"output": {"tp": "partial"}}),
        ("in_src", "{tp: {x: shard(1)}, y: {tp: replicate}}", {"x": {"tp": "shard(1)"}, "y": {"tp": "replicate"}}),
    ],
)  # fmt: skip
def test_swapped_levels_are_one_fault_and_are_read_in_order(
    field: str, written: str, tensors: dict[str, dict[str, str]]
) -> None:
    text = f"- match: lm_head\n  {field}: {written}\n"
    assert faults(text) == [("not-a-placement", "tp", "swapped")]
    value = plan_of(text).entries[0].contract[field]
    assert value.partly_broken and value.layouts is not None
    assert {n: {a: str(p) for a, p in o.placements.items()} for n, o in value.layouts.items()} == tensors


@pytest.mark.parametrize("field", ["params", "in_src"])
def test_python_plans_know_swapped_and_missing_levels_too(field: str) -> None:
    head = "from hyper_parallel import *\nfrom hyper_parallel.distributed import *\n"
    for written, problem in (("{TP: Shard(0)}", "no-tensor"), ('{TP: {"weight": Shard(0)}}', "swapped")):
        text = f'{head}plan = {{"lm_head": ModuleShardingSpec({field}={written})}}\n'
        assert faults(text, "plan.py") == [("not-a-placement", "TP", problem)]


@pytest.mark.parametrize(
    "body",
    [
        "  params: {weight: {tp:shard(0)}}\n",
        "  params: {weight: {tp:shard(0) , cp: replicate}}\n",
        "  params: {weight: {tp:shard(0), cp:replicate}}\n",
        "  params:\n    weight:\n      tp:shard(0)\n",
        "  out_src: {tp:shard(0)}\n",
        "  out_src:\n    tp:shard(0)\n",
        "  inner_out_src: {tp:shard(0)}\n",
    ],
)
def test_a_missing_space_after_an_axis_is_one_fault(body: str) -> None:
    assert faults(f"- match: lm_head\n{body}") == [("not-a-placement", "tp:", "no-space")]


def test_a_missing_space_after_a_field_is_one_fault_and_the_field_is_read() -> None:
    text = "- {match: lm_head, when:cp, region_dispatch:false}\n"
    assert [(r, s) for r, s, _ in faults(text)] == [("unknown-key", "when:"), ("unknown-key", "region_dispatch:")]
    (entry,) = plan_of(text).entries
    assert entry.when is not None and entry.when.value == "cp"
    assert entry.region_dispatch is not None and entry.region_dispatch.value is False


def test_a_missing_space_in_the_accelerator_section_is_one_fault_and_the_size_is_read() -> None:
    text = "accelerator: {tp_size:2}\nplan_overrides: [{match: lm_head, params: auto}]\n"
    assert [(r, s) for r, s, _ in faults(text)] == [("unknown-key", "tp_size:")]
    accelerator = plan_of(text).accelerator
    assert accelerator is not None and accelerator.sizes["tp"].value == 2


def test_a_quoted_key_with_a_colon_is_taken_at_its_word() -> None:
    assert faults('- match: lm_head\n  params: {weight: {"tp:shard(0)": }}\n')[0][2] == "value"


@pytest.mark.parametrize(
    ("text", "place", "advice"),
    [
        ("- match: *.mlp\n  params: auto\n", "*.mlp", 'quote the glob: "*.mlp"'),
        ("- match: *\n  params: auto\n", "*", 'quote the glob: "*"'),
        ("- match: [*.mlp, *.attn]\n  params: auto\n", "*.mlp", 'quote the glob: "*.mlp"'),
        ("*.mlp:\n  params: auto\n", "*.mlp", 'quote the glob: "*.mlp"'),
        ("- match: *mlp\n  params: auto\n", "*mlp", 'if it is a glob, quote it: "*mlp"'),
        ("- match:lm_head\n  params: auto\n", "match:", "write `match: lm_head`"),
        ("- match: lm_head\n  when:cp\n  params: auto\n", "when:", "write `when: cp`"),
        ("- match: lm_head\n  when:cp\n", "when:", "write `when: cp`"),
        ("- match: a\n  params:\n    w:\n      tp:shard(0)\n      cp: replicate\n", "tp:", "write `tp: shard(0)`"),
    ],
)
def test_a_slip_that_breaks_the_yaml_is_shown_where_it_was_made(text: str, place: str, advice: str) -> None:
    document = read_document("plan.yaml", text.encode())
    (fault,) = [*document.faults, *(f for p in document.plans for f in p.faults)]
    assert fault.rule == "syntax-error"
    assert document.source.cut(fault.span) == place and fault.data["help"] == advice


def test_an_address_is_no_key_without_its_space() -> None:
    text = "plan_overrides:\n  - match: a\n    note: b\n  url: http://x\n   y: 1\n"
    (fault,) = read_document("plan.yaml", text.encode()).faults
    assert "space is missing" not in fault.data["message"]


def test_fields_inside_a_contract_field_belong_to_the_entry() -> None:
    text = (
        "- match: lm_head\n  params:\n    weight: {tp: shard(0)}\n    out_dst: {tp: shard(0)}\n    in_dst: auto\n"
        "    when: cp\n    region_dispatch: false\n"
    )
    assert [(r, s) for r, s, _ in faults(text)] == [
        ("unknown-key", name) for name in ("out_dst", "in_dst", "when", "region_dispatch")
    ]
    (entry,) = plan_of(text).entries
    assert set(entry.contract["params"].layouts or {}) == {"weight"}
    assert {"out_dst", "in_dst", "when", "region_dispatch"} <= entry.broken


def test_a_tensor_may_have_the_name_of_a_field() -> None:
    assert faults("- match: a\n  in_src: {params: {tp: shard(0)}, when: {tp: replicate}}\n") == []


def test_a_misspelt_accelerator_section_is_read_beside_a_plan() -> None:
    plan = plan_of("acelerator: {tp_size: 2}\nplan_overrides: [{match: a, params: auto}]\n")
    assert [(f.rule, f.data["meant"]) for f in plan.faults] == [("unknown-key", "accelerator")]
    assert plan.accelerator is not None and plan.accelerator.sizes["tp"].value == 2


@pytest.mark.parametrize("more", ["accelerators_used: 2", "accelerator: {}\nacelerator: {tp_size: 2}", "acelerator: 3"])
def test_other_sections_of_a_trainer_file_are_nobodys_business(more: str) -> None:
    assert faults(f"{more}\nplan_overrides: [{{match: a, params: auto}}]\n") == []


@pytest.mark.parametrize("field", ["params: {weight: {tp: shard(0)}}", "region_dispatch: false", "in_src: auto"])
def test_a_field_that_lost_its_indentation_is_told_beside_the_plan(field: str) -> None:
    text = f"plan_overrides:\n- match: lm_head\n{field}\n"
    assert [(r, s) for r, s, _ in faults(text)] == [("unknown-key", field.partition(":")[0])]


def test_params_of_another_section_are_no_field_of_an_entry() -> None:
    assert faults("params: {lr: 0.1}\nwhen: now\nplan_overrides: [{match: a, params: auto}]\n") == []


@pytest.mark.parametrize("size", ["0", "-1", "two", "1.5"])
def test_an_axis_size_is_at_least_one_and_a_wrong_one_is_not_taken_for_missing(size: str) -> None:
    plan = plan_of(f"accelerator: {{tp_size: {size}}}\nplan_overrides: [{{match: a, params: auto}}]\n")
    assert [f.rule for f in plan.faults] == ["wrong-type"]
    assert plan.accelerator is not None and plan.accelerator.unread == {"tp"}


def test_only_ascii_digits_number_a_dim() -> None:
    assert faults("- match: a\n  params: {w: {tp: shard(\N{ARABIC-INDIC DIGIT ZERO})}}\n")[0][0] == "not-a-placement"


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("- match: !!python/tuple [a, b]\n  params: auto\n", "!!python/tuple"),
        ("- match: !foo lm_head\n  params: auto\n", "!foo"),
        ("- match: &x !foo lm_head\n  params: auto\n", "!foo"),
        ("- match: !foo &x lm_head\n  params: auto\n", "!foo"),
        ("- match: a\n  params: !foo {weight: {tp: shard(0)}}\n", "!foo"),
        ("- !foo\n  match: a\n  params: auto\n", "!foo"),
    ],
)
def test_a_tag_that_no_loader_takes_is_shown_itself_and_alone(text: str, tag: str) -> None:
    document = read_document("plan.yaml", text.encode())
    (plan,) = document.plans
    assert [document.source.cut(f.span) for f in document.faults] == [tag] and plan.faults == ()
