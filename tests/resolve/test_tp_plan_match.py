"""Which modules and parameters the keys of a tp_plan name, and what a model ships beside a plan."""

import re
from itertools import pairwise
from typing import Any

import pytest
from checking import fixture_tree as tree
from hypothesis import given
from hypothesis import strategies as st

from hplint.model.tree import ModuleTree, Node, PlanOwner, Tensor
from hplint.plan.entry import Text
from hplint.plan.plan import Plan
from hplint.plan.style import TP_PLAN, Carrier, Style, StyleEntry
from hplint.resolve.styles.resolved import ResolvedStyles, resolve_styles
from hplint.resolve.topology import Topology
from hplint.resolve.tp_plan.match import generic
from hplint.resolve.tp_plan.shipped import shipped_plan
from hplint.resolve.tp_plan.words import WORDS, cut_dim
from hplint.text.source import Source
from hplint.text.span import START


def plan(rules: dict[str, str], carrier: Carrier = Carrier()) -> Plan:  # noqa: B008
    entries = tuple(
        StyleEntry(i, Text(key, START), Style(word, "hf", START), START) for i, (key, word) in enumerate(rules.items())
    )
    return Plan(Source("plan.yaml", ""), TP_PLAN, (), styles=entries, carrier=carrier)


def resolved(
    rules: dict[str, str], model: ModuleTree, carrier: Carrier = Carrier(), **sizes: int  # noqa: B008
) -> ResolvedStyles:  # fmt: skip
    return resolve_styles(plan(rules, carrier), model, Topology(**sizes))


def words(found: ResolvedStyles) -> dict[str, str]:
    return {name: entry.style.kind for name, entry in found.winners.items() if entry.style}


def test_a_star_stands_for_one_number() -> None:
    found = resolved({"model.layers.*.mlp.up_proj": "colwise"}, tree("llama"))
    assert found.hits[0] == ("model.layers.0.mlp.up_proj", "model.layers.1.mlp.up_proj")
    assert not found.unmatched


@pytest.mark.parametrize(
    "key", ["model.layers.0.mlp.up_proj", "model.layers.*.mlp.*", "model.layers.*", "layers.*.mlp"]
)
def test_keys_are_neither_patterns_nor_prefixes_and_numbers_match_nothing(key: str) -> None:
    found = resolved({key: "colwise"}, tree("llama"))
    assert bool(found.unmatched) == (key != "model.layers.*")


def test_a_rule_of_a_parameter_comes_before_that_of_its_module() -> None:
    rules = {"lm_head": "colwise_gather_output", "lm_head.weight": "rowwise"}
    found = words(resolved(rules, tree("llama")))
    assert (found["lm_head"], found["lm_head.weight"]) == ("colwise_gather_output", "rowwise")


def test_an_argument_is_laid_over_the_shipped_plan() -> None:
    found = words(resolved({"model.layers.*.mlp.up_proj": "replicate"}, tree("llama")))
    assert found["model.layers.0.mlp.up_proj"] == "replicate"
    assert found["model.layers.0.mlp.gate_proj"] == "colwise"
    assert found["model.embed_tokens"] == "embedding_rowwise"


def test_an_empty_argument_takes_the_shipped_plan_away() -> None:
    assert words(resolved({}, tree("llama"))) == {}


def test_a_plan_of_a_config_counts_from_the_base_model_and_replaces_that_of_the_config() -> None:
    carrier = Carrier("tp", "config", "LlamaConfig")
    found = resolved({"layers.*.mlp.up_proj": "colwise"}, tree("llama"), carrier)
    assert found.roots == {0: ("model",)}
    assert words(found) == {
        "model.embed_tokens": "embedding_rowwise",
        "model.layers.0.mlp.up_proj": "colwise",
        "model.layers.1.mlp.up_proj": "colwise",
        "lm_head": "colwise_gather_output",
    }


def test_a_plan_of_a_model_class_counts_from_that_model() -> None:
    found = resolved({"lm_head": "colwise"}, tree("llama"), Carrier("tp", "model", "LlamaForCausalLM"))
    assert (found.roots, words(found)["lm_head"]) == ({0: ("",)}, "colwise")
    assert words(found)["model.layers.0.mlp.down_proj"] == "rowwise"


def test_a_plan_of_an_unknown_config_counts_from_where_most_keys_fit() -> None:
    rules = {"layers.*.mlp.up_proj": "colwise", "layers.*.mlp.nothing": "colwise"}
    found = resolved(rules, tree("llama"), Carrier("tp", "config", "MyConfig"))
    assert (found.roots[0], sorted(found.guessed)) == (("model",), [0, 1])
    assert [e.index for e in found.unmatched] == [1]


def test_a_plan_of_an_unknown_config_never_counts_from_the_whole_model() -> None:
    rules = {"model.layers.*.mlp.up_proj": "colwise"}
    found = resolved(rules, tree("llama"), Carrier("tp", "config", "MyConfig"))
    assert (found.roots[0], len(found.unmatched), found.guessed) == (("model",), 1, frozenset())
    strange = resolved({"blocks.*.attn.q": "colwise"}, tree("llama"), Carrier("tp", "config", "MyConfig"))
    assert strange.guessed == {0}


def test_the_plan_of_a_nested_config_counts_from_the_model_that_it_makes() -> None:
    found = resolved({"layers.*.mlp.up_proj": "colwise"}, nested(), Carrier("tp", "config", None, ("text_config",)))
    assert found.roots == {0: ("model.language_model",)}
    assert found.hits[0] == ("model.language_model.layers.0.mlp.up_proj",)


def test_where_experts_are_spread_the_tp_rules_for_them_give_way() -> None:
    model = tree("qwen3_moe")
    shipped = {key: rule.word for key, rule in shipped_plan(model).items()}
    experts = "model.layers.0.mlp.experts"
    assert experts in words(resolved(shipped, model, Carrier("tp", "builtin"), tp=2, ep=1))
    there = words(resolved(shipped, model, Carrier("tp", "builtin"), tp=2, ep=2))
    assert experts not in there
    assert there["model.layers.0.self_attn.q_proj"] == "colwise"


def test_of_a_tied_parameter_the_first_name_counts() -> None:
    model = tied()
    assert not resolved({"emb.weight": "embedding_rowwise"}, model).unmatched
    assert resolved({"head.weight": "colwise"}, model).unmatched
    assert not resolved({"head": "colwise"}, model).unmatched


def tied() -> ModuleTree:
    leaf = Node(-1, {"weight": Tensor((8, 4), "float32")}, {}, {}, ())
    root = Node(-1, {}, {}, {}, (("emb", 0), ("head", 0)))
    return ModuleTree(
        classes=(), nodes=(leaf, root), root=1, aliases={}, ties=(("emb.weight", "head.weight"),), config={}
    )  # fmt: skip


def nested() -> ModuleTree:
    """A model of pictures and text, whose language model has a config of its own."""
    leaf = Node(-1, {"weight": Tensor((8, 4), "float32")}, {}, {}, ())
    nodes = [leaf]
    for number, name in enumerate(("up_proj", "mlp", "0", "layers", "language_model", "model")):
        nodes.append(Node(-1, {}, {}, {}, ((name, number),)))
    plan = {"tp": {"layers.*.mlp.up_proj": "colwise"}}
    owners = (
        PlanOwner("", ("Both",), ("BothConfig",), "both", False, False, {"tp": {"lm_head": "colwise"}}, {}),
        PlanOwner("model", ("BothModel",), ("BothConfig",), "both", True, False, {}, {}),
        PlanOwner("model.language_model", ("Text",), ("TextConfig",), "text", True, True, {}, plan),
    )
    config: dict[str, Any] = {"model_type": "both", "text_config": {"model_type": "text"}}
    return ModuleTree(
        classes=(), nodes=tuple(nodes), root=6, aliases={}, ties=(), config=config, owners=owners
    )  # fmt: skip


def test_children_bring_their_plans_under_their_names_and_embeddings_are_added() -> None:
    found = {key: (rule.word, rule.kind, rule.owner.fqn) for key, rule in shipped_plan(nested()).items()}
    assert found == {
        "lm_head": ("colwise", "model", ""),
        "model.language_model.embed_tokens": ("embedding_rowwise", "added", "model.language_model"),
        "model.language_model.layers.*.mlp.up_proj": ("colwise", "config", "model.language_model"),
    }


@given(st.lists(st.sampled_from(["0", "12", "a", "w1", "x_2", "3b"]), min_size=1, max_size=6))
def test_names_are_made_generic_as_the_library_makes_them(parts: list[str]) -> None:
    name = ".".join(parts)
    expected = re.sub(r"\.\d+(\.|$)", lambda m: ".*" + m.group(1), name)
    assert generic(name) == expected
    if not any(a.isdecimal() and b.isdecimal() for a, b in pairwise(parts)):
        head, *rest = parts
        assert generic(name) == ".".join((head, *("*" if p.isdecimal() else p for p in rest)))


@pytest.mark.parametrize(
    ("word", "name", "dims", "dim"),
    [
        ("colwise", "weight", 2, 0), ("colwise", "bias", 1, 0), ("colwise", "gate_up_proj", 3, 1),
        ("rowwise", "weight", 2, 1), ("rowwise", "bias", 1, None), ("rowwise", "sinks", 1, 0),
        ("embedding_rowwise", "weight", 2, 0), ("embedding_colwise", "weight", 2, 1),
        ("packed_colwise", "gate_up_proj", 3, 1), ("packed_colwise", "bias", 1, 0),
        ("packed_rowwise", "weight", 2, 1), ("packed_rowwise", "bias", 1, None),
        ("grouped_gemm", "down_proj", 3, 0), ("replicate", "weight", 2, None), ("no_such_word", "weight", 2, None),
    ],
)  # fmt: skip
def test_words_cut_the_dim_that_the_library_cuts(word: str, name: str, dims: int, dim: int | None) -> None:
    assert cut_dim(word, name, dims) == dim


def test_the_words_are_those_of_the_installed_library() -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    from transformers.distributed import expert_parallel, tensor_parallel
    from transformers.distributed.parallel_utils import ALL_PARALLEL_STYLES

    assert expert_parallel is not None  # their import registers words
    assert tensor_parallel is not None
    assert set(WORDS) == set(ALL_PARALLEL_STYLES.keys())
