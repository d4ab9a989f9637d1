"""Why a key of a tp_plan names nothing, and which key was meant."""

from importlib.util import find_spec

import pytest
from checking import fixture_tree as tree
from hypothesis import given
from hypothesis import strategies as st

from hplint.model.family_source import family_words
from hplint.model.tree import ModuleTree, Node, Tensor
from hplint.resolve.tp_plan.match import names_of
from hplint.resolve.tp_plan.miss import KeyIndex

UP = "model.layers.*.mlp.up_proj"
needs_transformers = pytest.mark.skipif(find_spec("transformers") is None, reason="reads its source")


@pytest.mark.parametrize(
    ("key", "why", "meant"),
    [
        ("model.layers.*.mlp.up_porj", "spelling", UP),
        ("modle.layers.*.mlp.up_porj", "spelling", UP),
        ("layers.*.mlp.up_proj", "prefix", UP),
        ("up_proj", "prefix", UP),
        ("language_model.model.layers.*.mlp.up_proj", "prefix", UP),
        ("model.language_model.layers.*.mlp.up_proj", "prefix", UP),
        ("model.layers.0.mlp.up_proj", "number", UP),
        ("layers.1.mlp.up_proj", "number", UP),
        ("model.layers.[0-9].mlp.up_proj", "pattern", UP),
        ("model.layers.[0-9]+.mlp.up_proj", "pattern", UP),
        (r"model\.layers\.\d+\.mlp\.up_proj", "pattern", UP),
        (r"^model\.layers\.\d+\.mlp\.up_proj$", "pattern", UP),
        ("re:model.layers.*.mlp.up_proj", "pattern", UP),
        ("model.layers.**.up_proj", "pattern", UP),
        ("model.layers.{i}.mlp.up_proj", "pattern", UP),
        (".*up_proj", "pattern", UP),
        ("*up_proj", "pattern", UP),
        ("_orig_mod.model.layers.*.mlp.up_proj", "wrapper", UP),
        ("model.layers.*._checkpoint_wrapped_module.mlp.up_proj", "wrapper", UP),
        ("module.model.layers.*.mlp.up_proj", "wrapper", UP),
        ("model.layers.*.up_proj", "inner", UP),
        ("model.layers.mlp.up_proj", "prefix", UP),
        ("model.layers.*.block.mlp.up_proj", "prefix", UP),
        ("model.norm.bias", "suffix", "model.norm"),
        (f"{UP}.", "spelling", UP),
        (f" {UP}", "spelling", UP),
        ("model.layers.*.mlp..up_proj", "spelling", UP),
        (f"{UP}.weights", "spelling", f"{UP}.weight"),
    ],
)
def test_the_key_that_was_meant_is_found(key: str, why: str, meant: str) -> None:
    missed = KeyIndex(tree("llama")).miss(key)
    assert (missed.why, missed.meant) == (why, (meant,))


def test_a_glob_over_children_names_them_all() -> None:
    missed = KeyIndex(tree("llama")).miss("model.layers.*.mlp.*")
    assert missed.meant[:3] == tuple(f"model.layers.*.mlp.{n}_proj" for n in ("gate", "up", "down"))


def test_alternatives_of_a_regular_expression_are_told_one_by_one() -> None:
    missed = KeyIndex(tree("llama")).miss("model.layers.*.self_attn.(q|k)_proj")
    assert missed.meant == ("model.layers.*.self_attn.q_proj", "model.layers.*.self_attn.k_proj")


def test_what_leads_nowhere_is_told_with_what_is_there() -> None:
    missed = KeyIndex(tree("llama")).miss("model.layers.*.mlp.experts")
    assert (missed.reached, missed.segment, missed.meant) == ("model.layers.*.mlp", "experts", ())
    assert missed.names == ("gate_proj", "up_proj", "down_proj", "act_fn")


def test_keys_that_the_plan_has_already_are_not_proposed() -> None:
    assert KeyIndex(tree("llama")).miss("layers.*.mlp.up_proj", [UP]).meant == ()


def test_keys_count_from_the_root_and_what_stands_outside_is_told() -> None:
    index = KeyIndex(tree("llama"), "model")
    assert index.miss(UP).meant == ("layers.*.mlp.up_proj",)
    assert index.miss("lm_head").why == "outside"


def test_a_further_name_of_a_tied_tensor_leads_to_the_first_one() -> None:
    leaf = Node(-1, {"weight": Tensor((8, 4), "float32")}, {}, {}, ())
    root = Node(-1, {}, {}, {}, (("emb", 0), ("head", 0)))
    model = ModuleTree(
        classes=(), nodes=(leaf, root), root=1, aliases={}, ties=(("emb.weight", "head.weight"),), config={}
    )  # fmt: skip
    missed = KeyIndex(model).miss("head.weight")
    assert (missed.why, missed.meant) == ("tied", ("emb.weight",))


def test_the_base_layer_of_an_adapter_is_found() -> None:
    leaf = Node(-1, {"weight": Tensor((8, 4), "float32")}, {}, {}, ())
    wrapper = Node(-1, {}, {}, {}, (("base_layer", 0),))
    root = Node(-1, {}, {}, {}, (("proj", 1),))
    model = ModuleTree(classes=(), nodes=(leaf, wrapper, root), root=2, aliases={}, ties=(), config={})
    missed = KeyIndex(model).miss("proj.weight")
    assert (missed.why, missed.meant) == ("adapter", ("proj.base_layer.weight",))


@given(st.lists(st.sampled_from(["model", "layers", "0", "*", "mlp", "q_proj", "", "[", "(", ".*", "**", "\\d+", "é"])))
def test_whatever_a_key_holds_it_is_looked_into_and_what_is_proposed_is_there(parts: list[str]) -> None:
    model = tree("llama")
    names, key = names_of(model), ".".join(parts)
    if not names.hits(key):
        assert all(names.hits(k) for k in KeyIndex(model).miss(key).meant)


@needs_transformers
def test_the_source_of_a_family_knows_what_other_configs_have() -> None:
    words = family_words(tree("qwen3_moe"))
    assert words is not None
    assert {"experts", "gate_proj", "weight", "*"} <= words
    assert "gate_porj" not in words


def test_source_that_is_not_there_says_nothing() -> None:
    assert family_words(tree("toy")) is None
