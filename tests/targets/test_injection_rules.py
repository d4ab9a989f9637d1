"""Rules on injections and targets at their edges: merging, echoes, conditions, other ways to write a function."""

import pytest
from checking import check_text, fixture_tree, mesh_topology

from hplint.lint.diagnostic import Diagnostic
from hplint.resolve.topology import Topology

INJECTED = "region_dispatch: false, inner_target: self, inner_wrapper"


def check(
    text: str, sizes: dict[str, int] | None = None, model: str | None = "toy", suffix: str = ".yaml", **flags: int
) -> list[Diagnostic]:
    topology = mesh_topology({"dp": 2} | sizes, **flags) if sizes is not None else Topology(**flags)
    return check_text(text, topology, fixture_tree(model) if model else None, suffix)[0]


def told(found: list[Diagnostic]) -> list[str]:
    """``CODE severity text-of-the-token`` of each finding."""
    return [f"{d.code} {d.severity} {d.source.cut(d.span)}" for d in found]


def test_a_pair_may_come_from_two_entries() -> None:
    text = """
- {match: "*.self_attn", when: cp, region_dispatch: false, inner_wrapper: sdpa_hf}
- {match: "model.*.self_attn", inner_target: self}
"""
    assert told(check(text, {"cp": 2})) == []


def test_half_a_pair_is_told_once_for_its_entry_with_all_its_modules() -> None:
    (found,) = check('- {match: "*.self_attn", region_dispatch: false, inner_target: self}', {"tp": 2})
    assert told([found]) == ["HPL403 error inner_target"]
    assert found.modules == tuple(f"model.layers.{i}.self_attn" for i in range(3))


@pytest.mark.parametrize(
    "text",
    [
        '- {match: "*.self_attn", region_dispatch: false, inner_target: self, inner_wrapper: [1]}',
        '- {match: "*.mlp", region_dispatch: "false", local_compute_fn: {_target_: toy_kernels.fast_mlp}}',
        '- {match: "*.mlp", region_dispatch: true, local_compute_fn: toy_kernels.fast_mlp}',
        '- {match: "*.self_attn", region_dispatch: false, inner_target: [self], inner_wrapper: {_target_: '
        "toy_kernels.wrap_attention}}",
        '- {match: "*.mlp", replace_module: {_target_: fused_kernels.norm.fused_norm}, module_type: 3}',
    ],
)
@pytest.mark.parametrize("model", ["toy", None])
def test_a_field_that_cannot_be_read_causes_no_second_finding(text: str, model: str | None) -> None:
    assert [t.split()[0] for t in told(check(text, {"tp": 2}, model))] == ["HPL003"]


def test_an_expert_boundary_brings_its_own_region_dispatch() -> None:
    text = '- {match: "*.mlp", local_compute_fn: {_target_: toy_kernels.fast_mlp}}'
    assert "HPL401" not in {d.code for d in check(text, {"tp": 2}, "qwen3_moe")}


def test_the_source_decides_what_to_advise_for_region_dispatch() -> None:
    text = '- {match: "*.mlp", local_compute_fn: {_target_: TARGET, chunks: 2}}'
    (found,) = check(text.replace("TARGET", "fused_kernels.shared_mlp"), {"tp": 2})
    assert found.help == "write `region_dispatch: false`: it communicates (`torch.distributed.all_reduce`, mlp.py:31)"
    (found,) = check(text.replace("TARGET, chunks: 2", "toy_kernels.fast_mlp"), {"tp": 2})
    assert found.help.startswith("write `region_dispatch: true`")


def test_a_wrapper_for_a_run_with_cp_alone_is_no_fault_of_a_run_without() -> None:
    assert told(check(f'- {{match: "*.self_attn", when: cp, {INJECTED}: sdpa_hf}}', {"tp": 2})) == []


@pytest.mark.parametrize("sizes", [None, {"tp": 2}])
def test_a_wrapper_that_needs_cp_is_told_only_where_its_size_is_known(sizes: dict[str, int] | None) -> None:
    found = told(check(f'- {{match: "*.self_attn", {INJECTED}: sdpa_hf}}', sizes))
    assert found == (["HPL408 error sdpa_hf"] if sizes else [])


def test_faults_of_an_entry_that_this_run_skips_are_warnings() -> None:
    text = '- {match: "*.mlp", when: ep, region_dispatch: false, local_compute_fn: {_target_: toy_kernels.fast_mpl}}'
    assert told(check(text, {"tp": 2})) == ["HPL501 warning toy_kernels.fast_mpl"]


def test_a_function_that_is_overridden_wherever_it_lands_is_a_warning() -> None:
    text = """
- {match: "*.mlp", region_dispatch: false, local_compute_fn: {_target_: toy_kernels.undecorated_compute}}
- {match: "model.*.mlp", region_dispatch: false, local_compute_fn: {_target_: toy_kernels.fast_mlp}}
"""
    assert told(check(text, {"tp": 2})) == ["HPL504 warning toy_kernels.undecorated_compute"]


def test_an_entry_that_hits_nothing_shows_the_faults_of_its_function_as_warnings() -> None:
    text = '- {match: "*.nope", region_dispatch: false, local_compute_fn: {_target_: toy_kernels.fast_mlp, blok: 1}}'
    assert "HPL502 warning blok" in told(check(text, {"tp": 2}))


def test_missing_wrappers_are_told_for_attention_boundaries_without_one() -> None:
    text = f'- {{match: "model.layers.0.self_attn", {INJECTED}: sdpa_hf}}'
    (found,) = check(text, {"cp": 2})
    assert (found.code, found.modules) == ("HPL410", ("model.layers.1.self_attn", "model.layers.2.self_attn"))


def test_a_misspelt_module_is_not_also_told_to_lack_its_wrapper() -> None:
    found = check(f'- {{match: "*.self_attn", {INJECTED}: sdpa_hff}}', {"cp": 2})
    assert told(found) == ["HPL405 error sdpa_hff"]


def test_experts_are_computed_by_their_own_forward_where_it_says_so() -> None:
    text = '- {match: "*.mlp", when: ep, region_dispatch: false}'
    assert "HPL411" not in {d.code for d in check(text, {"tp": 2}, "qwen3_moe", ep=2)}
    assert "HPL411" in {d.code for d in check("- {match: model.norm, params: auto}", {"tp": 2}, "qwen3_moe", ep=2)}


def test_a_wrapper_by_target_is_known_by_its_last_name_under_any_root_of_hyper_parallel() -> None:
    path = "hyper_parallel.auto_models.components.distributed.cp_wrappers.sdpa_qkv_cp_wrapper"
    found = told(check(f'- {{match: "*.self_attn", {INJECTED}: {{_target_: {path}}}}}', {"cp": 2}))
    assert found == [f"HPL412 error {path}", f"HPL501 warning {path}"]


def test_a_package_that_is_not_installed_is_said_and_no_error() -> None:
    path = "hyper_parallel.models.new.adapter.wrapper"
    text = f'- {{match: "*.self_attn", {INJECTED}: {{_target_: {path}}}}}'
    assert told(check(text, {"tp": 2})) == [f"HPL501 info {path}"]
    assert told(check(text.replace("hyper_parallel", "other"), {"tp": 2})) == [
        f"HPL501 warning {path.replace('hyper_parallel', 'other')}"
    ]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("torch.nn.LayerNorm", []),
        ("torch.nn.modules.normalization.LayerNorm", []),
        ("torch.nn.Module", []),
        ("toy_models.Block", ["HPL512 error toy_models.Block"]),
        ("torch.nn.functional.silu", ["HPL501 error torch.nn.functional.silu"]),
        ("torch.nn.LayerNrm", ["HPL501 error torch.nn.LayerNrm"]),
        ("elsewhere.Norm", ["HPL501 warning elsewhere.Norm"]),
    ],
)
def test_module_types_are_compared_with_the_classes_that_are_matched(kind: str, expected: list[str]) -> None:
    text = f'- {{match: "*.input_layernorm", module_type: {kind}, replace_module: {{_target_: '
    assert told(check(text + "fused_kernels.norms.fused_norm}}", {"tp": 2})) == expected


def test_an_exact_type_leaves_subclasses_out() -> None:
    text = '- {match: "*.input_layernorm", module_type: torch.nn.Module, exact_type: true, replace_module: {_target_: '
    assert told(check(text + "fused_kernels.norms.fused_norm}}", {"tp": 2})) == ["HPL512 error torch.nn.Module"]


def test_replacements_that_meet_are_told_with_the_other_place() -> None:
    entry = "module_type: torch.nn.Module, replace_module: {_target_: fused_kernels.norms.fused_norm}}"
    found = check(f'- {{match: "model.layers.0", {entry}\n- {{match: "*.0", {entry}\n- {{match: "*.0.mlp", {entry}', {})
    assert told(found) == ['HPL512 error "*.0"', 'HPL512 error "*.0.mlp"']
    assert [found[0].source.cut(r.span) for r in found[0].related] == ['"model.layers.0"']


def test_a_factory_with_one_right_way_out_is_a_warning_at_most() -> None:
    text = """
from hyper_parallel.distributed import ModuleShardingSpec, local_compute

@local_compute
def either(mesh, tp_mesh, cp_mesh, ep_mesh, *, fused: bool = False):
    if fused:
        return lambda module, x: x
    return lambda module, hidden_states: hidden_states

plan = {"*.mlp": ModuleShardingSpec(region_dispatch=False, local_compute_fn=either)}
"""
    assert told(check(text, {"tp": 2}, suffix=".py")) == ["HPL508 warning either"]


def test_functions_of_the_python_plans_own_file_are_read() -> None:
    text = """
from hyper_parallel.distributed import ModuleShardingSpec, Target, inner_wrapper

@inner_wrapper
def mine(target_module, mesh, tp_mesh, cp_mesh, ep_mesh, *, width: int): ...

plan = {"*.self_attn": ModuleShardingSpec(region_dispatch=False, inner_target="self",
                                          inner_wrapper=Target(mine, width="8", depth=1))}
"""
    assert told(check(text, {"tp": 2}, suffix=".py")) == ['HPL506 error "8"', "HPL502 error depth"]


def test_a_forward_that_a_wrapper_or_a_replacement_may_change_is_not_compared() -> None:
    fn = "local_compute_fn: {_target_: fused_kernels.renamed_inputs}"
    text = f'- {{match: "*.mlp", {INJECTED}: {{_target_: toy_kernels.wrap_attention}}, {fn}}}'
    assert told(check(text, {"tp": 2})) == []
    replaced = f"""
- {{match: "*.mlp", module_type: torch.nn.Module, replace_module: {{_target_: fused_kernels.norms.fused_norm}}}}
- {{match: "*.mlp", region_dispatch: false, {fn}}}
"""
    assert told(check(replaced, {"tp": 2})) == []


def test_without_a_model_what_the_entry_alone_tells_is_still_told() -> None:
    text = """
- {match: "*.a", region_dispatch: false, inner_wrapper: sdpa_hff}
- {match: "*.b", region_dispatch: false, local_compute_fn: {_target_: fused_kernels.shared_mlp, mesh: 1, chunk: 2}}
"""
    assert told(check(text, model=None)) == [
        "HPL403 error inner_wrapper", "HPL405 error sdpa_hff", "HPL507 error fused_kernels.shared_mlp",
        "HPL503 error mesh", "HPL502 error chunk",
    ]  # fmt: skip


def test_without_a_model_another_entry_may_bring_the_missing_field() -> None:
    text = """
- {match: "*.a", inner_wrapper: sdpa_hf}
- {match: "*.b", region_dispatch: false, inner_target: x, inner_out_src: first_input}
"""
    assert told(check(text, model=None)) == []


RECIPES = "hyper_parallel.distributed.expert_parallel.recipes"


def test_a_shipped_expert_function_on_dense_layers_is_a_warning_for_those_layers_alone() -> None:
    text = f'- {{match: "*.mlp", when: ep, region_dispatch: false, local_compute_fn: {{_target_: {RECIPES}.NAME}}}}'
    (found,) = check(text.replace("NAME", "deepseekv3_ep_compute_fn"), {"tp": 2}, "deepseek_v3_671b", ep=4)
    assert told([found]) == [f"HPL508 warning {RECIPES}.deepseekv3_ep_compute_fn"]
    assert found.modules == tuple(f"model.layers.{i}.mlp" for i in range(3))
    assert told(check(text.replace("NAME", "mixtral_ep_compute_fn"), {"tp": 2}, "mixtral_8x7b", ep=4)) == []


def test_a_shipped_expert_function_says_which_children_are_missing() -> None:
    text = f'- {{match: "*.mlp", region_dispatch: false, local_compute_fn: {{_target_: {RECIPES}.NAME}}}}'
    (found,) = check(text.replace("NAME", "qwen2moe_ep_compute_fn"), {"tp": 2}, "qwen3_moe_30b_a3b", ep=4)
    assert "`shared_expert` and `shared_expert_gate`, which `Qwen3MoeSparseMoeBlock` does not have" in found.message


def test_a_shipped_expert_function_on_a_module_that_the_plan_replaces_is_left_alone() -> None:
    text = f"""
- match: model.layers.0.mlp
  module_type: transformers.models.deepseek_v3.modeling_deepseek_v3.DeepseekV3MLP
  replace_module: {{_target_: hyper_parallel.models.acme.replace_mlp}}
- match: model.layers.0.mlp
  region_dispatch: false
  local_compute_fn: {{_target_: {RECIPES}.deepseekv3_ep_compute_fn}}
"""
    assert not [d for d in check(text, {"tp": 2}, "deepseek_v3_671b") if d.code == "HPL508"]
