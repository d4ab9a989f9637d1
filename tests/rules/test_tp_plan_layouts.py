"""What the rules on pairs, heads, packed weights, ties, arguments, embeddings and gradients find in tp_plans that are
wrong in one place, and what they leave alone.

What each plan does was measured with transformers 5.24: two gloo ranks on CPU against one process, outputs and all
gradients. ``outcome`` says it: right, crash (at the first forward), refused (at load), inference (crash there alone),
logits or gradients (wrong without an error).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from checking import FIXTURES, check_plans, check_text, fixture_tree, mesh_topology

from hplint.fix.loop import fix_text
from hplint.lint.diagnostic import Diagnostic
from hplint.model.tree import ModuleClass, ModuleTree, Node, Tensor
from hplint.resolve.tp_plan.shipped import shipped_plan

MINE = tuple(f"HPL7{n:02}" for n in (5, 6, 7, 8, 9, 10, 14, 15, 16, 17, 18))
A, M = "layers.*.self_attn.", "layers.*.mlp."
SUMMED = "replicated_with_grad_allreduce"
CUT_QKV = {A + "q_proj": "colwise", A + "k_proj": "colwise", A + "v_proj": "colwise"}
GATHERED_QKV = dict.fromkeys(CUT_QKV, "colwise_gather_output")
GATHERED_MLP = {M + "gate_proj": "colwise_gather_output", M + "up_proj": "colwise_gather_output"}


def config_plan(tree: ModuleTree, change: dict[str, str | None]) -> dict[str, str]:
    """The plan that the config of a model ships, changed; None takes a rule away."""
    shipped = {rule.key: str(rule.word) for rule in shipped_plan(tree).values() if rule.kind == "config"}
    plan = {key.removeprefix("model."): word for key, word in shipped.items()} | change
    return {key: word for key, word in plan.items() if word is not None}


def as_config(tree: ModuleTree, plan: dict[str, str]) -> str:
    owner = next(o for o in tree.owners if o.is_base)
    lines = "".join(f'        "{key}": "{word}",\n' for key, word in plan.items())
    return f"class {owner.configs[0]}(PreTrainedConfig):\n    base_model_tp_plan = {{\n{lines}    }}\n"


def as_argument(plan: dict[str, str]) -> str:
    lines = "".join(f'    "{key}": "{word}",\n' for key, word in plan.items())
    return f"model = AutoModelForCausalLM.from_pretrained(name, tp_plan={{\n{lines}}})\n"


def found(text: str, tree: ModuleTree, tp: int = 2) -> list[tuple[str, str, str]]:
    """Code, key of the line, severity."""
    diagnostics = [d for d in check_text(text, mesh_topology({"tp": tp}), tree, ".py")[0] if d.code in MINE]
    return [(d.code, key_at(text, d), d.severity) for d in diagnostics]


def key_at(text: str, diagnostic: Diagnostic) -> str:
    before, after = text[: diagnostic.span.start], text[diagnostic.span.start :]
    return (before.rpartition("\n")[2] + after.partition("\n")[0]).split('"')[1]


class Row(NamedTuple):
    """One wrong place in the shipped plan of a model of the fixtures, and where what is found."""

    model: str
    change: dict[str, str | None]
    outcome: str
    at: tuple[tuple[str, str], ...]


def row(model: str, change: dict[str, str | None], outcome: str, *at: tuple[str, str]) -> Row:
    return Row(model, change, outcome, at)


CHANGED_CONFIGS = [
    # Halves of pairs.
    row("llama", {M + "down_proj": None}, "crash", ("HPL706", M + "gate_proj")),
    row("llama", {A + "o_proj": None}, "crash", ("HPL706", A + "q_proj")),
    row("llama", {M + "up_proj": None}, "crash", ("HPL706", M + "down_proj")),
    row("llama", {M + "up_proj": None, M + "gate_proj": None}, "crash", ("HPL706", M + "down_proj")),
    row("llama", dict.fromkeys(CUT_QKV), "crash", ("HPL706", A + "o_proj")),
    row("llama", {A + "k_proj": None}, "crash", ("HPL706", A + "o_proj")),
    row("llama", {A + "k_proj": None, A + "v_proj": None}, "crash", ("HPL706", A + "o_proj")),
    row("llama", {A + "k_proj": "replicate"}, "crash", ("HPL706", A + "k_proj")),
    row("llama", {A + "k_proj": "colwise_gather_output"}, "crash", ("HPL706", A + "k_proj")),
    row("llama", {A + "q_proj": None}, "crash", ("HPL706", A + "o_proj")),
    row(
        "llama",
        {M + "gate_proj": "rowwise", M + "up_proj": "rowwise", M + "down_proj": "colwise"},
        "crash",
        ("HPL706", M + "gate_proj"),
    ),
    row("llama", {M + "down_proj": "colwise"}, "crash", ("HPL706", M + "down_proj")),
    row("llama", {M + "up_proj": "rowwise"}, "crash", ("HPL706", M + "up_proj")),
    row("llama", GATHERED_MLP, "crash", ("HPL706", M + "down_proj")),
    row("llama", {M + "up_proj": "colwise_gather_output"}, "crash", ("HPL706", M + "up_proj")),
    row("llama", GATHERED_QKV, "crash", ("HPL706", A + "o_proj")),
    row("llama", {M + "down_proj": "rowwise_split_input"}, "crash", ("HPL706", M + "down_proj")),
    row("llama", {M + "down_proj": "colwise_gather_output"}, "crash", ("HPL706", M + "down_proj")),
    row("llama", {M + "up_proj": "embedding_rowwise"}, "crash", ("HPL706", M + "up_proj")),
    row("llama", {M + "up_proj": "local_params"}, "crash", ("HPL706", M + "up_proj")),
    row("llama", {A + "k_proj": "sequence_parallel"}, "crash", ("HPL706", A + "k_proj")),
    row("mixtral", {M + "experts": None}, "crash", ("HPL717", M + "experts.gate_up_proj")),
    row("mixtral", {M + "experts": "all_reduce"}, "crash", ("HPL717", M + "experts.gate_up_proj")),
    row("mixtral", {M + "experts.gate_up_proj": "rowwise"}, "crash", ("HPL717", M + "experts.gate_up_proj")),
    row("mixtral", {M + "experts.gate_up_proj": None}, "crash", ("HPL717", M + "experts.down_proj")),
    row("mixtral", {M + "experts.down_proj": None}, "crash", ("HPL717", M + "experts.gate_up_proj")),
    row("mixtral", {M + "experts.down_proj": "colwise"}, "crash", ("HPL717", M + "experts.down_proj")),
    row("qwen3_moe", {M + "experts": None}, "crash", ("HPL717", M + "experts.gate_up_proj")),
    row(
        "deepseek_v3",
        {M + "shared_experts.down_proj": None},
        "crash",
        ("HPL706", M + "shared_experts.gate_proj"),
    ),
    row("deepseek_v3", {A + "q_a_proj": "colwise"}, "crash", ("HPL706", A + "q_a_proj")),
    row("deepseek_v3", {A + "kv_a_proj_with_mqa": "colwise"}, "crash", ("HPL706", A + "kv_a_proj_with_mqa")),
    # Sums of what is no part of a sum.
    row("llama", {"layers.*.mlp": "all_reduce"}, "logits", ("HPL715", "layers.*.mlp")),
    row("llama", {"layers.*.mlp": "moe_tp_experts"}, "logits", ("HPL715", "layers.*.mlp")),
    row("llama", {"layers.*.mlp": "moe_identity_expert"}, "logits", ("HPL715", "layers.*.mlp")),
    row("llama", {M + "act_fn": "all_reduce"}, "logits", ("HPL715", M + "act_fn")),
    row("llama", {"norm": "all_reduce"}, "logits", ("HPL715", "norm")),
    row("mixtral", {"layers.*.mlp": "all_reduce"}, "logits", ("HPL715", "layers.*.mlp")),
    row("mixtral", {"layers.*.mlp": "moe_identity_expert"}, "logits", ("HPL715", "layers.*.mlp")),
    row("qwen3", {A + "q_norm": "all_reduce"}, "logits", ("HPL715", A + "q_norm")),
    row(
        "mixtral",
        {M + "experts.gate_up_proj": None, M + "experts.down_proj": None},
        "logits",
        ("HPL715", M + "experts"),
    ),
    row("mixtral", {M + "experts": "local_params"}, "logits", ("HPL717", M + "experts.gate_up_proj")),
    row("deepseek_v3", {M + "shared_experts": "all_reduce"}, "logits", ("HPL715", M + "shared_experts")),
    row("llama", {"layers.*": "all_reduce"}, "logits", ("HPL715", "layers.*")),
    # Packed weights, and single ones under packed words.
    row("llama", {M + "up_proj": "packed_colwise"}, "logits", ("HPL707", M + "up_proj")),
    row("llama", {A + "q_proj": "packed_colwise"}, "logits", ("HPL707", A + "q_proj")),
    row("llama", {"norm": "packed_colwise"}, "crash", ("HPL707", "norm")),
    row("llama", {M + "act_fn": "packed_colwise"}, "gradients", ("HPL707", M + "act_fn")),
    row("mixtral", {M + "gate": "packed_colwise"}, "logits", ("HPL707", M + "gate")),
    row("mixtral", {M + "experts.gate_up_proj": "colwise"}, "gradients", ("HPL707", M + "experts.gate_up_proj")),
    row("mixtral", {M + "experts.down_proj": "packed_rowwise"}, "gradients", ("HPL707", M + "experts.down_proj")),
    # Words whose hook finds no argument.
    row("llama", {"layers.*.self_attn": "moe_tp_experts"}, "crash", ("HPL709", "layers.*.self_attn")),
    row("llama", {"layers.*.self_attn": "moe_identity_expert"}, "crash", ("HPL709", "layers.*.self_attn")),
    row("llama", {"layers.*.self_attn": "sequence_parallel"}, "crash", ("HPL709", "layers.*.self_attn")),
    row("llama", {"layers.*.self_attn": "packed_colwise"}, "crash", ("HPL709", "layers.*.self_attn")),
    # Embeddings.
    row("llama", {"embed_tokens": "rowwise"}, "refused", ("HPL710", "embed_tokens")),
    row("llama", {"embed_tokens": "colwise"}, "refused", ("HPL710", "embed_tokens")),
    row("llama", {"embed_tokens": "colwise_gather_output"}, "refused", ("HPL710", "embed_tokens")),
    row("llama", {"embed_tokens": "packed_colwise"}, "logits", ("HPL710", "embed_tokens")),
    row("llama", {"embed_tokens": "all_reduce"}, "logits", ("HPL710", "embed_tokens")),
    row("llama", {"embed_tokens": "moe_identity_expert"}, "crash", ("HPL710", "embed_tokens")),
    # Gradients in parts, and sums of whole ones.
    row("qwen3", {A + "q_norm": None}, "gradients", ("HPL714", A + "q_proj")),
    row("qwen3", {A + "k_norm": None}, "gradients", ("HPL714", A + "k_proj")),
    row("qwen3", {A + "q_norm": "replicate"}, "gradients", ("HPL714", A + "q_norm")),
    row("qwen3", {A + "q_norm": "local_params"}, "gradients", ("HPL714", A + "q_norm")),
    row("qwen3_moe", {A + "k_norm": None}, "gradients", ("HPL714", A + "k_proj")),
    row(
        "qwen3",
        {**GATHERED_QKV, A + "o_proj": "rowwise_split_input"},
        "gradients",
        ("HPL718", A + "q_norm"),
        ("HPL718", A + "k_norm"),
    ),
    row(
        "qwen3",
        {**dict.fromkeys(CUT_QKV), A + "o_proj": None},
        "gradients",
        ("HPL718", A + "q_norm"),
        ("HPL718", A + "k_norm"),
    ),
    row("llama", {"layers.*.input_layernorm": SUMMED}, "gradients", ("HPL718", "layers.*.input_layernorm")),
    row("llama", {"norm": SUMMED}, "gradients", ("HPL718", "norm")),
    row("llama", {"embed_tokens": SUMMED}, "gradients", ("HPL718", "embed_tokens")),
    row(
        "llama",
        {"layers.*.input_layernorm": "sequence_parallel"},
        "gradients",
        ("HPL718", "layers.*.input_layernorm"),
    ),
    row(
        "llama",
        {M + "gate_proj": None, M + "up_proj": None, M + "down_proj": SUMMED},
        "gradients",
        ("HPL718", M + "down_proj"),
    ),
    row("mixtral", {M + "gate": SUMMED}, "gradients", ("HPL718", M + "gate")),
    row("deepseek_v3", {A + "q_a_layernorm": SUMMED}, "gradients", ("HPL718", A + "q_a_layernorm")),
    row("deepseek_v3", {A + "kv_a_layernorm": SUMMED}, "gradients", ("HPL718", A + "kv_a_layernorm")),
    # Ties.
    row("gemma2", {"embed_tokens": "embedding_colwise"}, "inference", ("HPL708", "embed_tokens")),
    row("gemma2", {"embed_tokens": "replicate"}, "crash", ("HPL708", "embed_tokens")),
    # Right, though they look otherwise.
    row("llama", {M + "act_fn": "sequence_parallel"}, "right"),
    row("llama", {"norm": "embedding_rowwise"}, "right"),
    row("mixtral", {M + "gate": "local_params"}, "right"),
    row("llama", {M + "gate_proj": None, M + "up_proj": None, M + "down_proj": None}, "right"),
    row("llama", {**GATHERED_MLP, M + "down_proj": "rowwise_split_input"}, "right"),
    row("llama", {**GATHERED_QKV, A + "o_proj": "rowwise_split_input"}, "right"),
    row("llama", {"embed_tokens": "embedding_colwise"}, "right"),
    row("llama", {"embed_tokens": "replicate"}, "right"),
    row("llama", {"layers.*.mlp": "local_params"}, "right"),
    row("llama", {"layers.*.self_attn": SUMMED}, "right"),
    row("llama", {"layers.*": SUMMED}, "right"),
    row("llama", {"norm": "local_params"}, "right"),
    row("qwen3", {A + "q_norm": "sequence_parallel"}, "right"),
    row(
        "qwen3",
        {**GATHERED_QKV, A + "o_proj": "rowwise_split_input", A + "q_norm": None, A + "k_norm": None},
        "right",
    ),
    row(
        "mixtral",
        {M + "experts.gate_up_proj": None, M + "experts.down_proj": None, M + "experts": None},
        "right",
    ),
    row("deepseek_v3", {A + "kv_a_proj_with_mqa": "colwise_gather_output"}, "right"),
    row("deepseek_v3", {A + "q_a_proj": "colwise_gather_output"}, "right"),
]


@pytest.mark.parametrize("case", CHANGED_CONFIGS, ids=lambda c: f"{c.model}-{'-'.join(c.change)}-{c.outcome}")
def test_one_wrong_word_in_the_plan_of_a_config_is_found_where_it_stands(case: Row) -> None:
    tree = fixture_tree(case.model)
    plan = config_plan(tree, case.change)
    assert found(as_config(tree, plan), tree) == in_order(case.at, plan)
    assert bool(case.at) == (case.outcome != "right")


def in_order(at: tuple[tuple[str, str], ...], plan: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(code, key, "error") for code, key in sorted(at, key=lambda a: list(plan).index(a[1]))]


ARGUMENTS = [
    row("llama", {"lm_head": "colwise"}, "crash", ("HPL706", "lm_head")),
    row("llama", {"lm_head": "rowwise"}, "crash", ("HPL706", "lm_head")),
    row("llama", {"lm_head": "packed_colwise"}, "crash", ("HPL707", "lm_head")),
    row("llama", {"lm_head": "all_reduce"}, "logits", ("HPL715", "lm_head")),
    row("llama", {"lm_head": SUMMED}, "gradients", ("HPL718", "lm_head")),
    row("llama", {"model": "moe_tp_experts"}, "crash", ("HPL709", "model")),
    row("llama", {"lm_head": "rowwise_split_input"}, "right"),
    row("llama", {"lm_head": "replicate"}, "right"),
    row("llama", {"lm_head": "embedding_colwise"}, "right"),
    row("gemma2", {"lm_head": "rowwise_split_input"}, "inference", ("HPL708", "lm_head")),
    row("gemma2", {"lm_head": "replicate"}, "crash", ("HPL708", "lm_head")),
    row("gemma2", {"lm_head": "rowwise_split_input", "model.embed_tokens": "embedding_colwise"}, "right"),
    row("gemma2", {"lm_head": "replicate", "model.embed_tokens": "replicate"}, "right"),
]


@pytest.mark.parametrize("case", ARGUMENTS, ids=lambda c: f"{c.model}-{'-'.join(c.change)}-{c.outcome}")
def test_one_wrong_word_in_an_argument_is_found_where_it_stands(case: Row) -> None:
    plan = {key: word for key, word in case.change.items() if word}
    assert found(as_argument(plan), fixture_tree(case.model)) == in_order(case.at, plan)
    assert bool(case.at) == (case.outcome != "right")


LINEAR = ModuleClass("torch.nn.modules.linear.Linear", (), None)
OTHER = ModuleClass("zoo.Norm", (), None)
BLOCK = ModuleClass("zoo.Block", (), None)


def built(
    shapes: Mapping[str, tuple[int, ...]],
    ints: Mapping[str, dict[str, int]] | None = None,
    block: ModuleClass = BLOCK,
    **config: Any,
) -> ModuleTree:
    """A model of these parameters; what is called ``…proj`` or ``fc…`` is linear."""
    below: dict[str, dict[str, Tensor]] = {"": {}}
    for full, shape in shapes.items():
        owner, _, name = full.rpartition(".")
        parts = owner.split(".") if owner else []
        for n in range(1, len(parts) + 1):
            below.setdefault(".".join(parts[:n]), {})
        below[owner][name] = Tensor(shape, "float32", True)
    nodes: list[Node] = []

    def node(fqn: str) -> int:
        prefix = f"{fqn}." if fqn else ""
        names = [m[len(prefix) :] for m in below if m.startswith(prefix) and m != fqn]
        children = tuple((n, node(prefix + n)) for n in names if n and "." not in n)
        linear = fqn.endswith("proj") or fqn.rpartition(".")[2].startswith(("fc", "query_key", "kv_a"))
        nodes.append(Node(2 if children else 0 if linear else 1, below[fqn], {}, (ints or {}).get(fqn, {}), children))
        return len(nodes) - 1

    root = node("")
    return ModuleTree(
        classes=(LINEAR, OTHER, block), nodes=tuple(nodes), root=root, aliases={}, ties=(), config=config
    )  # fmt: skip


WIDE = {"attn.q_proj.weight": (64, 64), "attn.k_proj.weight": (32, 64), "attn.o_proj.weight": (64, 64)}
HEADS = {"attn": {"head_dim": 16}}
CUT = {"attn.q_proj": "colwise", "attn.k_proj": "colwise", "attn.o_proj": "rowwise"}
LATENT = {
    "attn.q_proj.weight": (96, 64), "attn.kv_a_proj_with_mqa.weight": (24, 64), "attn.kv_b_proj.weight": (128, 16),
    "attn.o_proj.weight": (64, 64),
}  # fmt: skip
LATENT_CUT = {"attn.q_proj": "colwise", "attn.kv_b_proj": "colwise", "attn.o_proj": "rowwise"}
EXPERTS = {"experts.gate_up_proj": (4, 64, 48), "experts.down_proj": (4, 24, 64)}
TURNED = {"experts.gate_up_proj": "packed_rowwise", "experts.down_proj": "colwise", "experts": "moe_tp_experts"}


@pytest.mark.parametrize(
    ("tree", "plan", "at"),
    [
        # A fused layer of three parts, and one of two.
        (
            built({"attn.qkv_proj.weight": (128, 64), "attn.o_proj.weight": (64, 64)}),
            {"attn.qkv_proj": "colwise", "attn.o_proj": "rowwise"},
            [("HPL707", "attn.qkv_proj", "error")],
        ),
        (
            built({"attn.qkv_proj.weight": (128, 64), "attn.o_proj.weight": (64, 64)}),
            {"attn.qkv_proj": "packed_colwise", "attn.o_proj": "rowwise"},
            [("HPL707", "attn.qkv_proj", "error")],
        ),
        (
            built({"attn.qkv_proj.weight": (128, 64), "attn.o_proj.weight": (64, 64)}),
            {"attn.qkv_proj": "colwise_gather_output", "attn.o_proj": "rowwise_split_input"},
            [],
        ),
        (
            built({"mlp.gate_up_proj.weight": (192, 64), "mlp.down_proj.weight": (64, 96)}),
            {"mlp.gate_up_proj": "colwise", "mlp.down_proj": "rowwise"},
            [("HPL707", "mlp.gate_up_proj", "error")],
        ),
        (
            built({"mlp.gate_up_proj.weight": (192, 64), "mlp.down_proj.weight": (64, 96)}),
            {"mlp.gate_up_proj": "packed_colwise", "mlp.down_proj": "rowwise"},
            [],
        ),
        # Heads that lie side by side in a fused weight can be cut.
        (
            built(
                {"attn.query_key_value.weight": (192, 64), "attn.dense_proj.weight": (64, 64)}, num_attention_heads=4
            ),
            {"attn.query_key_value": "colwise"},
            [],
        ),
        (
            built({"attn.query_key_value.weight": (192, 64)}, num_attention_heads=3),
            {"attn.query_key_value": "colwise"},
            [("HPL705", "attn.query_key_value", "error")],
        ),
        # Experts that have their last two dims the other way round.
        (built(EXPERTS), TURNED, []),
        (built(EXPERTS), TURNED | {"experts.gate_up_proj": "rowwise"}, [("HPL707", "experts.gate_up_proj", "error")]),
        (
            built(EXPERTS),
            TURNED | {"experts.gate_up_proj": "packed_colwise"},
            [("HPL717", "experts.gate_up_proj", "error")],
        ),
        # Norms over all heads at once crash; over one head they lack a part of the gradient.
        (
            built({**WIDE, "attn.q_norm.weight": (64,)}, HEADS),
            CUT,
            [("HPL716", "attn.q_proj", "error")],
        ),
        (
            built({**WIDE, "attn.q_norm.weight": (64,)}, HEADS),
            {**dict.fromkeys(CUT, "colwise_gather_output"), "attn.o_proj": "rowwise_split_input"},
            [],
        ),
        (
            built({**WIDE, "attn.q_norm.weight": (16,)}, HEADS),
            CUT,
            [("HPL714", "attn.q_proj", "error")],
        ),
        (built({**WIDE, "attn.q_norm.weight": (16,)}, HEADS), {**CUT, "attn.q_norm": SUMMED}, []),
        (
            built({**WIDE, "attn.q_norm.weight": (64,)}, HEADS),
            {"attn.q_norm": SUMMED},
            [("HPL718", "attn.q_norm", "error")],
        ),
        # One number for each head.
        (built({**WIDE, "attn.sinks": (4,)}, HEADS), CUT, [("HPL716", "attn.q_proj", "error")]),
        (built({**WIDE, "attn.sinks": (4,)}, HEADS), {**CUT, "attn.sinks": "colwise", "attn": "local_params"}, []),
        # The rotary part of latent attention.
        (
            built(LATENT, num_attention_heads=4, qk_rope_head_dim=8),
            LATENT_CUT,
            [("HPL714", "attn.kv_b_proj", "error")],
        ),
        (
            built(LATENT, num_attention_heads=4, qk_rope_head_dim=8),
            LATENT_CUT | {"attn.kv_a_proj_with_mqa": "mla_kv_a_proj"},
            [],
        ),
        (
            built(LATENT, num_attention_heads=4, qk_rope_head_dim=8),
            {"attn.kv_a_proj_with_mqa": "mla_kv_a_proj"},
            [("HPL718", "attn.kv_a_proj_with_mqa", "error")],
        ),
        (
            built(LATENT, num_attention_heads=4, qk_rope_head_dim=8),
            LATENT_CUT | {"attn.q_proj": "colwise_gather_output", "attn.kv_a_proj_with_mqa": "mla_kv_a_proj"},
            [("HPL706", "attn.q_proj", "error")],
        ),
        # An activation with parameters between cut layers.
        (
            built({"mlp.up_proj.weight": (96, 64), "mlp.down_proj.weight": (64, 96), "mlp.act_fn.alpha": (1,)}),
            {"mlp.up_proj": "colwise", "mlp.down_proj": "rowwise"},
            [("HPL714", "mlp.up_proj", "error")],
        ),
        (
            built({"mlp.up_proj.weight": (96, 64), "mlp.down_proj.weight": (64, 96), "mlp.act_fn.alpha": (1,)}),
            {"mlp.up_proj": "colwise", "mlp.act_fn": SUMMED, "mlp.down_proj": "rowwise"},
            [],
        ),
        (
            built({"mlp.up_proj.weight": (96, 64), "mlp.down_proj.weight": (64, 96), "mlp.act_fn.alpha": (1,)}),
            {"mlp.act_fn": SUMMED},
            [("HPL718", "mlp.act_fn", "error")],
        ),
    ],
)
def test_blocks_of_other_makes(tree: ModuleTree, plan: dict[str, str], at: list[tuple[str, str, str]]) -> None:
    assert found(as_argument(plan), tree) == at


@pytest.mark.parametrize(("tp", "keys"), [(2, []), (4, []), (8, [A + "k_proj", A + "v_proj"]), (1, [])])
def test_heads_are_counted_for_the_size_that_is_asked_for(tp: int, keys: list[str]) -> None:
    tree = fixture_tree("llama")
    text = as_config(tree, config_plan(tree, {}))
    assert found(text, tree, tp) == [("HPL705", key, "error") for key in keys]


def test_sizes_that_work_are_listed() -> None:
    tree = fixture_tree("llama")
    diagnostics = check_text(as_config(tree, config_plan(tree, {})), mesh_topology({"tp": 8}), tree, ".py")[0]
    assert [d.help.partition(";")[0] for d in diagnostics if d.code == "HPL705"] == [
        "sizes of tp that work: 1, 2, 4"
    ] * 2


@pytest.mark.parametrize("slip", ["self_attn.o_porj", "attn.o_proj"])
def test_a_misspelt_half_of_a_pair_is_not_missing(slip: str) -> None:
    tree = fixture_tree("llama")
    assert found(as_config(tree, config_plan(tree, {A + "o_proj": None, f"layers.*.{slip}": "rowwise"})), tree) == []


def test_a_plan_of_experts_over_ranks_is_none_of_their_business() -> None:
    tree = fixture_tree("mixtral")
    text = as_config(tree, {"layers.*.mlp.experts": "all_reduce"}).replace("tp_plan", "ep_plan")
    assert found(text, tree) == []


TREES = [p.stem for p in sorted((FIXTURES / "trees").glob("*.json")) if '"owners": [["' in p.read_text("utf-8")]


@pytest.mark.parametrize("name", TREES)
def test_plans_that_the_library_ships_have_no_error(name: str) -> None:
    tree = fixture_tree(name)
    plan = {key: str(rule.word) for key, rule in shipped_plan(tree).items()}
    assert plan
    assert found(as_argument(plan), tree) == []


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ({M + "down_proj": "colwise"}, {M + "down_proj": "rowwise"}),
        ({M + "down_proj": "rowwise_split_input"}, {M + "down_proj": "rowwise"}),
        (GATHERED_MLP, {M + "down_proj": "rowwise_split_input"}),
        ({A + "k_proj": "colwise_gather_output"}, {A + "k_proj": "colwise"}),
        ({M + "up_proj": "packed_colwise"}, {M + "up_proj": "colwise"}),
        ({"embed_tokens": "colwise"}, {"embed_tokens": "embedding_rowwise"}),
        ({"norm": SUMMED}, {"norm": None}),
        ({"layers.*.mlp": "all_reduce"}, {"layers.*.mlp": None}),
    ],
)
@pytest.mark.parametrize("suffix", [".py", ".json", ".yaml"])
def test_fixing_writes_the_one_word(
    change: dict[str, str | None], after: dict[str, str | None], suffix: str
) -> None:  # fmt: skip
    tree = fixture_tree("llama")
    before, wanted = (in_a_file(tree, config_plan(tree, c), suffix) for c in (change, change | after))
    fixed = fix_text(
        before, lambda text: check_plans(text, mesh_topology({"tp": 2}), tree, suffix), unsafe=True
    )  # fmt: skip
    assert fixed.text == wanted


def in_a_file(tree: ModuleTree, plan: dict[str, str], suffix: str) -> str:
    if suffix == ".py":
        return as_config(tree, plan)
    if suffix == ".yaml":
        return "base_model_tp_plan:\n" + "".join(f'  "{key}": {word}\n' for key, word in plan.items())
    items = ",\n".join(f'    "{key}": "{word}"' for key, word in plan.items())
    return f'{{\n  "model_type": "llama",\n  "base_model_tp_plan": {{\n{items}\n  }}\n}}\n'


def test_a_gathered_head_is_the_one_fix_that_is_safe() -> None:
    tree = fixture_tree("llama")
    text = as_argument({"lm_head": "colwise", "model.layers.*.mlp": "all_reduce"})
    fixed = fix_text(text, lambda t: check_plans(t, mesh_topology({"tp": 2}), tree, ".py"), unsafe=False)
    assert fixed.text == text.replace('"colwise"', '"colwise_gather_output"')


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ('W = "colwise"\nplan = {"lm_head": W, "model.layers.*.mlp.up_proj": W}\nload(name, tp_plan=plan)\n', ".py"),
        ('W = "colwise"\nplan = {"lm_head": W}\nload(name, tp_plan=plan)\n', ".py"),
        ('load(name, tp_plan={**dict.fromkeys(["model.layers.*.mlp.up_proj", "lm_head"], "colwise")})\n', ".py"),
        ('plan = {}\nfor n in ("lm_head",):\n    plan[n] = "colwise"\nload(name, tp_plan=plan)\n', ".py"),
        ("tp_plan:\n  model.layers.*.mlp.up_proj: &w colwise\n  lm_head: *w\n", ".yaml"),
    ],
)
def test_a_word_that_may_serve_other_keys_is_told_at_the_key_and_left_alone(text: str, suffix: str) -> None:
    tree = fixture_tree("llama")
    diagnostics = [d for d in check_text(text, mesh_topology({"tp": 2}), tree, suffix)[0] if d.code == "HPL706"]
    assert [text[d.span.start : d.span.end].strip("'\"") for d in diagnostics] == ["lm_head"]
    fixed = fix_text(text, lambda t: check_plans(t, mesh_topology({"tp": 2}), tree, suffix), unsafe=True)
    assert fixed.text == text
