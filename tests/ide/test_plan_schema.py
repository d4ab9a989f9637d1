"""The schema of plan files: what is a plan passes, single slips do not, and its size hangs on the shapes of names."""

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from checking import FIXTURES, fixture_tree
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from hplint.config.mesh import parse_mesh
from hplint.derive.derive import derive_boundaries
from hplint.ide.schema import plan_schema
from hplint.ide.schema_names import anchored, fold, regex
from hplint.lint.registry import Registry
from hplint.resolve.topology import Topology

PLANS = sorted((FIXTURES / "plans" / "ok").glob("*.yaml"))
ENTRY = {
    "match": "model.layers.0.mlp",
    "when": "cp",
    "params": {"up_proj.weight": {"tp": "shard(0)"}},
    "in_src": {"hidden_states": {"tp": "replicate"}},
    "out_src": {"tp": "partial"},
    "out_dst": "auto",
    "region_dispatch": False,
    "inner_target": "self",
    "inner_wrapper": "sdpa_hf",
    "inner_out_src": "first_input",
    "local_compute_fn": {"_target_": "kernels.mlp", "block": 4},
    "tp_divide_attrs": ["num_heads"],
}


@cache
def schema(name: str, mesh: str = "dp=2,tp=2") -> dict[str, Any]:
    tree, sizes = fixture_tree(name), parse_mesh(mesh)
    topology = Topology(tp=sizes.get("tp", 1), cp=sizes.get("cp", 1), dp=sizes.get("dp"), mesh=sizes)
    made = plan_schema(Registry(), tree, [topology], derive_boundaries(tree, topology))
    Draft7Validator.check_schema(made)
    return made


def errors(plan: Any, name: str = "toy") -> list[str]:
    return [e.message for e in Draft7Validator(schema(name)).iter_errors(plan)]


def model_of(plan: Path) -> str:
    found = re.search(r"# hplint: model=\S+/(\w+)", plan.read_text(encoding="utf-8"))
    assert found
    return found[1]


@pytest.mark.parametrize("plan", PLANS, ids=lambda p: p.stem)
def test_plans_of_real_models_pass(plan: Path) -> None:
    assert errors(yaml.safe_load(plan.read_text(encoding="utf-8")), model_of(plan)) == []


def forms(entry: dict[str, Any]) -> Iterator[Any]:
    """One entry in each form that a plan file may have."""
    fields = {k: v for k, v in entry.items() if k != "match"}
    trainer = {"model": {"anything": 1}, "accelerator": {"tp_size": 2, "sequence_parallel": True}}
    yield [entry]
    yield trainer | {"plan_overrides": [entry]}
    if isinstance(entry.get("match"), str):
        yield {"model.norm": {"out_dst": "auto"}, entry["match"]: fields}
        yield trainer | {"plan_overrides": {entry["match"]: fields}}


def test_an_entry_with_every_field_passes_in_every_form() -> None:
    assert [errors(form) for form in forms(ENTRY)] == [[]] * 4


SLIPS: dict[str, dict[str, Any]] = {
    "unknown key": {"parms": {}},
    "wrong axis": {"params": {"up_proj.weight": {"tpp": "shard(0)"}}},
    "axis that no plan may use": {"in_src": {"hidden_states": {"dp": "shard(0)"}}},
    "wrong axis of a bare output": {"out_src": {"tpp": "partial"}},
    "wrong placement": {"params": {"up_proj.weight": {"tp": "shrd(0)"}}},
    "negative dim": {"params": {"up_proj.weight": {"tp": "shard(-1)"}}},
    "placement without an axis": {"params": {"up_proj.weight": "shard(0)"}},
    "empty layout": {"params": {"up_proj.weight": {}}},
    "misspelt sentinel": {"out_dst": "Auto"},
    "unknown module": {"match": "model.layers.0.mpl"},
    "layer past the last": {"match": "model.layers.3.mlp"},
    "empty match": {"match": ""},
    "unknown when": {"when": "tp"},
    "flag as text": {"region_dispatch": "false"},
    "unknown wrapper": {"inner_wrapper": "sdpa"},
    "target without a path": {"local_compute_fn": {"target": "kernels.mlp"}},
    "target as text": {"local_compute_fn": "kernels.mlp"},
    "unknown word for what a child returns": {"inner_out_src": "second_input"},
    "names as text": {"tp_divide_attrs": "num_heads"},
}


@pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS)
def test_a_single_slip_fails_in_every_form(slip: dict[str, Any]) -> None:
    assert all(errors(form) for form in forms(ENTRY | slip))


@pytest.mark.parametrize(
    "change",
    [
        {"match": "*.mlp"}, {"match": "model.layers.[0-2].m?p"}, {"match": "*.no_such_thing"},
        {"params": {"up_proj.weight": {"tp": " Shard( 1 ) ", "cp": "REPLICATE"}}}, {"params": None}, {"params": {}},
        {"params": {"some.replaced.weight": {"ep": "shard(0)"}}}, {"out_src": {"output": {"tp": "partial"}}},
        {"when": None}, {"inner_out_src": {"tp": "partial"}}, {"inner_wrapper": {"_target_": "kernels.wrap", "n": 1}},
        {"tp_divide_attrs": None}, {"inner_target": "some.child"},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_allowed_passes_in_every_form(change: dict[str, Any]) -> None:
    assert not any(errors(form) for form in forms(ENTRY | change))


@pytest.mark.parametrize(
    "section", [{"tp_size": 0}, {"tp_sizes": 2}, {"tp_size": "2"}, {"sequence_parallel": "yes"}, ["tp_size"]], ids=str
)
def test_a_slip_in_the_accelerator_section_fails(section: Any) -> None:
    assert errors({"accelerator": section, "plan_overrides": []})


def test_trainer_files_may_hold_whatever_else(tmp_path: Path) -> None:
    for other in ({"accelerator": {"tp_size": "${tp}"}}, {"optimizer": {"lr": 1}, "model": "x"}, {}):
        assert errors(other) == [] and errors(other | {"plan_overrides": None}) == []


def test_a_list_of_matches_is_for_replacements() -> None:
    several = {"match": ["*.norm", "model.norm"], "replace_module": {"_target_": "kernels.norm"}}
    assert errors([several]) == []
    assert errors([several | {"match": ["model.nrom"]}]) and errors([several | {"match": []}])


def test_suggestions_are_the_boundaries_first_and_say_what_they_hit() -> None:
    shown = schema("deepseek_v3_671b")["definitions"]["module"]["anyOf"][0]
    told = dict(zip(shown["enum"], shown["enumDescriptions"], strict=True))
    assert told["*.self_attn"] == told["model.layers.*.self_attn"]
    assert told["*.self_attn"] == "DeepseekV3Attention, derived as attention, 61 modules"
    assert told["model.layers.*.mlp"].startswith("DeepseekV3MLP or DeepseekV3MoE, derived as mlp or moe_mlp")
    assert list(told).index("*.self_attn") < list(told).index("*.q_a_proj")
    assert not [word for word in told if re.search(r"\.\d+\.", word)]


def parameters_offered(name: str, match: str) -> set[str]:
    """The tensors that the schema suggests under params of an entry with this match."""
    made = schema(name)
    found: set[str] = set()
    for choice in made["definitions"]["entry"]["allOf"]:
        if Draft7Validator({**choice["if"], "definitions": made["definitions"]}).is_valid({"match": match}):
            found |= set(choice["then"]["properties"]["params"]["anyOf"][1]["properties"])
    return found


def test_parameters_are_those_of_the_modules_that_are_matched() -> None:
    mlp = {"gate_proj.weight", "up_proj.weight", "down_proj.weight"}
    assert parameters_offered("llama3_8b", "model.layers.7.mlp") == parameters_offered("llama3_8b", "*.mlp") == mlp
    assert parameters_offered("llama3_8b", "model.norm") == {"weight"}
    dense = parameters_offered("deepseek_v3_671b", "model.layers.0.mlp")
    sparse = parameters_offered("deepseek_v3_671b", "model.layers.60.mlp")
    assert dense == mlp and "gate.weight" in sparse and "up_proj.weight" not in sparse
    assert parameters_offered("deepseek_v3_671b", "model.layers.*.mlp") == dense | sparse


def test_axes_and_descriptions_are_those_of_the_meshes() -> None:
    layout = schema("toy", "dp=2,cp=4,tp=8")["definitions"]["layout"]["properties"]
    assert list(layout)[:2] == ["cp", "tp"]
    assert layout["tp"]["description"] == "tensor-parallel axis, size 8" and "dp" not in layout


def test_keys_are_explained_by_the_pages_of_their_rules() -> None:
    params = schema("toy")["definitions"]["entry"]["properties"]["params"]
    assert "Layouts of parameters" in params["description"]
    assert "**HPL104** unknown-parameter: Reports" in params["markdownDescription"]


@pytest.mark.parametrize("name", ["deepseek_v3_671b", "kimi_k2_6", "llama3_405b"])
def test_the_schema_of_a_large_model_stays_small(name: str) -> None:
    assert len(json.dumps(schema(name), indent=1)) < 400_000


def test_layers_cost_nothing() -> None:
    small, large = copy.deepcopy(schema("llama3_8b")), schema("llama3_405b")
    assert len(json.dumps(large)) < 1.05 * len(json.dumps(small))


def test_without_a_model_every_name_passes_and_keys_are_checked() -> None:
    validator = Draft7Validator(plan_schema(Registry()))
    assert validator.is_valid([ENTRY | {"match": "any.module"}])
    assert not validator.is_valid([ENTRY | {"parms": {}}])


@pytest.mark.parametrize(
    ("plan", "passes"),
    [
        ({"tp_plan": {"model.layers.*.mlp.up_proj": "colwise", "lm_head": "colwise_gather_output"}}, True),
        ({"tp_plan": "auto"}, True),
        ({"distributed_config": {"tp_size": 2, "tp_plan": {"model.layers.*.mlp.up_proj": "colwise"}}}, True),
        ({"base_model_tp_plan": {"layers.*.mlp.up_proj": "colwise", "embed_tokens": "embedding_rowwise"}}, True),
        ({"tp_plan": {"model.layers.*.mlp.up_porj": "colwise"}}, False),
        ({"tp_plan": {"model.layers.0.mlp.up_proj": "colwise"}}, False),
        ({"tp_plan": {"model.layers.*.mlp.up_proj": "colwse"}}, False),
        ({"tp_plan": {"model.layers.*.mlp.up_proj": "grouped_gemm"}}, False),
        ({"base_model_tp_plan": {"model.layers.*.mlp.up_proj": "colwise"}}, False),
        ({"distributed_config": {"tp_plan": {"lm_head": "col"}}}, False),
    ],
)
def test_keys_and_words_of_tp_plans_are_those_of_the_model_and_the_library(plan: dict[str, Any], passes: bool) -> None:
    assert (errors(plan, "llama") == []) is passes


def test_tp_plans_for_models_of_other_makers_are_checked_for_words_alone() -> None:
    assert errors({"tp_plan": {"anything.at.all": "colwise"}}, "toy") == []
    assert errors({"tp_plan": {"anything.at.all": "colwse"}}, "toy") != []


@given(st.sets(st.from_regex(r"[ab](\.(a|b|[0-9]{1,2})){0,3}", fullmatch=True), max_size=30), st.data())
def test_folded_names_match_themselves_and_nothing_else(names: set[str], data: st.DataObject) -> None:
    expressions = [regex(shape) for shape in fold(sorted(names))]
    pattern = re.compile(anchored(expressions) if expressions else "(?!)")
    assert all(pattern.match(name) for name in names)
    other = data.draw(st.from_regex(r"[ab](\.(a|b|[0-9]{1,2})){0,3}", fullmatch=True))
    assert bool(pattern.match(other)) == (other in names)
