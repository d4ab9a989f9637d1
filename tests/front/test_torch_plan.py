"""PyTorch plans in the shapes that public repositories write them in."""

from pathlib import Path

import pytest
from checking import FIXTURES

from hplint.front.read import read_document
from hplint.plan.plan import Document, Plan
from hplint.plan.style import StyleEntry

HEAD = """
import itertools
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.parallel import *
from torch.distributed.device_mesh import init_device_mesh
"""
PLANS = sorted((FIXTURES / "plans" / "torch").glob("*.py"))


def read(text: str) -> Document:
    return read_document("plan.py", (HEAD + text).encode())


def only(text: str) -> Plan:
    (plan,) = read(text).plans
    return plan


def told(plan: Plan) -> dict[str, str]:
    return {e.key.value: e.style.kind for e in plan.styles if e.key and e.style}


def placed(entry: StyleEntry) -> tuple[str | None, tuple[str, ...]]:
    assert entry.applied
    return entry.applied.variable, entry.applied.steps


@pytest.mark.parametrize("path", PLANS, ids=lambda p: p.stem)
def test_plans_in_the_usual_shapes_are_read_as_a_whole(path: Path) -> None:
    document = read_document(path.as_posix(), path.read_bytes())
    assert document.plans
    assert [f for p in document.plans for f in p.faults] == []
    assert document.faults == ()
    assert all(e.key and e.style for p in document.plans for e in p.styles)
    for entry in (e for p in document.plans for e in p.styles):
        assert entry.key and entry.style
        assert document.source.cut(entry.style.span).endswith(")")


def test_a_loop_over_layers_gives_one_entry_for_all_of_them() -> None:
    plan = only(
        "def f(model, mesh):\n for layer in model.layers:\n  parallelize_module(layer, mesh, {'wq': ColwiseParallel()})"
    )
    assert told(plan) == {"wq": "ColwiseParallel"}
    assert placed(plan.styles[0]) == ("model", ("layers", "*"))


@pytest.mark.parametrize(
    ("loop", "module"),
    [
        ("for i, b in enumerate(model.layers)", "b"),
        ("for name, b in model.layers.items()", "b"),
        ("for name, b in model.layers.named_children()", "b"),
        ("for b in model.layers.values()", "b"),
        ("for b in model.layers.children()", "b"),
        ("for b in list(model.layers)", "b"),
        ("for b in getattr(model, 'layers')", "b"),
        ("for i in range(len(model.layers))", "model.layers[i]"),
        ("for i in range(n)", "model.layers[i]"),
        ("for b in model.to('cuda').layers", "b"),
        ("for b in model.get_submodule('layers')", "b"),
        ("for b, c in zip(model.layers, configs)", "b"),
        ("for i, b in zip(range(n), model.layers)", "b"),
        ("for i, (b, c) in enumerate(zip(model.layers, configs))", "b"),
        ("for b in itertools.chain(model.layers)", "b"),
    ],
)
def test_the_module_of_a_call_is_followed_through_loops_and_lookups(loop: str, module: str) -> None:
    plan = only(f"def f(model, mesh, n):\n {loop}:\n  parallelize_module({module}, mesh, {{'wq': ColwiseParallel()}})")
    assert placed(plan.styles[0]) == ("model", ("layers", "*"))


def test_a_number_that_is_written_is_kept() -> None:
    plan = only("def f(model, mesh):\n parallelize_module(model.layers[3].mlp, mesh, ColwiseParallel())")
    assert placed(plan.styles[0]) == ("model", ("layers", "3", "mlp"))
    assert told(plan) == {"": "ColwiseParallel"}


def test_layer_numbers_that_are_not_known_become_a_star() -> None:
    plan = only("def f(model, mesh, n):\n plan = {f'layers.{i}.wq': ColwiseParallel() for i in range(n)}\n"
                " parallelize_module(model, mesh, plan)")  # fmt: skip
    assert told(plan) == {"layers.*.wq": "ColwiseParallel"}
    assert plan.styles[0].glob
    assert plan.source.cut(plan.styles[0].span) == "f'layers.{i}.wq'"


def test_layer_numbers_that_are_known_are_written_out() -> None:
    plan = only("plan = {f'layers.{i}.wq': ColwiseParallel() for i in range(2)}")
    assert told(plan) == {"layers.0.wq": "ColwiseParallel", "layers.1.wq": "ColwiseParallel"}


def test_both_branches_of_a_condition_are_read_each_in_a_plan_of_its_own() -> None:
    text = (
        "def f(model, mesh, sp):\n plan = {'wq': ColwiseParallel()}\n if sp:\n  plan['wo'] = RowwiseParallel()\n"
        " else:\n  plan['norm'] = SequenceParallel()\n parallelize_module(model, mesh, plan)"
    )
    plans = [told(p) for p in read(text).plans]
    assert sorted(plans, key=sorted) == [
        {"wq": "ColwiseParallel", "norm": "SequenceParallel"}, {"wq": "ColwiseParallel", "wo": "RowwiseParallel"}
    ]  # fmt: skip
    assert {(e.key.value, e.conditional) for p in read(text).plans for e in p.styles if e.key} == {
        ("wq", False), ("wo", True), ("norm", True)
    }  # fmt: skip


@pytest.mark.parametrize(
    "merge",
    [
        "plan.update(more)", "plan |= more", "plan = plan | more", "plan = {**plan, **more}",
        "plan = dict(plan, **more)",
        "for k, v in more.items():\n  plan[k] = v", "plan.setdefault('wo', RowwiseParallel())",
    ],
)  # fmt: skip
def test_dicts_may_be_merged_in_any_way(merge: str) -> None:
    text = (
        "def f(model, mesh):\n plan = {'wq': ColwiseParallel()}\n more = {'wo': RowwiseParallel()}\n"
        f" {merge}\n parallelize_module(model, mesh, plan)"
    )
    assert {"wq": "ColwiseParallel", "wo": "RowwiseParallel"} in [told(p) for p in read(text).plans]


def test_arguments_of_styles_are_read_with_their_places() -> None:
    plan = only(
        "p = {'a': PrepareModuleInput(input_layouts=(Shard(1), None), desired_input_layouts=(Replicate(), None)),\n"
        " 'b': SequenceParallel(sequence_dim=2, use_local_output=not True)}"
    )
    style = plan.styles[0].style
    assert style
    assert str(style.arguments["input_layouts"].value[0]) == "shard(1)"
    assert plan.source.cut(style.arguments["input_layouts"].span) == "(Shard(1), None)"
    assert plan.styles[1].style and {n: k.value for n, k in plan.styles[1].style.arguments.items()} == {
        "sequence_dim": 2, "use_local_output": False
    }  # fmt: skip


def test_a_class_of_the_file_counts_as_the_style_that_it_derives_from() -> None:
    plan = only("class Mine(ColwiseParallel): pass\nclass More(Mine): pass\np = {'a': More()}")
    style = plan.styles[0].style
    assert style and (style.name, style.base, style.kind) == ("More", "ColwiseParallel", "ColwiseParallel")


def test_a_plan_that_a_function_returns_is_not_tied_to_a_module() -> None:
    plan = only("def get_plan():\n return {'layers.*.wq': ColwiseParallel()}")
    assert plan.name == "get_plan"
    assert plan.styles[0].applied is None


def test_a_returned_plan_that_the_file_applies_is_one_plan() -> None:
    plan = only(
        "def get():\n return {'wq': ColwiseParallel()}\ndef f(model, mesh):\n parallelize_module(model, mesh, get())"
    )
    assert placed(plan.styles[0]) == ("model", ())


def test_a_helper_that_is_given_a_block_is_read_from_its_caller() -> None:
    text = (
        "def one(block, mesh):\n parallelize_module(block, mesh, {'wq': ColwiseParallel()})\n"
        "def f(model, mesh):\n for b in model.layers:\n  one(b, mesh)"
    )
    assert placed(only(text).styles[0]) == ("model", ("layers", "*"))


def test_dicts_of_styles_that_others_take_from_are_no_plans() -> None:
    plan = only("S = {'c': ColwiseParallel(), 'r': RowwiseParallel()}\n"
                "def f(model, mesh):\n parallelize_module(model, mesh, {'wq': S['c'], 'wo': S['r'],\n"
                " 'w1': ColwiseParallel()})")  # fmt: skip
    assert list(told(plan)) == ["wq", "wo", "w1"]


def test_what_cannot_be_read_is_said_and_nothing_else_is_lost() -> None:
    plan = only("from elsewhere import pick\np = {'a': ColwiseParallel(), 'b': pick()}")
    assert told(plan) == {"a": "ColwiseParallel"}
    assert [f.rule for f in plan.faults] == ["not-evaluated"]
    assert plan.source.cut(plan.faults[0].span) == "pick()"


def test_the_mesh_of_a_call_is_read() -> None:
    plan = only("m = init_device_mesh('cuda', (2, 4), mesh_dim_names=('dp', 'tp'))\n"
                "def f(model):\n parallelize_module(model, m['tp'], {'a': ColwiseParallel()})")  # fmt: skip
    applied = plan.styles[0].applied
    assert applied and applied.mesh and applied.mesh.picked
    assert (applied.mesh.picked.value, applied.mesh.whole, applied.mesh.size) == ("tp", ("dp", "tp"), 1)


def test_entries_of_hyper_parallel_and_styles_stay_apart() -> None:
    document = read(
        "from hyper_parallel import ModuleShardingSpec\n"
        "a = {'x': ModuleShardingSpec(out_dst='auto')}\nb = {'x': ColwiseParallel()}"
    )
    assert [(p.dialect, len(p.entries), len(p.styles)) for p in document.plans] == [("python", 1, 0), ("torch", 0, 1)]


def test_a_key_that_a_literal_writes_twice_is_told() -> None:
    plan = only("p = {'a': ColwiseParallel(), 'b': RowwiseParallel(), 'a': RowwiseParallel()}")
    assert told(plan) == {"a": "RowwiseParallel", "b": "RowwiseParallel"}
    (fault,) = plan.faults
    assert (fault.rule, fault.span.start > fault.related[0][1].start) == ("duplicate-key", True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("partial(transformer_auto_wrap_policy, transformer_layer_cls={A, mod.B})", ("A", "B")),
        ("ModuleWrapPolicy({A})", ("A",)),
        ("ModuleWrapPolicy(module_classes=[A])", ("A",)),
        ("Args(fsdp_config={'transformer_layer_cls_to_wrap': ['A', 'B']})", ("A", "B")),
        ("Args(fsdp_transformer_layer_cls_to_wrap='A, B')", ("A", "B")),
        ("Plugin(transformer_cls_names_to_wrap=['A'])", ("A",)),
        ("ModuleWrapPolicy(blocks)", ("Real",)),
        ("ModuleWrapPolicy({cls})", ()),
        ("ModuleWrapPolicy({type(model.layers[0])})", ()),
    ],
)
def test_classes_of_wrap_policies_are_read(text: str, told: tuple[str, ...]) -> None:
    plan = only(
        f"from m import Real as Alias\nblocks = {{Alias}}\nx = {text}\n"
        "parallelize_module(model, mesh, {'a': ColwiseParallel()})"
    )
    assert tuple(c.value for p in plan.wraps for c in p.classes) == told


def test_the_class_that_must_not_be_split_is_that_of_its_model() -> None:
    plan = only("class M(P):\n _no_split_modules = ['A']\nparallelize_module(model, mesh, {'a': ColwiseParallel()})")
    (policy,) = plan.wraps
    assert (policy.owner, policy.classes[0].value, plan.source.cut(policy.classes[0].span)) == ("M", "A", "'A'")


def test_the_number_of_a_row_of_layers_is_a_star_in_keys() -> None:
    plan = only("def f(model, mesh, cs):\n plan = {}\n for i, (b, c) in enumerate(zip(model.layers, cs)):\n"
                "  plan[f'layers.{i}.wq'] = ColwiseParallel()\n parallelize_module(model, mesh, plan)")  # fmt: skip
    assert told(plan) == {"layers.*.wq": "ColwiseParallel"}


@pytest.mark.parametrize(
    ("loop", "test"),
    [
        ("for name, m in model.named_modules()", "isinstance(m, Block)"),
        ("for m in model.modules()", "isinstance(m, Block)"),
        ("for name, m in model.named_children()", "name == 'output'"),
    ],
)
@pytest.mark.parametrize("form", ["{loop}:\n  if {test}:\n   {call}", "{loop}:\n  if not {test}: continue\n  {call}"])
def test_a_condition_on_the_module_of_a_loop_leaves_open_which_ones_are_meant(loop: str, test: str, form: str) -> None:
    call = "parallelize_module(m, mesh, {'wq': ColwiseParallel()})"
    plan = only(f"def f(model, mesh):\n {form.format(loop=loop, test=test, call=call)}")
    (entry,) = plan.styles
    assert entry.applied and (entry.applied.narrowed, entry.applied.is_loop, entry.conditional) == (True, True, True)


def test_a_condition_on_something_else_leaves_the_loop_as_it_is() -> None:
    plan = only("def f(model, mesh, sp):\n for b in model.layers:\n  if sp:\n"
                "   parallelize_module(b, mesh, {'wq': ColwiseParallel()})")  # fmt: skip
    assert plan.styles[0].applied and not plan.styles[0].applied.narrowed


def test_a_plan_that_is_made_of_another_one_is_the_only_one() -> None:
    plan = only("def f(model, mesh, n):\n one = {'wq': ColwiseParallel()}\n"
                " parallelize_module(model, mesh, {f'layers.{i}.{k}': v for i in range(n) for k, v in one.items()})")  # fmt: skip  # noqa: E501
    assert told(plan) == {"layers.*.wq": "ColwiseParallel"}


def test_a_plan_that_a_caller_has_is_no_fault_of_the_file() -> None:
    text = "def f(model, mesh, cfg):\n parallelize_module(model, mesh, cfg.plan)\n x = {'a': ColwiseParallel()}"
    assert read(text).faults == ()
    text = text.replace("cfg.plan", "made(model)")
    assert [f.rule for f in read("from elsewhere import made\n" + text).faults] == ["not-evaluated"]


def test_a_copy_of_a_dict_tells_its_doubled_keys() -> None:
    plan = only("def f(model, mesh):\n one = {'a': ColwiseParallel(), 'a': RowwiseParallel()}\n"
                " parallelize_module(model, mesh, dict(one))")  # fmt: skip
    assert [f.rule for f in plan.faults] == ["duplicate-key"]


def test_what_another_function_of_the_file_applies_is_known_beside_a_plan() -> None:
    text = "def f(model, mesh):\n parallelize_module(model, mesh, {'a': ColwiseParallel()})\n"
    first, then = read(text + text.replace("f(", "g(", 1).replace("'a'", "'b'")).plans
    assert [e.key.value for e in (*first.other_styles, *then.other_styles) if e.key] == ["b", "a"]
    assert not first.styles[0].conditional


def test_a_plan_inside_a_plan_counts_from_what_its_key_names() -> None:
    plan = only("def f(model, mesh):\n parallelize_module(model, mesh, {'layers.*': {'wq': ColwiseParallel()},\n"
                " 'output': ColwiseParallel()})")  # fmt: skip
    assert [placed(e) for e in plan.styles] == [("model", ("layers", "*")), ("model", ())]
    assert told(plan) == {"wq": "ColwiseParallel", "output": "ColwiseParallel"}
