"""How vLLM reads a tp_plan: regular expressions, the beginning of a name, the first rule that fits."""

from checking import fixture_tree as tree

from hplint.front.read import read_document
from hplint.resolve.styles.resolved import resolve_styles
from hplint.resolve.topology import Topology
from hplint.resolve.tp_plan.vllm import Read, read_as_vllm

MOE = "qwen3_moe_30b_dense_first"


def read(rules: dict[str, str], model: str = "llama", kind: str = "config") -> Read:
    if kind == "config":
        name = {"llama": "LlamaConfig", MOE: "Qwen3MoeConfig"}[model]
        text = f"class {name}(PreTrainedConfig):\n    base_model_tp_plan = {rules!r}\n"
    else:
        text = f"config = DistributedConfig(tp_size=2, tp_plan={rules!r})\n"
    (plan,) = read_document("plan.py", text.encode()).plans
    known = tree(model)
    return read_as_vllm(plan, known, resolve_styles(plan, known, Topology(tp=2)))


def theirs(found: Read) -> dict[str, str]:
    return {r.fqn: r.their_word for r in found.layers}


def test_the_first_key_that_fits_the_beginning_of_a_name_counts() -> None:
    gate = "model.layers.0.mlp.gate_proj"
    first = read({"layers.*.mlp.gate": "replicate", "layers.*.mlp.gate_proj": "colwise"}, MOE)
    last = read({"layers.*.mlp.gate_proj": "colwise", "layers.*.mlp.gate": "replicate"}, MOE)
    assert (theirs(first)[gate], theirs(last)[gate]) == ("replicate", "colwise")
    (ours,) = (r.our_word for r in first.layers if r.fqn == gate)
    assert ours == "colwise"


def test_a_star_crosses_dots() -> None:
    found = theirs(read({"layers.*.q_proj": "colwise"}))
    assert found["model.layers.1.self_attn.q_proj"] == "colwise"


def test_the_head_of_the_model_is_not_looked_at() -> None:
    assert "lm_head" not in theirs(read({"layers.*.mlp.up_proj": "colwise"}))


def test_words_that_it_does_not_know_leave_a_layer_whole() -> None:
    found = theirs(read({"layers.*.mlp.up_proj": "colwise_rep", "layers.*.mlp.down_proj": "packed_rowwise"}))
    assert (found["model.layers.0.mlp.up_proj"], found["model.layers.0.mlp.down_proj"]) == ("replicate", "replicate")


def test_an_argument_keeps_the_places_of_shipped_rules() -> None:
    found = theirs(
        read({"model.layers.*.mlp.gate": "replicate", "model.layers.*.mlp.up_proj": "replicate"}, MOE, "arg")
    )
    assert found["model.layers.0.mlp.gate_proj"] == "colwise"
    assert found["model.layers.0.mlp.up_proj"] == "replicate"


def test_shipped_plans_mean_the_same_to_both() -> None:
    found = read({"norm": "replicate", "layers.*.self_attn.o_proj": "rowwise"})
    assert [r.fqn for r in found.layers if r.their_word != r.our_word] == []


def test_keys_that_are_no_regular_expressions_are_told() -> None:
    ((entry, _),) = read({"layers.*.mlp.(up_proj": "colwise", "norm": "replicate"}).broken
    assert entry.key is not None
    assert entry.key.value == "layers.*.mlp.(up_proj"
