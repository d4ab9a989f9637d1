"""What the rules on keys, words, sizes and coverage of tp_plans find, and what they must leave alone."""

from importlib.util import find_spec

import pytest
from checking import FIXTURES
from checking import fixture_tree as tree

from hplint.front.read import read_document
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.registry import Registry
from hplint.lint.rule_packages import BUILT_IN
from hplint.lint.run import Engine
from hplint.lint.select import Selection
from hplint.lint.shipped_document import shipped_document
from hplint.model.tree import ModuleClass, ModuleTree, Tensor
from hplint.plan.plan import Document
from hplint.resolve.topology import Topology
from hplint.resolve.tp_plan.shipped import shipped_plan

ENGINE = Engine(Registry((BUILT_IN,)), Selection(), lambda tree, topology: {})
UP = "model.layers.*.mlp.up_proj"
needs_transformers = pytest.mark.skipif(find_spec("transformers") is None, reason="reads its source")
MINE = ("HPL701", "HPL702", "HPL703", "HPL704", "HPL711", "HPL712", "HPL713")
SHIPPING = sorted(p.stem for p in (FIXTURES / "trees").glob("*.json") if shipped_plan(tree(p.stem)))


def argument(rules: dict[str, str], section: str = "tp") -> str:
    return f"config = DistributedConfig({section}_plan={rules!r})\n"


def config(rules: dict[str, str], name: str = "LlamaConfig", section: str = "tp") -> str:
    return f"class {name}(PreTrainedConfig):\n    base_model_{section}_plan = {rules!r}\n"


def checked(document: Document, model: ModuleTree | None, topology: Topology, reader: str = "") -> list[Diagnostic]:
    ENGINE.settings = {"reader": reader or None}
    return [d for plan in document.plans for d in ENGINE.check(plan, model, topology)[0]]


def found(text: str, code: str, model: str | None = "llama", reader: str = "", **sizes: int) -> list[Diagnostic]:
    document = read_document("plan.py", text.encode())
    assert document.plans
    told = checked(document, tree(model) if model else None, Topology(**(sizes or {"tp": 2})), reader)
    return [d for d in told if d.code == code]


def cut(diagnostic: Diagnostic) -> str:
    return diagnostic.source.cut(diagnostic.span)


@pytest.mark.parametrize(
    ("key", "said", "help_"),
    [
        ("model.layers.*.mlp.up_porj", "there is no `up_porj` below `model.layers.*.mlp`", f"did you mean `{UP}`?"),
        ("layers.*.mlp.up_proj", "there is no `layers` in the model", f"did you mean `{UP}`?"),
        ("model.layers.0.mlp.up_proj", "a key with a number never matches", f"did you mean `{UP}`?"),
        ("model.layers.[0-9].mlp.up_proj", "keys are no patterns", f"did you mean `{UP}`?"),
        ("_orig_mod.model.layers.*.mlp.up_proj", "before a model is wrapped", f"did you mean `{UP}`?"),
        ("model.layers.*.moe.up", "there is no `moe` below `model.layers.*`", "what stands there: `self_attn`, "),
    ],
)
def test_a_key_of_an_argument_that_names_nothing_is_an_error_at_the_key(key: str, said: str, help_: str) -> None:
    (told,) = found(argument({key: "colwise"}), "HPL701")
    assert (told.severity, cut(told)) == ("error", repr(key))
    assert said in told.message
    assert told.message.endswith("the library stops with ValueError before any weight is loaded")
    assert told.help.startswith(help_)


def test_a_key_of_a_config_counts_from_the_base_model_and_is_a_warning() -> None:
    rules = {UP: "colwise", "layers.*.mlp.down_proj": "rowwise", "lm_head": "colwise"}
    told = found(config(rules), "HPL701")
    assert [(cut(d), d.severity) for d in told] == [(repr(UP), "warning"), ("'lm_head'", "warning")]
    assert told[0].help == "did you mean `layers.*.mlp.up_proj`? Keys of this plan count from `model`."
    assert "`_tp_plan` of the model's class" in told[1].help


def test_a_part_of_a_pp_plan_that_the_model_lacks_is_a_warning() -> None:
    stages = {"embed_tokns": (["input_ids"], ["inputs_embeds"]), "norm": (["hidden_states"], ["hidden_states"])}
    told = found(f"class LlamaConfig:\n    base_model_pp_plan = {stages!r}\n", "HPL701")
    assert [(cut(d), d.severity, d.help) for d in told] == [
        ("'embed_tokns'", "warning", "did you mean `embed_tokens`?")
    ]  # fmt: skip


def test_a_slip_causes_no_finding_of_another_rule() -> None:
    rules = {"model.layers.*.mlp.up_porj": "colwise", "model.layers.*.mlp.gate_proj": "colwise"}
    document = read_document("plan.py", argument(rules).encode())
    assert [d.code for d in checked(document, tree("llama"), Topology(tp=2))] == ["HPL701"]


def test_shipped_keys_that_this_config_does_not_use_are_let_pass_in_an_argument() -> None:
    unused = next(k for k in shipped_plan(tree("qwen3_moe")) if k.endswith("mlp.gate_proj"))
    assert found(argument({unused: "colwise"}), "HPL701", "qwen3_moe") == []


@needs_transformers
def test_rules_for_other_configs_of_the_family_are_let_pass_in_a_config() -> None:
    rules = {"layers.*.mlp.gate_proj": "colwise", "layers.*.self_attn.q_proj": "colwise"}
    assert found(config(rules, "Qwen3MoeConfig"), "HPL701", "qwen3_moe") == []


def test_a_plan_of_another_model_is_told_once_and_its_keys_are_left_alone() -> None:
    rules = {"decoder.block.*.wi": "colwise", "decoder.block.*.wo": "rowwise"}
    (told,) = found(config(rules, "OtherConfig"), "HPL701")
    assert (cut(told), told.severity) == ("base_model_tp_plan", "info")
    assert told.message.startswith("no key of this plan of `OtherConfig` names anything in `LlamaForCausalLM`")


def test_two_keys_that_would_become_one_are_not_both_renamed() -> None:
    told = found(argument({f"model.layers.{i}.mlp.up_proj": "colwise" for i in (0, 1)}), "HPL701")
    assert [len(d.proposals) for d in told] == [1, 0]


@needs_transformers
def test_dead_rules_of_a_shipped_plan_are_told_and_unused_ones_are_not() -> None:
    model = ModuleTree.from_json(tree("llama").to_json())
    base = next(o for o in model.owners if o.is_base)
    plan = {
        "tp": {**base.base["tp"], "layers.*.mlp.no_such_part": "colwise", "layers.*.self_attn.gate_proj": "colwise"}
    }
    model.owners = tuple(o._replace(base=plan) if o is base else o for o in model.owners)
    told = [d for d in checked(shipped_document(model), model, Topology(tp=2)) if d.code == "HPL701"]
    assert [(cut(d), d.severity) for d in told] == [("model.layers.*.mlp.no_such_part", "warning")]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("Colwise", "colwise"), ("colwize", "colwise"), ("col-wise", "colwise"), ("column", "colwise"),
        ("ColwiseParallel", "colwise"), ("ColwiseParallel()", "colwise"), ("RowwiseParallel", "rowwise"),
        ("local_rowwise", "rowwise"), ("replicated", "replicate"), ("SequenceParallel", "sequence_parallel"),
        ("gather", "all_reduce"), ("COLWISE_GATHER_OUTPUT", "colwise_gather_output"),
    ],
)  # fmt: skip
def test_an_unknown_word_is_an_error_at_the_word_with_the_one_that_was_meant(word: str, meant: str) -> None:
    (told,) = found(argument({UP: word}), "HPL713", None)
    assert (told.severity, cut(told)) == ("error", repr(word))
    assert "before any weight is loaded" in told.message
    assert [(p.title, p.safe) for p in told.proposals] == [(f"replace `{word}` by `{meant}`", True)]


@pytest.mark.parametrize(
    ("text", "severity", "said"),
    [
        (argument({UP: "colwise_rep"}), "info", "the old name of `colwise_gather_output`"),
        (argument({UP: "auto"}), "error", "`auto` is no word for a module"),
        (argument({UP: "ep_router"}), "error", "of former versions"),
        (argument({UP: "grouped_gemm"}), "error", "belongs in the ep_plan"),
        (argument({UP: "ep_dispatch_experts"}), "error", "TypeError"),
        (argument({UP: "moe_tp_experts"}, "ep"), "error", "belongs in the tp_plan"),
        (argument({UP: "quite_another"}), "error", "is no word of tp_plans"),
    ],
)
def test_old_words_and_words_of_another_plan_are_told(text: str, severity: str, said: str) -> None:
    (told,) = found(text, "HPL713", None)
    assert told.severity == severity
    assert said in told.message


def test_words_that_the_file_registers_are_left_alone() -> None:
    text = "ParallelInterface.register('my_cut', MyCut())\n" + argument({UP: "my_cut", "lm_head": "colwise"})
    assert found(text, "HPL713", None) == []


@pytest.mark.parametrize(
    ("rules", "model", "severity", "said"),
    [
        ({"model.layers.*.mlp": "colwise"}, "llama", "error", "`LlamaMLP`, which has no `out_features`"),
        ({"model.norm": "rowwise"}, "llama", "error", "`LlamaRMSNorm`, which has no `in_features`"),
        ({"model.layers": "colwise"}, "llama", "error", "`ModuleList`, which has no `out_features`"),
        ({"model.layers": "moe_tp_experts"}, "llama", "warning", "whose forward never runs"),
        ({"model.layers.*.mlp": "packed_colwise"}, "llama", "warning", "no weight of its own: nothing is cut"),
        ({"model.layers.*.mlp": "embedding_rowwise"}, "llama", "warning", "which torch refuses"),
        ({"lm_head": "embedding_rowwise"}, "llama", "warning", "it comes to `colwise_gather_output`"),
        ({"lm_head": "sequence_parallel"}, "llama", "warning", "it is meant for norms"),
        ({"model.layers.*.mlp.down_proj": "packed_rowwise"}, "llama", "error", "leaves its forward alone"),
        ({UP: "mla_kv_a_proj"}, "llama", "error", "which the config has not"),
        ({"model.norm.weight": "colwise"}, "llama", "warning", "no word changes that"),
        ({"model.layers.*.self_attn.q_proj": "embedding_colwise"}, "qwen2", "error", "IndexError"),
    ],
)  # fmt: skip
def test_a_word_that_cannot_cut_what_it_stands_at_is_told(
    rules: dict[str, str], model: str, severity: str, said: str
) -> None:
    (told,) = found(argument(rules), "HPL702", model)
    assert (told.severity, cut(told)) == (severity, repr(*rules.values()))
    assert said in told.message


def with_class(model: ModuleTree, of: str, name: str, **changed: object) -> ModuleTree:
    """The model with the module of a name, and those that are like it, of another class."""
    at = model.nodes.index(model.modules[of].node)
    cls = ModuleClass(name, ("torch.nn.modules.module.Module",), model.modules[of].forward)
    nodes = [n._replace(cls=len(model.classes), **changed) if i == at else n for i, n in enumerate(model.nodes)]
    return ModuleTree(
        classes=(*model.classes, cls), nodes=tuple(nodes), root=model.root, aliases=model.aliases, ties=model.ties,
        config=model.config, spec=model.spec, owners=model.owners,
    )  # fmt: skip


def told_of(rules: dict[str, str], model: ModuleTree) -> list[tuple[str, str, str]]:
    document = read_document("plan.py", argument(rules).encode())
    told = checked(document, model, Topology(tp=2))
    return [(d.severity, d.message, d.help) for d in told if d.code == "HPL702"]


def test_a_weight_that_is_kept_the_other_way_round_is_a_warning_with_both_dims() -> None:
    llama = tree("llama")
    turned = {"weight": Tensor((64, 96), "float32")}
    model = with_class(llama, "model.layers.0.mlp.up_proj", "quant.Turned", parameters=turned)
    ((severity, message, advice),) = told_of({UP: "colwise"}, model)
    assert severity == "warning"
    assert message.startswith(
        "`colwise` cuts dim 0 of a weight of 64 x 96, but the 96 out features of this `Turned` lie along dim 1: "
    )
    assert advice == "leave the layer whole, or load the model without this kind of quantisation"


def test_a_layer_inside_an_adapter_is_told_as_such() -> None:
    llama = tree("llama")
    up = llama.nodes.index(llama.modules["model.layers.0.mlp.up_proj"].node)
    held = (("base_layer", up),)
    of = "model.layers.0.mlp.down_proj"
    model = with_class(llama, of, "adapter.Wrapped", parameters={}, ints={}, children=held)
    ((severity, message, advice),) = told_of({"model.layers.*.mlp.down_proj": "rowwise"}, model)
    assert severity == "error"
    assert message.startswith("`rowwise` on a `Wrapped`, which has no `in_features`: ")
    assert advice.startswith("an adapter wraps the layer: ")


def test_words_are_left_alone_where_they_fit() -> None:
    rules = {
        "model.layers.*.self_attn.kv_a_proj_with_mqa": "mla_kv_a_proj",
        "model.layers.*.mlp.experts": "moe_tp_experts",
        "model.layers.*.mlp.experts.down_proj": "rowwise",
        "model.norm": "replicate",
        "model.layers": "replicate",
    }
    assert found(argument(rules), "HPL702", "deepseek_v3") == []


def test_an_ep_plan_cuts_experts_alone() -> None:
    rules = {"model.layers.*.mlp.gate": "grouped_gemm", "model.layers.*.self_attn.q_proj.weight": "grouped_gemm"}
    told = found(argument(rules, "ep"), "HPL702", "qwen3_moe", tp=2, ep=2)
    assert [d.severity for d in told] == ["error", "error"]


def test_a_rule_of_a_parameter_against_that_of_its_module_is_told_with_both_places() -> None:
    (told,) = found(argument({UP: "colwise", f"{UP}.weight": "rowwise"}), "HPL703")
    assert (told.severity, cut(told)) == ("error", "'rowwise'")
    assert [told.source.cut(r.span) for r in told.related] == [repr(UP)]


def test_a_rule_of_a_parameter_that_says_the_same_is_left_alone() -> None:
    assert found(argument({"lm_head": "colwise_gather_output", "lm_head.weight": "colwise"}), "HPL703") == []


def test_rules_that_the_ep_plan_takes_over_are_told_where_experts_are_spread() -> None:
    text = argument({"model.layers.*.mlp.experts": "replicate"})
    (told,) = found(text, "HPL703", "qwen3_moe", tp=2, ep=2)
    assert told.severity == "warning"
    assert found(text, "HPL703", "qwen3_moe", tp=2, ep=1) == []


def test_what_vllm_reads_otherwise_is_told_when_asked_for() -> None:
    rules = {
        "layers.*.mlp.gate": "replicate",
        "layers.*.mlp.gate_proj": "colwise",
        "layers.*.mlp.up_proj": "colwise_rep",
    }
    text = config(rules, "Qwen3MoeConfig")
    told = found(text, "HPL703", "qwen3_moe_30b_dense_first", "vllm")
    assert [(cut(d), d.severity) for d in told] == [("'layers.*.mlp.gate'", "warning"), ("'colwise_rep'", "warning")]
    assert told[0].help == "write the longer key first: `layers.*.mlp.gate_proj` before `layers.*.mlp.gate`"
    assert found(text, "HPL703", "qwen3_moe_30b_dense_first") == []


def test_experts_that_do_not_divide_are_an_error_with_the_sizes_that_work() -> None:
    rules = {"layers.*.mlp.experts": "ep_dispatch_experts", "layers.*.mlp.experts.down_proj": "grouped_gemm"}
    text = config(rules, "Qwen3MoeConfig", "ep")
    (told,) = found(text, "HPL704", "qwen3_moe", tp=3, ep=3)
    assert (told.severity, cut(told)) == ("error", "'grouped_gemm'")
    assert told.help == "sizes of ep that divide 8: 1, 2, 4, 8"
    assert found(text, "HPL704", "qwen3_moe", tp=2, ep=2) == []


@pytest.mark.parametrize("tp", [3, 5, 7, 48])
def test_uneven_cuts_that_the_library_gets_right_are_left_alone(tp: int) -> None:
    rules = {
        UP: "colwise", "model.layers.*.mlp.down_proj": "rowwise", "lm_head": "colwise_gather_output",
        "model.embed_tokens": "embedding_rowwise",
    }  # fmt: skip
    expected = [] if tp < 48 else ["'embedding_rowwise'"]  # 128 rows in parts of 3 last for 43 ranks.
    assert [cut(d) for d in found(argument(rules), "HPL704", tp=tp)] == expected


@pytest.mark.parametrize(
    ("text", "sizes", "severity", "said"),
    [
        ("config = DistributedConfig(tp_size=2, tp_plan={})", {"tp": 2}, "error", "an empty tp_plan"),
        (argument({UP: "colwise"}), {"tp": 1}, "info", "tp is 1"),
        (argument({"model.layers.*.mlp.experts": "ep_dispatch_experts"}, "ep"), {"tp": 2, "ep": 3}, "error",
         "no multiple of tp=2"),
        (argument({"model.layers.*.mlp.experts": "ep_dispatch_experts"}, "ep"), {"tp": 2, "ep": 2, "pp": 2}, "error",
         "with pp=2"),
        (config({"layers.*.mlp.experts.down_proj": "grouped_gemm"}, "Qwen3MoeConfig", "ep"), {"tp": 2, "ep": 2},
         "warning", "no rule of the ep_plan says"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_go_with_a_plan_are_told(text: str, sizes: dict[str, int], severity: str, said: str) -> None:
    (told,) = found(text, "HPL711", "qwen3_moe", **sizes)
    assert told.severity == severity
    assert said in told.message


def test_ep_must_divide_what_the_mesh_has() -> None:
    text = argument({"model.layers.*.mlp.experts": "ep_dispatch_experts"}, "ep")
    document = read_document("plan.py", text.encode())
    for dp, expected in ((1, ["error"]), (2, [])):
        topology = Topology(tp=2, ep=4, dp=dp, mesh={"dp": dp, "tp": 2})
        told = [d for d in checked(document, tree("qwen3_moe"), topology) if d.code == "HPL711"]
        assert [d.severity for d in told] == expected


def test_weights_without_a_rule_are_counted_with_what_the_model_ships_beside_the_plan() -> None:
    (told,) = found(config({"layers.*.mlp.up_proj": "colwise"}), "HPL712")
    assert told.severity == "info"
    assert told.message.startswith("the plan, with what the model ships beside it, cuts ")
    assert "`model.layers.*.mlp.down_proj.weight` (48.0 KiB)" in told.help
    assert found(argument({UP: "colwise"}), "HPL712") == []  # The shipped plan cuts the rest.


def test_a_plan_that_cuts_nothing_is_told_so() -> None:
    words = dict.fromkeys(shipped_plan(tree("llama")), "replicate")
    (told,) = found(argument(words), "HPL712")
    assert "cuts no weight at all" in told.message


@pytest.mark.parametrize("name", SHIPPING)
def test_shipped_plans_have_no_errors_as_they_are_and_as_a_file_of_the_user(name: str) -> None:
    model = tree(name)
    sections = ["tp", *(["ep"] if shipped_plan(model, "ep") else [])]
    shipped = shipped_document(model, sections)
    plans = {p.name: {e.key.value: e.style.name for e in p.styles if e.key and e.style} for p in shipped.plans}
    written = ", ".join(f"{name}={rules!r}" for name, rules in plans.items())
    user = read_document("plan.py", f"config = DistributedConfig({written})\n".encode())
    for document in (shipped, user):
        told = checked(document, model, Topology(tp=2, ep=2 if len(sections) > 1 else 1), "vllm")
        assert [(d.code, d.message) for d in told if d.code in MINE and d.severity != "info"] == []
