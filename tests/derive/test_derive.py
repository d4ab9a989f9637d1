"""Boundaries that are derived from names, shapes and flags."""

from typing import Any

import pytest
from checking import fixture_tree, mesh_topology

from hplint.derive.derive import derive_boundaries
from hplint.derive.experts import marked_experts, stacks
from hplint.derive.families import FAMILIES, family_key, family_of
from hplint.derive.grouping import type_of
from hplint.derive.roles import ROLES, role_of
from hplint.errors import RequestError
from hplint.model.tree import ModuleClass, ModuleTree, Node, Tensor
from hplint.plan.layout import Layouts


def build(parameters: dict[str, tuple[int, ...]], config: dict[str, Any] | None = None, ties: Any = ()) -> ModuleTree:
    """A tree of one class with these parameters, every module a node of its own."""
    nodes: list[Node] = []

    def node(prefix: str) -> int:
        own, below = {}, {}
        for name, shape in parameters.items():
            if name.startswith(prefix):
                head, dot, _ = name[len(prefix) :].partition(".")
                if dot:
                    below[head] = None
                else:
                    own[head] = Tensor(shape, "float32", True)
        children = tuple((name, node(f"{prefix}{name}.")) for name in below)
        nodes.append(Node(0, own, {}, {}, children))
        return len(nodes) - 1

    root = node("")
    cls = ModuleClass("zoo.Model", ("torch.nn.modules.module.Module",), ())
    return ModuleTree(classes=(cls,), nodes=tuple(nodes), root=root, aliases={}, ties=ties, config=config or {})


def spelled(layouts: Layouts | None) -> Any:
    if layouts is None:
        return None
    return {name: {a: str(p) for a, p in layout.placements.items()} for name, layout in layouts.items()}


def tp_of(layouts: Layouts | None) -> dict[str, str]:
    return {name: str(layout.placements.get("tp")) for name, layout in (layouts or {}).items()}


EXPERT_BY_EXPERT = {
    "model.layers.0.mlp.gate.weight": (4, 8),
    **{f"model.layers.0.mlp.experts.{i}.{n}_proj.weight": (8, 8) for i in range(12) for n in ("up", "down")},
}


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("model.embed_tokens.weight", "embed"),
        ("lm_head.weight", "lm_head"),
        ("model.layers.0.mlp.shared_expert.up_proj.weight", "shared_expert"),
        ("model.layers.0.mlp.shared_expert_gate.weight", "skip"),
        ("model.layers.0.mlp.experts.gate_up_proj", "expert"),
        ("model.layers.0.mlp.gate.weight", "moe_gate"),
        ("model.layers.0.mlp.gate_proj.weight", "colwise"),
        ("transformer.h.0.attn.query_key_value.weight", "fused_qkv"),
        ("model.layers.0.mlp.gate_up_proj.weight", "fused_gate_up"),
        ("model.layers.0.mixer.a_log", "special"),
        ("model.layers.0.self_attn.q_norm.weight", "norm"),
        ("model.layers.0.self_attn.q_proj.bias", "colwise"),
        ("model.layers.0.self_attn.o_proj.bias", "bias"),
        ("model.layers.0.self_attn.o_proj.weight", "rowwise"),
        ("model.layers.0.adapter.weight", "skip"),
    ],
)
def test_the_first_pattern_that_matches_gives_the_role(path: str, role: str) -> None:
    assert role_of(path) == role


@pytest.mark.parametrize(
    ("path", "held", "kind"),
    [
        ("model.embed_tokens", {"embed"}, "embed"),
        ("model.layers.0.input_layernorm", {"norm"}, "norm"),
        ("model.layers.0.mlp.router", {"moe_gate"}, "moe_gate"),
        ("model.layers.0.self_attn.q_proj", {"colwise"}, None),
        ("model.layers.0", {"colwise", "rowwise"}, None),
        ("model.layers.0.mlp", {"expert", "moe_gate"}, "moe_mlp"),
        ("model.layers.0.block", {"expert"}, None),
        ("model.layers.0.mlp.shared_expert", {"shared_expert"}, "mlp"),
        ("model.layers.0.self_attn", {"colwise", "rowwise", "skip"}, "attention"),
        ("model.layers.0.ffn", {"colwise", "rowwise"}, "mlp"),
        ("model.layers.0.mixer", {"fused_qkv", "rowwise"}, "attention"),
        ("model.layers.0.ffn", {"colwise"}, "mlp"),
        ("model.layers.0.self_attn", {"colwise"}, None),
    ],
)
def test_the_type_of_a_group_follows_path_and_roles(path: str, held: set[str], kind: str | None) -> None:
    assert type_of(path, held) == kind


def test_no_boundary_is_derived_with_derivation_off() -> None:
    assert derive_boundaries(fixture_tree("toy"), mesh_topology({"tp": 2}, derive=False)) == {}


def test_boundaries_come_in_module_order_and_equal_layers_share_their_contracts() -> None:
    tree = fixture_tree("toy")
    found = derive_boundaries(tree, mesh_topology({"tp": 2}))
    assert list(found) == [f for f in tree.modules if f in found]
    assert found["model.layers.0.mlp"].params is found["model.layers.2.mlp"].params
    assert found["model.layers.2.mlp"].fqn == "model.layers.2.mlp"


def test_a_module_that_no_rule_knows_gets_no_boundary() -> None:
    assert "model.layers.0.adapter" not in derive_boundaries(fixture_tree("toy"), mesh_topology({"tp": 2}))


def test_the_second_name_of_a_tied_parameter_owns_nothing() -> None:
    sizes = {"model.embed_tokens.weight": (8, 4), "lm_head.weight": (8, 4)}
    tied = build(sizes, ties=(("model.embed_tokens.weight", "lm_head.weight"),))
    assert set(derive_boundaries(tied, mesh_topology({"tp": 2}))) == {"model.embed_tokens"}
    assert set(derive_boundaries(build(sizes), mesh_topology({"tp": 2}))) == {"model.embed_tokens", "lm_head"}


def test_a_tied_parameter_in_one_layer_leaves_equal_layers_alone() -> None:
    sizes = {f"layers.{i}.self_attn.{n}_proj.weight": (4, 4) for i in range(2) for n in "qo"}
    tree = build(sizes, ties=(("layers.0.self_attn.q_proj.weight", "layers.1.self_attn.q_proj.weight"),))
    found = derive_boundaries(tree, mesh_topology({"tp": 2}))
    assert set(found["layers.0.self_attn"].params or {}) == {"q_proj.weight", "o_proj.weight"}
    assert "layers.1.self_attn" not in found


def test_the_logits_layout_follows_loss_parallel_and_cp_only_when_active() -> None:
    tree = fixture_tree("toy")
    plain = derive_boundaries(tree, mesh_topology({"tp": 2}))["lm_head"]
    assert spelled(plain.out_dst) == {"output": {"tp": "replicate", "cp": "replicate", "ep": "replicate"}}
    cut = derive_boundaries(tree, mesh_topology({"cp": 2, "tp": 2}, loss_parallel=True))["lm_head"]
    assert spelled(cut.out_dst) == {"output": {"tp": "shard(-1)", "cp": "shard(1)", "ep": "replicate"}}


def test_expert_parallelism_marks_batched_experts_and_hands_on_the_input_layout() -> None:
    boundary = derive_boundaries(fixture_tree("qwen3_moe"), mesh_topology({"dp": 4}, ep=4))["model.layers.0.mlp"]
    assert (boundary.ep_size, boundary.region_dispatch, boundary.ep_stack) == (4, None, {})
    assert spelled(boundary.params)["experts.gate_up_proj"] == {"cp": "replicate", "ep": "shard(0)"}
    assert spelled(boundary.in_dst) == spelled(boundary.in_src)
    assert spelled(boundary.out_src)["output"] == spelled(boundary.in_src)["x_BLD"]
    assert spelled(boundary.out_dst) == spelled(boundary.out_src)


def test_experts_stay_a_black_box_without_expert_parallelism() -> None:
    boundary = derive_boundaries(fixture_tree("qwen3_moe"), mesh_topology({"tp": 2}))["model.layers.0.mlp"]
    assert (boundary.ep_size, boundary.region_dispatch) == (None, False)
    assert tp_of(boundary.params)["experts.gate_up_proj"] == "shard(1)"
    assert tp_of(boundary.params)["experts.down_proj"] == "shard(2)"


def test_per_expert_weights_are_stacked_in_the_order_of_their_numbers() -> None:
    boundary = derive_boundaries(build(EXPERT_BY_EXPERT), mesh_topology({"dp": 4}, ep=4))["model.layers.0.mlp"]
    assert set(boundary.params or {}) == {"gate.weight", "experts.up_proj", "experts.down_proj"}
    assert boundary.ep_stack["experts.up_proj"] == tuple(f"experts.{i}.up_proj.weight" for i in range(12))
    assert boundary.ep_size == 4


def test_an_ep_axis_of_the_mesh_only_stacks_and_keeps_tp() -> None:
    topology = mesh_topology({"ep": 2, "tp": 2})
    boundary = derive_boundaries(build(EXPERT_BY_EXPERT), topology)["model.layers.0.mlp"]
    assert boundary.ep_size is None
    assert boundary.region_dispatch is False
    assert spelled(boundary.params)["experts.up_proj"] == {"tp": "shard(0)", "cp": "replicate", "ep": "shard(0)"}


@pytest.mark.parametrize(
    ("experts", "marked"),
    [
        ([("experts.0.w1.weight", 2), ("experts.1.w1.weight", 2)], True),
        ([("experts.gate_up_proj", 3), ("experts.down_proj", 3)], True),
        ([("experts.weights", 3)], False),
        ([("experts.0.w1.weight", 2), ("experts.gate_up_proj", 3)], None),
        ([("experts.0.w1.weight", 2), ("experts.0.w1.bias", 1)], None),
        ([("experts.gate_up_proj", 3), ("experts.gate_up_proj_bias", 2)], None),
        ([], None),
    ],
)
def test_a_bias_or_mixed_layouts_skip_the_marking_of_experts(
    experts: list[tuple[str, int]], marked: bool | None
) -> None:
    assert marked_experts(experts) is marked


def test_stacks_order_experts_by_number_not_by_name() -> None:
    assert stacks(["experts.10.w.weight", "experts.9.w.weight"]) == {
        "experts.w": ("experts.9.w.weight", "experts.10.w.weight")
    }


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("DeepseekV3ForCausalLM", "deepseekv3"),
        ("deepseek_v3", "deepseekv3"),
        ("KimiK25ForConditionalGeneration", "kimik25"),
        ("Qwen3_5ForCausalLM", "qwen35"),
    ],
)
def test_a_family_is_found_whatever_head_case_and_dashes(name: str, key: str) -> None:
    assert family_key(name) == key
    assert key in FAMILIES


def test_the_first_architecture_goes_before_model_type_and_class() -> None:
    config = {"architectures": ["Qwen2MoeForCausalLM"], "model_type": "llama"}
    assert family_of(config, "Wrapper") == "qwen2moe"
    assert family_of({"model_type": "qwen2_moe"}, "Wrapper") == "qwen2moe"
    assert family_of({}, "Qwen2MoeForCausalLM") == "qwen2moe"


def test_all_family_rules_give_known_roles_in_lower_case() -> None:
    for rules in FAMILIES.values():
        assert set(rules) <= set(ROLES)
        assert all(p == p.lower() for patterns in rules.values() for p in patterns)


def test_users_add_families_of_their_own() -> None:
    sizes = {"blocks.0.attention.qq.weight": (4, 4), "blocks.0.attention.out.weight": (4, 4)}
    tree, topology = build(sizes, {"architectures": ["ZooForCausalLM"]}), mesh_topology({"tp": 2})
    assert derive_boundaries(tree, topology) == {}
    found = derive_boundaries(tree, topology, {"zoo": {"colwise": ["QQ."], "rowwise": ["attention.out"]}})
    assert tp_of(found["blocks.0.attention"].params) == {"qq.weight": "shard(0)", "out.weight": "shard(1)"}


def test_family_rules_of_users_may_depend_on_layer_numbers() -> None:
    sizes = {f"blocks.{i}.mlp.{n}.weight": (4, 4) for i in range(2) for n in ("fa", "fb")}
    tree = build(sizes, {"model_type": "zoo"})
    found = derive_boundaries(tree, mesh_topology({"tp": 2}), {"zoo": {"colwise": ["blocks.1.mlp.fa"]}})
    assert list(found) == ["blocks.1.mlp.fa"]


@pytest.mark.parametrize(
    "families", [{"zoo": {"colwse": ["q"]}}, {"zoo": ["q"]}, {"zoo": {"colwise": "q"}}, {"zoo": {"colwise": [1]}}]
)
def test_families_of_another_form_are_refused_in_plain_words(families: Any) -> None:
    with pytest.raises(RequestError, match=r"families\.zoo"):
        derive_boundaries(fixture_tree("toy"), mesh_topology({"tp": 2}), families)


def test_a_left_over_group_of_replicated_parameters_becomes_boundaries_of_their_owners() -> None:
    sizes = {"vision_tower.a.weight": (4, 4), "vision_tower.b.c.weight": (4,), "lm_head.weight": (8, 4)}
    found = derive_boundaries(build(sizes, {"model_type": "kimi_k26"}), mesh_topology({"tp": 2}))
    assert list(found) == ["vision_tower.a", "vision_tower.b.c", "lm_head"]
    assert (found["vision_tower.a"].in_src, found["vision_tower.a"].out_src) == ({}, None)
    assert tp_of(found["vision_tower.b.c"].params) == {"weight": "replicate"}


def test_a_tree_deeper_than_pythons_stack_is_derived() -> None:
    cls = ModuleClass("zoo.Model", (), ())
    depth = 3000
    nodes = tuple(Node(0, {}, {}, {}, (("m", i + 1),)) for i in range(depth))
    last = Node(0, {"weight": Tensor((4,), "float32", True)}, {}, {}, ())
    tree = ModuleTree(classes=(cls,), nodes=(*nodes, last), root=0, aliases={}, ties=(), config={})
    assert derive_boundaries(tree, mesh_topology({"tp": 2})) == {}
