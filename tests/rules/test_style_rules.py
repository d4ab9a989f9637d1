"""What the rules on PyTorch plans find, case by case of what goes wrong today, and what they must leave alone."""

import json
import random
from functools import cache

import pytest
from checking import FIXTURES

from hplint.front.read import read_document
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.registry import Registry
from hplint.lint.rule_packages import BUILT_IN
from hplint.lint.run import Engine
from hplint.lint.select import Selection
from hplint.model.tree import ModuleClass, ModuleTree, Node, Tensor
from hplint.resolve.topology import Topology

HEAD = """
import torch
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.parallel import *
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
"""
ATTENTION = {
    "self_attn.q_proj": "ColwiseParallel()", "self_attn.k_proj": "ColwiseParallel()",
    "self_attn.v_proj": "ColwiseParallel()", "self_attn.o_proj": "RowwiseParallel()",
}  # fmt: skip
MLP = {"mlp.gate_proj": "ColwiseParallel()", "mlp.up_proj": "ColwiseParallel()", "mlp.down_proj": "RowwiseParallel()"}
TOP = {
    "model.embed_tokens": "RowwiseParallel(input_layouts=Replicate())",
    "lm_head": "ColwiseParallel(output_layouts=Replicate())",
}


@cache
def engine() -> Engine:
    return Engine(Registry((BUILT_IN,)), Selection(), lambda tree, topology: {})


@cache
def tree(name: str) -> ModuleTree:
    return ModuleTree.from_json(json.loads((FIXTURES / "trees" / f"{name}.json").read_bytes()))


def found(text: str, model: ModuleTree | str | None = "llama", tp: int | None = 2) -> list[Diagnostic]:
    document = read_document("plan.py", (HEAD + text).encode())
    known = tree(model) if isinstance(model, str) else model
    told = engine().check_document(document)
    for plan in document.plans:
        told += engine().check(plan, known, Topology(tp=tp))[0]
    return told


def codes(text: str, model: ModuleTree | str | None = "llama", tp: int | None = 2) -> list[str]:
    return sorted({d.code for d in found(text, model, tp)})


def spelled(items: dict[str, str]) -> str:
    return "{" + ", ".join(f"{k!r}: {v}" for k, v in items.items()) + "}"


def program(top: dict[str, str] | None = None, block: dict[str, str] | None = None, before: str = "") -> str:
    """A file that applies a plan to the model and one to each block."""
    return (
        f"def apply(model, mesh):\n{before}"
        f"    parallelize_module(model, mesh, {spelled(TOP if top is None else top)})\n"
        "    for layer in model.model.layers:\n"
        f"        parallelize_module(layer, mesh, {spelled({**ATTENTION, **MLP} if block is None else block)})\n"
    )


def changed(**names: str) -> dict[str, str]:
    """The plan of a block with other styles: ``down_proj="…"``."""
    return {k: names.get(k.rpartition(".")[2], v) for k, v in {**ATTENTION, **MLP}.items()}


COL, ROW = "ColwiseParallel()", "RowwiseParallel()"
GATHERED = "ColwiseParallel(output_layouts=Replicate())"
POSITIONAL = "PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate())"


@pytest.mark.parametrize(
    ("case", "text", "code"),
    [
        ("misspelt key", program(block={**ATTENTION, "mlp.gate_porj": COL}), "HPL601"),
        ("misspelt on one layer only", "def f(model, mesh):\n parallelize_module(model.model.layers[0], mesh, "
         + spelled({**ATTENTION, "mlp.gate_proj": COL, "mlp.up_porj": COL, "mlp.down_proj": ROW}) + ")", "HPL601"),
        ("a prefix too much", program(top={"model.lm_head": COL}), "HPL601"),
        ("compiled before", program(before="    model = torch.compile(model)\n"), "HPL601"),
        ("checkpointed before", "def f(model, mesh):\n for i, b in enumerate(model.model.layers):\n"
         "  model.model.layers[i] = checkpoint_wrapper(b)\n"
         " parallelize_module(model, mesh, {'model.layers.*.mlp.up_proj': ColwiseParallel()})", "HPL601"),
        ("colwise into colwise", program(block=changed(down_proj=COL)), "HPL606"),
        ("rowwise into colwise", program(block=changed(gate_proj=ROW, up_proj=ROW, down_proj=COL)), "HPL606"),
        ("gathered colwise into rowwise", program(block=changed(gate_proj=GATHERED, up_proj=GATHERED)), "HPL606"),
        ("half a pair", program(block={**ATTENTION, "mlp.down_proj": ROW}), "HPL606"),
        ("rowwise embedding without layouts", program(top={"model.embed_tokens": ROW}), "HPL610"),
        ("keyword call against positional layouts", program(block={"self_attn": POSITIONAL, **ATTENTION}), "HPL609"),
        ("two keys on one module", program(block={"mlp.*_proj": COL, "mlp.down_proj": ROW}), "HPL603"),
        ("a container", program(block={"mlp": COL}), "HPL602"),
        ("2-D mesh", program(before="    mesh = init_device_mesh('cuda', (2, 2))\n"), "HPL611"),
        ("fully_shard before", program(before="    fully_shard(model)\n"), "HPL611"),
    ],
    ids=lambda v: v if isinstance(v, str) and len(v) < 45 else "",
)  # fmt: skip
def test_what_goes_wrong_is_found(case: str, text: str, code: str) -> None:
    assert code in codes(text), case


def test_fewer_key_heads_than_ranks_are_found_with_the_sizes_that_work() -> None:
    text = (
        "def f(model, mesh):\n for b in model.layers.values():\n"
        "  parallelize_module(b, mesh, {'attention.wk': ColwiseParallel()})"
    )
    told = [d for d in found(text, "styled") if d.code == "HPL605"]
    assert [(d.severity, d.help) for d in told] == [("error", "sizes of tp that work: 1")]
    assert told[0].message.startswith("1 key and value heads of 8 do not divide over tp=2")


def test_heads_that_do_not_divide_are_found() -> None:
    assert "HPL605" in codes(program(), "llama", tp=8)
    assert "HPL605" not in codes(program(), "llama", tp=4)


def test_heads_are_counted_by_what_the_attention_keeps_where_no_configuration_says() -> None:
    linear = next(c for c in tree("styled").classes if c.short == "Linear")
    attention = ModuleClass("m.Attention", ("torch.nn.modules.module.Module",), None)
    weight = {"weight": Tensor((64, 64), "float32")}
    nodes = (
        Node(0, weight, {}, {}, ()),
        Node(1, {}, {}, {"n_heads": 4}, (("wq", 0), ("wk", 0))),
        Node(-1, {}, {}, {}, (("attention", 1),)),
    )
    model = ModuleTree(classes=(linear, attention), nodes=nodes, root=2, aliases={}, ties=(), config={})
    text = "def f(model, mesh):\n parallelize_module(model, mesh, {'attention.wq': ColwiseParallel()})"
    assert "HPL605" in codes(text, model, tp=8)
    assert "HPL605" not in codes(text, model, tp=4)


def test_an_uneven_width_is_found_unless_the_layer_gathers_it() -> None:
    told = {d.source.cut(d.span) for d in found(program(), tp=3) if d.code == "HPL604"}
    assert "'self_attn.q_proj'" in told
    assert "'lm_head'" not in told  # 128 over 3 is uneven too, and gathered.
    assert "'mlp.up_proj'" not in told  # 96 over 3 is even.


def test_packed_projections_are_found_unless_the_layer_gathers_them() -> None:
    text = "def f(model, mesh):\n parallelize_module(model.layers['0'].attention, mesh, {'qkv_proj': %s})"
    assert "HPL607" in codes(text % COL, "styled")
    assert "HPL607" not in codes(text % GATHERED, "styled")


@pytest.mark.parametrize("keys", [{"tok_embeddings"}, {"output"}, {"tok_embeddings", "output"}])
def test_a_tie_is_lost_whichever_side_is_cut(keys: set[str]) -> None:
    styles = {"tok_embeddings": "RowwiseParallel(input_layouts=Replicate())", "output": GATHERED}
    plan = spelled({k: v for k, v in styles.items() if k in keys})
    assert "HPL608" in codes(f"def f(model, mesh):\n parallelize_module(model, mesh, {plan})", "styled")


def test_a_tie_that_is_made_again_on_both_sides_is_right() -> None:
    plan = spelled({"tok_embeddings": "RowwiseParallel(input_layouts=Replicate())", "output": GATHERED})
    text = f"def f(model, mesh):\n parallelize_module(model, mesh, {plan})\n model.tie_weights()"
    assert "HPL608" not in codes(text, "styled")


def test_a_style_on_an_adapter_is_found_and_its_base_layer_is_named() -> None:
    plain = tree("styled")
    base = next(i for i, c in enumerate(plain.classes) if c.short == "Linear")
    nodes = list(plain.nodes)
    leaf = next(i for i, n in enumerate(nodes) if n.cls == base)
    wrapper = ModuleClass("peft.tuners.lora.layer.Linear", ("torch.nn.modules.module.Module",), None)
    nodes += [nodes[leaf]._replace(cls=len(plain.classes), parameters={}, children=(("base_layer", leaf),))]
    nodes += [nodes[plain.root]._replace(children=(("proj", len(nodes) - 1),), parameters={})]
    model = ModuleTree(
        classes=(*plain.classes, wrapper), nodes=tuple(nodes), root=len(nodes) - 1, aliases={}, ties=(), config={}
    )  # fmt: skip
    told = found("def f(model, mesh):\n parallelize_module(model, mesh, {'proj': ColwiseParallel()})", model)
    assert [(d.code, "adapter" in d.help) for d in told if d.severity == "error"] == [("HPL602", True)]


@pytest.mark.parametrize(
    ("policy", "severity"),
    [
        ("ModuleWrapPolicy({MistralDecoderLayer})", "error"),
        ("ModuleWrapPolicy({MistralDecoderLayer, LlamaDecoderLayer})", None),
        ("ModuleWrapPolicy({LlamaDecodrLayer, LlamaMLP})", "warning"),
        ("ModuleWrapPolicy({LlamaDecoderLayer, torch.nn.Linear, torch.nn.Module})", None),
        ("Config(fsdp_transformer_layer_cls_to_wrap=['LlamaDecoderLayer', 'Other'])", "error"),
        ("ModuleWrapPolicy({LlamaDecodrLayer, *others})", "warning"),
        ("ModuleWrapPolicy({Other, *others})", None),
    ],
)
def test_classes_that_a_wrap_policy_names_in_vain_are_found(policy: str, severity: str | None) -> None:
    told = [d for d in found(f"policy = {policy}\n" + program()) if d.code == "HPL613"]
    assert [d.severity for d in told] == ([severity] if severity else [])


def adapted() -> ModuleTree:
    """A layer wrapped by an adapter: the base layer and two low-rank ones."""
    plain = tree("styled")
    base = next(i for i, c in enumerate(plain.classes) if c.short == "Linear")
    nodes = list(plain.nodes)
    leaf = next(i for i, n in enumerate(nodes) if n.cls == base)
    wrapper = ModuleClass("peft.tuners.lora.layer.Linear", ("torch.nn.modules.module.Module",), None)
    named = ModuleClass("torch.nn.modules.container.ModuleDict", ("torch.nn.modules.module.Module",), None)
    start, count = len(nodes), len(plain.classes)
    nodes += [nodes[leaf]._replace(cls=count + 1, parameters={}, children=(("default", leaf),))] * 2
    parts = (("base_layer", leaf), ("lora_A", start), ("lora_B", start + 1))
    nodes += [nodes[leaf]._replace(cls=count, parameters={}, children=parts)]
    nodes += [nodes[plain.root]._replace(children=(("proj", len(nodes) - 1),), parameters={})]
    return ModuleTree(
        classes=(*plain.classes, wrapper, named), nodes=tuple(nodes), root=len(nodes) - 1, aliases={}, ties=(),
        config={},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("items", "clash"),
    [
        ("'proj.base_layer': ColwiseParallel()", "`lora_B`"),
        ("'proj.base_layer': RowwiseParallel()", "`lora_A`"),
        ("'proj.base_layer': ColwiseParallel(), 'proj.lora_B.default': ColwiseParallel()", None),
        ("'proj.base_layer': RowwiseParallel(), 'proj.lora_A.*': RowwiseParallel()", None),
        ("'proj.base_layer': ColwiseParallel(output_layouts=Replicate())", None),
    ],
)
def test_low_rank_layers_must_be_cut_with_their_base_layer(items: str, clash: str | None) -> None:
    text = f"def f(model, mesh):\n parallelize_module(model, mesh, {{{items}}})"
    told = [d for d in found(text, adapted()) if d.code == "HPL606"]
    assert [d.severity for d in told] == (["error"] if clash else [])
    assert all(clash and clash in d.message for d in told)


@pytest.mark.parametrize(("style", "count"), [("ExpertTensorParallel()", 0), ("ColwiseParallel()", 1)])
def test_styles_of_trainers_may_take_meshes_of_several_axes(style: str, count: int) -> None:
    text = (
        "from trainer import ExpertTensorParallel\n"
        "mesh = init_device_mesh('cuda', (2, 2), mesh_dim_names=('ep', 'tp'))\n"
        f"def f(model):\n parallelize_module(model.lm_head, mesh['ep', 'tp'], {style})"
    )
    assert len([d for d in found(text) if d.code == "HPL611"]) == count


NEEDS_A_TRACE = {
    "a view with the global head count": "the forward's own code decides",
    "a norm over a column-cut tensor": "which tensor a norm sees is known only where the forward runs",
    "a sequence-parallel norm on an unsharded input": "what comes in is known only where the forward runs",
    "a column-cut head with plain cross entropy": "the loss stands outside the plan",
    "loss_parallel with local logits": "the loss stands outside the plan",
    "a per-head parameter beside cut heads": "whether it meets the heads is known only where the forward runs",
    "a plain norm on a sequence shard without gradient sync": "what comes in is known only where the forward runs",
}
"""Cases that names and shapes cannot decide, and why; `--apply --verify` finds them."""


def test_cases_that_need_a_trace_are_not_guessed_at() -> None:
    assert len(NEEDS_A_TRACE) == 7
    local_logits = program(top={**TOP, "lm_head": "ColwiseParallel()", "model.norm": "SequenceParallel()"})
    assert [d for d in found(local_logits) if d.severity == "error"] == []


def test_a_plan_that_torch_runs_right_has_no_findings() -> None:
    assert found(program()) == []


def test_sequence_parallel_plans_that_torch_runs_right_have_no_findings() -> None:
    top = {
        "model.embed_tokens": "RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1))",
        "model.norm": "SequenceParallel()",
        "lm_head": "ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)",
    }
    scattered = "RowwiseParallel(output_layouts=Shard(1))"
    attention = (
        "PrepareModuleInput(input_kwarg_layouts={'hidden_states': Shard(1)},"
        " desired_input_kwarg_layouts={'hidden_states': Replicate()})"
    )
    block = {
        "input_layernorm": "SequenceParallel()", "self_attn": attention,
        **changed(o_proj=scattered, down_proj=scattered),
        "post_attention_layernorm": "SequenceParallel()",
        "mlp": "PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))",
    }  # fmt: skip
    assert found(program(top, block)) == []


def test_a_misspelt_key_causes_no_second_finding() -> None:
    block = {k.replace("gate_proj", "gate_porj"): v for k, v in {**ATTENTION, **MLP}.items()}
    (told,) = found(program(block=block))
    assert (told.code, told.source.cut(told.span), told.help) == (
        "HPL601", "'mlp.gate_porj'", "did you mean `mlp.gate_proj`?"
    )  # fmt: skip


def test_a_star_that_is_meant_to_cross_dots_is_told() -> None:
    told = found("parallelize_module(model, mesh, {'*.q_proj': ColwiseParallel(), '*.o_proj': RowwiseParallel()})")
    assert [(d.code, d.source.cut(d.span)) for d in told if d.severity == "warning"] == [("HPL601", "'*.q_proj'")]


def test_keys_of_a_branch_for_other_models_are_left_alone() -> None:
    text = (
        "def f(model, mesh):\n for layer in model.model.layers:\n"
        f"  plan = {spelled({**ATTENTION, **MLP})}\n"
        "  if layer.is_moe:\n   plan['mlp.experts'] = ColwiseParallel()\n"
        "  parallelize_module(layer, mesh, plan)"
    )
    assert "HPL601" not in codes(text)


def test_without_a_model_only_what_the_text_shows_is_found() -> None:
    assert codes(program(top={"model.embed_tokens": ROW, "x": COL}), None) == ["HPL610"]


def test_rules_on_entries_never_look_at_styles() -> None:
    assert all(d.code.startswith("HPL6") for d in found(program(block={"mlp": COL, "x.y": ROW})))


def test_weights_without_a_rule_are_counted() -> None:
    told = [d for d in found(program(block=MLP)) if d.code == "HPL612"]
    assert [d.severity for d in told] == ["info"]
    assert "`model.layers.*.self_attn.o_proj.weight` (32.0 KiB)" in told[0].help


def test_a_layer_that_is_cut_otherwise_than_the_others_is_named() -> None:
    plain = tree("llama")
    node = dict(plain.nodes[plain.root].children)["model"]
    layers = dict(plain.nodes[node].children)["layers"]
    nodes = list(plain.nodes)
    children = nodes[layers].children
    nodes[layers] = nodes[layers]._replace(children=(*children, ("2", children[0][1])))
    model = ModuleTree(
        classes=plain.classes, nodes=tuple(nodes), root=plain.root, aliases={}, ties=(), config=plain.config
    )  # fmt: skip
    plan = {f"model.layers.[01].{k}": v for k, v in {**ATTENTION, **MLP}.items()}
    text = f"def f(model, mesh):\n parallelize_module(model, mesh, {spelled(plan)})"
    told = [d for d in found(text, model) if d.code == "HPL612" and "otherwise" in d.message]
    assert len(told) == 1
    assert told[0].message.startswith("`model.layers.2` is cut otherwise")


def test_checking_never_raises_whatever_the_text_holds() -> None:
    chance = random.Random(5)
    texts = [p.read_text(encoding="utf-8") for p in sorted((FIXTURES / "plans" / "torch").glob("*.py"))]
    for _ in range(60):
        lines = chance.choice(texts).splitlines()
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(lines))
            match chance.randrange(3):
                case 0:
                    del lines[at]
                case 1:
                    lines.insert(at, chance.choice(lines))
                case _:
                    words = lines[at].split(" ")
                    chance.shuffle(words)
                    lines[at] = " ".join(words)
        found("\n".join(lines), chance.choice(["llama", "styled"]), chance.choice([None, 1, 2, 3]))
