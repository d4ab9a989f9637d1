"""Plans of Hugging Face in JSON and YAML: config.json, the files of training and serving tools."""

import json
from pathlib import Path

import pytest

from hplint.front.read import may_hold_plan, read_document
from hplint.lint.collect import collect
from hplint.lint.request import Request
from hplint.lint.session import lint
from hplint.plan.plan import Document, Plan
from hplint.plan.style import TP_PLAN, Carrier

CONFIG = """{
	"model_type": "small",
	"base_model_tp_plan": {"layers.*.q": "colwise", "layers.*.o": 3},
	"text_config": {"base_model_pp_plan": {"embed": [["ids"], ["embeds"]]}, "base_model_tp_plan": {"q": "rowwise"}},
	"base_model_ep_plan": null
}
"""


def yaml(text: str) -> Document:
    return read_document("serve.yaml", text.encode())


def told(plan: Plan) -> dict[str, str | None]:
    return {e.key.value: e.style and e.style.name for e in plan.styles if e.key}


def cuts(plan: Plan) -> list[tuple[str, str | None]]:
    return [(plan.source.cut(e.span), e.style and plan.source.cut(e.style.span)) for e in plan.styles]


def test_each_plan_of_a_config_is_read_with_its_way_there() -> None:
    document = read_document("small/config.json", CONFIG.encode())
    assert document.faults == ()
    tp, pp, inner = document.plans
    assert (tp.name, tp.carrier) == ("base_model_tp_plan", Carrier("tp", "config"))
    assert (pp.name, pp.carrier) == ("base_model_pp_plan", Carrier("pp", "config", None, ("text_config",)))
    assert inner.carrier == Carrier("tp", "config", None, ("text_config",))
    assert cuts(tp) == [('"layers.*.q"', '"colwise"'), ('"layers.*.o"', None)]
    assert [(f.rule, f.entry, tp.source.cut(f.span)) for f in tp.faults] == [("wrong-type", 1, "3")]
    assert told(pp) == {"embed": None} and pp.faults == ()
    assert [tp.source.cut(p.anchor) for p in document.plans] == [f'"{p.name}"' for p in document.plans]


def test_the_config_of_a_model_names_its_own_folder() -> None:
    for path, model in (("small/config.json", "."), ("config.json", "."), ("small/other.json", None)):
        plan, *_ = read_document(path, CONFIG.encode()).plans
        assert (plan.model and plan.model.value) == model
    plan, *_ = read_document("config.json", CONFIG.replace("model_type", "kind").encode()).plans
    assert plan.model is None


@pytest.mark.parametrize(
    "text",
    [
        '{"model_type": "small", "hidden_size": 64}', '{"model_type": "small", "base_model_tp_plan": null}',
        '{"tp_plan": "auto", "tp_size": 4}', '{"tp_plan": {"monday": 1, "tuesday": 2}}', '{"tp_plan": {}}',
        '{"tp_plan": {"monday": "rest"}}', '{"tp_plan": ["colwise"]}', '{"tp_plan": {"a.b": {"c": "colwise"}}}',
        '"tp_plan"', '{"3": {"tp_plan": 3}}', '{"base_model_tp_plan": {"small": {"q": "colwise"}}}',
    ],
)  # fmt: skip
def test_what_is_no_plan_is_left_alone(text: str) -> None:
    for path in ("config.json", "serve.yaml"):
        document = read_document(path, text.encode())
        assert document.plans == () and document.faults == ()


def test_a_plan_is_found_at_any_depth_with_the_sizes_beside_it() -> None:
    text = """model:
  distributed_config:
    tp_size: 4
    ep_size: ${EP}
    pp_size: null
    tp_plan: {model.layers.*.q: colwise, 'lm_head': "replicate"}
stages:
  - {tp_plan: {q_proj: rowwise}, tp_size: 0}
"""
    first, second = yaml(text).plans
    assert first.carrier == second.carrier == Carrier("tp", "argument")
    assert cuts(first) == [("model.layers.*.q", "colwise"), ("'lm_head'", '"replicate"')]
    assert first.accelerator and not first.accelerator.implied and first.faults == ()
    assert {axis: n.value for axis, n in first.accelerator.sizes.items()} == {"tp": 4}
    assert first.accelerator.unread == {"ep"}
    assert [(f.rule, f.data["key"], second.source.cut(f.span)) for f in second.faults] == [
        ("wrong-type", "tp_size", "0")
    ]


@pytest.mark.parametrize(
    ("around", "name"),
    [
        ("{}", "tp_plan"), ("{}", "ep_plan"), ("{}", "base_model_tp_plan"), ("{}", "_tp_plan"),
        ("{}", "base_model_ep_plan"),
        ("text_config: {{{}}}", "base_model_tp_plan"), ("hf_overrides: {{text_config: {{{}}}}}", "base_model_tp_plan"),
        ("args: [a, {{{}}}]", "tp_plan"),
    ],
)  # fmt: skip
def test_a_plan_may_stand_under_each_of_its_names(around: str, name: str) -> None:
    (plan,) = yaml(around.format(f"{name}: {{q.w: colwise}}")).plans
    assert plan.dialect == TP_PLAN and plan.name == name and told(plan) == {"q.w": "colwise"}
    assert plan.carrier and plan.carrier.steps == (("text_config",) if "text_config" in around else ())


def test_the_sections_of_a_trainer_file_say_of_its_tp_plan_what_they_say_of_the_other() -> None:
    text = """model: {pretrained_model_name_or_path: small, tp_plan: {q.w: colwise}}
accelerator: {tp_size: 2}
plan_overrides:
  - match: model.layers.*
    params: {w: {tp: shard(0)}}
"""
    overrides, plan = yaml(text).plans
    assert (overrides.dialect, plan.dialect) == ("yaml", TP_PLAN)
    for one in (overrides, plan):
        assert one.accelerator and one.accelerator.sizes["tp"].value == 2
        assert one.model and one.model.value == "small"


def test_all_documents_of_a_stream_may_hold_plans_of_this_kind() -> None:
    document = yaml("a: {tp_plan: {q.w: colwise}}\n---\nb: 1\n---\n- tp_plan: {k.w: rowwise}\n")
    assert [told(p) for p in document.plans] == [{"q.w": "colwise"}, {"k.w": "rowwise"}]
    assert document.faults == ()


def test_merged_and_doubled_keys_are_read_as_yaml_has_them() -> None:
    text = "base: &b {q: colwise, k: colwise}\ntp_plan:\n  <<: *b\n  k: rowwise\n  o: rowwise\n  o: colwise\n"
    (plan,) = yaml(text).plans
    assert told(plan) == {"q": "colwise", "k": "rowwise", "o": "colwise"}
    assert [(f.rule, f.data["key"], f.span.start) for f in plan.faults] == [("duplicate-key", "o", text.rindex("o:"))]


def test_yaml_words_that_are_no_strings_are_told() -> None:
    (plan,) = yaml("tp_plan:\n  q.w: colwise\n  k.w: no\n  o.w:\n  1: colwise\n").plans
    assert [(f.rule, plan.source.cut(f.span)) for f in plan.faults] == [
        ("wrong-type", "no"), ("wrong-type", ""), ("wrong-type", "1")
    ]  # fmt: skip


def test_aliases_that_lead_to_one_plan_on_many_ways_make_one_plan() -> None:
    levels = "".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]\n" for i in range(1, 6))
    (plan,) = yaml(f"l0: &l0 {{tp_plan: {{q.w: colwise}}}}\n{levels}").plans
    assert told(plan) == {"q.w": "colwise"}


def test_a_text_that_cannot_be_read_is_told_and_nothing_else() -> None:
    document = read_document("config.json", CONFIG.replace("null", "[").encode())
    assert document.plans == () and [f.rule for f in document.faults] == ["syntax-error"]


def test_a_folder_gives_the_files_that_hold_a_plan_and_no_others(tmp_path: Path) -> None:
    files = {
        "config.json": CONFIG, "none/config.json": '{"model_type": "small"}',
        "serve.yaml": "a: {tp_plan: {q: colwise}}",
        "auto.yaml": "tp_plan: auto\n", "broken/config.json": CONFIG[:-3], "other.json": '{"a": [',
        "configuration_small.py": "class C(P):\n base_model_tp_plan = {'q': 'colwise'}\n",
        "trainer.py": "def train(config):\n return config.tp_plan\n",
    }  # fmt: skip
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = [
        Path(d.source.path).relative_to(tmp_path).as_posix() for d in collect((str(tmp_path),), None, None).documents
    ]
    assert sorted(found) == ["broken/config.json", "config.json", "configuration_small.py", "serve.yaml"]
    named = collect((str(tmp_path / "none" / "config.json"),), None, None)
    assert named.documents == [] and len(named.without_plan) == 1
    assert not may_hold_plan(files["none/config.json"].encode())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plan.py", "# hplint: mesh=tp=2\nclass C(P):\n    base_model_tp_plan = {\n"
                    "        'a.b': 3,  # hplint: ignore[HPL003]\n        'c': 'colwise',\n"
                    "        # hplint: ignore[HPL005]\n        'c': 'rowwise',\n        'k': None,\n    }\n"),
        ("plan.yaml", "# hplint: mesh=tp=2\ntp_plan:\n  a.b: 3  # hplint: ignore[HPL003]\n  c: colwise\n"
                      "  # hplint: ignore[HPL005]\n  c: rowwise\n  k: null\n"),
    ],
)  # fmt: skip
def test_comments_direct_and_ignore_here_as_elsewhere(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    run = lint(Request(paths=(str(path),), use_cache=False))
    assert [(d.code, d.match) for d in run.diagnostics] == [("HPL003", "k")]
    assert run.suppressed == 2
    assert run.plans[0].topology.tp == 2


def test_a_config_is_checked_against_the_model_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 96,
        "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 128,
        "base_model_tp_plan": {"layers.*.mlp.up_proj": "colwise", "layers.*.mlp.down_proj": "rowwise"},
    }  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config, indent=1), encoding="utf-8")
    run = lint(Request(paths=(str(path),), meshes=({"tp": 2},)))
    (checked,) = run.plans
    assert checked.tree is not None and "model.layers.1.mlp.up_proj" in checked.tree.modules
    assert not [d for d in run.diagnostics if d.code == "HPL009"]


@pytest.mark.parametrize(("written", "kind"), [('"auto"', "a string"), ("7", "a number"), ('["a"]', "a list")])
def test_what_is_no_plan_at_all_under_the_name_of_one_in_a_config_is_wrong(written: str, kind: str) -> None:
    text = f'{{"model_type": "llama", "base_model_tp_plan": {written}}}'
    (plan,) = read_document("config.json", text.encode()).plans
    (fault,) = plan.faults
    assert (fault.rule, plan.source.cut(fault.span), fault.data["type"]) == ("wrong-type", written, kind)
    assert plan.styles == ()


def test_null_under_the_name_of_a_plan_is_none() -> None:
    assert read_document("config.json", b'{"model_type": "llama", "base_model_tp_plan": null}').plans == ()
