"""Which YAML files are plans, and what a trainer file says of its run."""

import pytest

from hplint.front.read import read_document
from hplint.plan.plan import Document


def read(text: str, path: str = "plan.yaml") -> Document:
    return read_document(path, text.encode())


def matches(document: Document) -> list[str | None]:
    return [e.match.value if e.match else None for p in document.plans for e in p.entries]


@pytest.mark.parametrize(
    "text",
    [
        'plan_overrides:\n  - match: "*.mlp"\n    params: auto\n',
        'plan_overrides:\n  "*.mlp": {params: auto}\n',
        '- match: "*.mlp"\n  params: auto\n',
        '"*.mlp":\n  params: auto\n',
        '"*.mlp":\n  params: {w: {tp: shard(0)}}\n',
        '"*.mlp": {region_dispatch: false}\n',
        '- match: "*.mlp"\n',
        '- match: "*.mlp"\n  parms: {}\n',
        '{"plan_overrides": [{"match": "*.mlp"}]}',
        '[{"match": "*.mlp", "out_dst": "auto"}]',
    ],
)
def test_a_plan_is_found_in_all_its_forms(text: str) -> None:
    document = read(text)
    assert document.faults == ()
    assert matches(document) == ["*.mlp"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "just text",
        "a: 1\nb: [1, 2]\n",
        "services:\n  web: {image: nginx, when: always}\n",
        "- name: build\n  run: make\n",
        "- match: {severity: page}\n  receiver: me\n",
        "- match: foo\n  receiver: me\n",
        "train:\n  params: {lr: 0.1}\n",
        "model: {params: 7}\nother: {when: now}\n",
        "a: {{ x }}\n",
        "a: !include b.yaml\n",
        "a: 1\n---\nb: 2\n",
    ],
)
def test_ordinary_yaml_is_no_plan_and_no_fault(text: str) -> None:
    document = read(text)
    assert document.plans == () and document.faults == ()


def test_a_trainer_file_tells_sizes_flags_and_model() -> None:
    text = """\
model: {pretrained_model_name_or_path: ./tiny, torch_dtype: bfloat16}
accelerator: {tp_size: 2, cp_size: 4, sequence_parallel: true, loss_parallel: no, pp_size: null}
optimizer: {lr: 1}
plan_overrides:
"""
    document = read(text)
    (plan,) = document.plans
    assert plan.faults == () and plan.entries == ()
    assert plan.model and plan.model.value == "./tiny"
    run = plan.accelerator
    assert run and {k: v.value for k, v in run.sizes.items()} == {"tp": 2, "cp": 4} and run.implied
    assert run.sequence_parallel and run.sequence_parallel.value is True
    assert run.loss_parallel and run.loss_parallel.value is False
    assert plan.source.cut(plan.anchor) == "plan_overrides"
    assert plan.source.cut(run.sizes["cp"].span) == "4"


@pytest.mark.parametrize(
    ("section", "rule", "token"),
    [
        ("{tp_sise: 2}", "unknown-key", "tp_sise"),
        ("{tp_size: two}", "wrong-type", "two"),
        ("{tp_size: 2.0}", "wrong-type", "2.0"),
        ("{tp_size: true}", "wrong-type", "true"),
        ('{sequence_parallel: "true"}', "wrong-type", '"true"'),
        ("{tp_size: 2, tp_size: 4}", "duplicate-key", "tp_size"),
        ("[tp]", "wrong-type", "[tp]"),
    ],
)
def test_the_accelerator_section_is_checked(section: str, rule: str, token: str) -> None:
    (plan,) = read(f"accelerator: {section}\nplan_overrides: []\n").plans
    assert [(f.rule, plan.source.cut(f.span)) for f in plan.faults] == [(rule, token)]


@pytest.mark.parametrize("value", ["${tp}", "null"])
def test_sizes_that_say_nothing_are_left_open(value: str) -> None:
    (plan,) = read(f"accelerator:\n  tp_size: {value}\nplan_overrides: []\n").plans
    assert plan.faults == () and plan.accelerator and plan.accelerator.sizes == {}


def test_overrides_that_are_no_entries_are_a_wrong_type() -> None:
    (plan,) = read("plan_overrides: 3\n").plans
    assert [(f.rule, plan.source.cut(f.span)) for f in plan.faults] == [("wrong-type", "3")]


def test_a_misspelt_plan_overrides_is_told_and_read() -> None:
    document = read("plan_override:\n- match: a\n  params: auto\n")
    assert [(f.rule, f.data["meant"]) for p in document.plans for f in p.faults] == [("unknown-key", "plan_overrides")]
    assert matches(document) == ["a"]


def test_one_entry_without_its_dash_is_told_and_read() -> None:
    document = read("match: a\nparams: auto\n")
    assert [(f.rule, f.entry) for p in document.plans for f in p.faults] == [("wrong-type", None)]
    assert matches(document) == ["a"]


def test_a_match_written_twice_is_a_duplicate_whose_last_value_counts() -> None:
    document = read("a: {params: auto}\nb: {params: auto}\na: {params: none}\n")
    (plan,) = document.plans
    assert [(f.rule, plan.source.position(f.span.start)) for f in plan.faults] == [("duplicate-key", (3, 1))]
    assert [(e.match and e.match.value, e.contract["params"].sentinel) for e in plan.entries] == [
        ("a", "none"),
        ("b", "auto"),
    ]


def test_several_documents_are_a_fault_when_one_is_a_plan() -> None:
    document = read("a: 1\n---\n- match: a\n  params: auto\n")
    assert [(f.rule, document.source.cut(f.span)) for f in document.faults] == [("syntax-error", "---")]
    assert matches(document) == ["a"]


def test_what_a_loader_refuses_in_a_plan_file_is_a_fault_and_the_rest_is_read() -> None:
    document = read("x: *nowhere\nplan_overrides:\n- match: a\n  params: auto\n")
    assert [(f.rule, document.source.cut(f.span)) for f in document.faults] == [("syntax-error", "*nowhere")]
    assert matches(document) == ["a"]


def test_an_unreadable_part_of_an_entry_causes_no_second_fault() -> None:
    document = read("- match: a\n  params: *nowhere\n- *gone\n- <<: *lost\n  params: auto\n- match: !x b\n")
    (plan,) = document.plans
    assert len(document.faults) == 4
    assert plan.faults == ()
    assert "params" in plan.entries[0].broken and "match" in plan.entries[2].broken


def test_json_may_be_indented_with_tabs_and_escape_pairs() -> None:
    text = '[\n\t{\n\t\t"match": "a\\/\\ud83d\\ude00",\n\t\t"out_dst": "auto"\n\t}\n]\n'
    document = read(text, "plan.json")
    assert document.faults == ()
    assert matches(document) == ["a/\U0001f600"]
