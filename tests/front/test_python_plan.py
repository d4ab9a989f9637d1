"""Which dicts of a Python file are plans, however they are put together, and what they say."""

import pytest
from python_samples import IMPORTS, cuts, faults, fields, matches, read, says, the_plan

MLP = {"params": {"up.weight": {"tp": "shard(0)"}}}
SPEC = 'ModuleShardingSpec(params={"up.weight": {TP: Shard(0)}})'


@pytest.mark.parametrize(
    "text",
    [
        'plan = {"a": S, "b": S}',
        'plan: dict[str, ModuleShardingSpec] = {"a": S, "b": S}',
        'plan = {}\nplan["a"] = S\nplan["b"] = S',
        'plan = dict(a=S, b=S)',
        'plan = dict([("a", S), ("b", S)])',
        'plan = dict({"a": S}, b=S)',
        'plan = dict(zip(["a", "b"], [S, S]))',
        'base = {"a": S}\nplan = {**base, "b": S}',
        'base = {"a": S}\nplan = base | {"b": S}',
        'plan = {"a": S}\nplan |= {"b": S}',
        'plan = {"a": S}\nplan.update({"b": S})',
        'plan = {"a": S}\nplan.update(b=S)',
        'plan = {"a": S}\nplan.update([("b", S)])',
        'plan = {"a": S}\nplan.setdefault("b", S)\nplan.setdefault("a", None)',
        'base = {"a": S}\nplan = base.copy()\nplan["b"] = S',
        'from copy import deepcopy\nbase = {"a": S}\nplan = deepcopy(base)\nplan["b"] = S',
        'plan = {name: S for name in ("a", "b")}',
        'plan = {name: S for name in ["a", "x", "b"] if name != "x"}',
        'plan = {chr_: S for chr_ in "ab"}',
        'plan = {}\nfor name in "a", "b":\n    plan[name] = S',
        'plan = {}\nfor i, name in enumerate(["a", "b"]):\n    plan[name] = S',
        'plan = {}\nfor name, spec in {"a": S, "b": S}.items():\n    plan[name] = spec',
        'plan = {}\nnames = ["a"]\nnames.append("b")\nwhile len(plan) < 2:\n    plan[names[len(plan)]] = S',
        'plan = {"a": S, "c": S}\ndel plan["c"]\nplan["b"] = S',
        'plan = {"c": S, "a": S}\nplan.pop("c")\nplan["b"] = S',
        'def make():\n    return {"a": S}\nplan = {**make(), "b": S}',
        'def make(*names, spec=S):\n    return {n: spec for n in names}\nplan = make("a", "b")',
        'make = lambda name: {name: S}\nplan = make("a") | make("b")',
        'def fill(plan):\n    plan["b"] = S\nplan = {"a": S}\nfill(plan)',
        'class Recipe:\n    plan = {"a": S, "b": S}',
        'class Recipe:\n    def plan(self):\n        return {"a": S, "b": S}',
        'class Recipe:\n    def __init__(self):\n        self.plan = {"a": S}\n        self.plan["b"] = S',
        'def outer():\n    plan = {"a": S}\n    def inner():\n        plan["b"] = S\n    inner()\n    return plan',
        'plan = {}\ndef fill():\n    global plan\n    plan = {"a": S, "b": S}',
        'plan = {"a": S, **({"b": S} if True else {})}',
        'plan = (lambda: {"a": S, "b": S})()',
        'try:\n    plan = {"a": S, "b": S}\nexcept ImportError:\n    raise',
        'with open("x") as f:\n    plan = {"a": S, "b": S}',
        'async def plan():\n    return {"a": S, "b": S}',
        'match 1:\n    case 1:\n        plan = {"a": S, "b": S}\n    case _:\n        plan = {}',
        'if (plan := {"a": S, "b": S}):\n    pass',
        '@cache\ndef plan():\n    return {"a": S, "b": S}',
        '@some.registry("x")\ndef plan(flag=True):\n    return {"a": S, "b": S}',
        'from itertools import chain\nplan = {n: S for n in chain(["a"], ("b",))}',
        'import types\nplan = types.MappingProxyType({"a": S, "b": S})',
    ],
)  # fmt: skip
def test_a_dict_is_read_however_it_is_put_together(text: str) -> None:
    plan = the_plan(f"S = {SPEC}\n{text}\n")
    assert says(plan) == {"a": MLP, "b": MLP}
    assert plan.faults == ()
    assert plan.dialect == "python"


@pytest.mark.parametrize(
    "key",
    [
        '"model.layers.3.mlp"',
        'f"model.layers.{3}.mlp"',
        'f"model.layers.{LAYER}.{name!s}"',
        'f"model.layers.{LAYER:d}.mlp"',
        '"model.layers.%d.mlp" % LAYER',
        '"model.layers.%d.%s" % (LAYER, name)',
        '"model.layers.{}.mlp".format(LAYER)',
        '"model.layers.{0}.{n}".format(LAYER, n=name)',
        '".".join(["model", "layers", str(LAYER), name])',
        '"model.layers." + str(LAYER) + ".mlp"',
        '"model.layers." "3.mlp"',
        'PREFIX + ".3.mlp"',
        'Names.MLP',
        'FQNS[1]',
        'FQNS[-1]',
        'TABLE["mlp"]',
        'TABLE.get("mlp")',
        '"MODEL.LAYERS.3.MLP".lower()',
        '"x.model.layers.3.mlp".removeprefix("x.")',
        'under("mlp")',
        'under(child="mlp", layer=LAYER)',
        '"model.layers.3.mlp" if LAYER == 3 else "other"',
        'None or "model.layers.3.mlp"',
        '"model.layers.3.mlp.up"[:-3]',
    ],
)  # fmt: skip
def test_a_key_is_computed_from_constants(key: str) -> None:
    text = f"""
LAYER, name = 3, "mlp"
PREFIX = "model.layers"
FQNS = ["x", "model.layers.3.mlp"]
TABLE = {{"mlp": "model.layers.3.mlp"}}
class Names:
    MLP = "model.layers.3.mlp"
def under(child, layer=3):
    return f"{{PREFIX}}.{{layer}}.{{child}}"
plan = {{{key}: ModuleShardingSpec()}}
"""
    plan = the_plan(text)
    assert matches(plan) == ["model.layers.3.mlp"]
    assert plan.faults == ()


@pytest.mark.parametrize(
    "axis",
    ["TP", '"tp"', "MeshAxisName.TP", "Axis.TP", "hp.TP", "hp.MeshAxisName.TP", "MeshAxisName.TP.value", "T",
     'MeshAxisName("tp")', "AXIS", "OwnAxis.TP", "star.TP"],
)  # fmt: skip
def test_axes_are_read_in_all_their_spellings(axis: str) -> None:
    text = f"""
import hyper_parallel.distributed as hp
import hyper_parallel.distributed as star
from enum import StrEnum
from hyper_parallel.distributed import TP as T, MeshAxisName as Axis
AXIS = TP
class OwnAxis(StrEnum):
    TP = "tp"
plan = {{"a": ModuleShardingSpec(params={{"w": {{{axis}: Shard(0)}}}})}}
"""
    assert fields(the_plan(text)) == {"params": {"w": {"tp": "shard(0)"}}}


def test_a_plain_enum_member_is_no_axis_name() -> None:
    text = """
from enum import Enum
class Axis(Enum):
    TP = "tp"
plan = {"a": ModuleShardingSpec(params={"w": {Axis.TP: Shard(0)}})}
"""
    assert faults(text) == [("not-evaluated", "Axis.TP")]


def test_an_axis_that_the_enum_lacks_reads_as_an_axis_that_no_mesh_has() -> None:
    plan = the_plan('plan = {"a": ModuleShardingSpec(params={"w": {MeshAxisName.TPP: Shard(0)}})}')
    assert fields(plan) == {"params": {"w": {"tpp": "shard(0)"}}}
    assert plan.source.cut(plan.entries[0].contract["params"].layouts["w"].axis_spans["tpp"]) == "MeshAxisName.TPP"


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("Shard(0)", "shard(0)"),
        ("Shard(dim=1)", "shard(1)"),
        ("Shard(-1)", "shard(-1)"),
        ("Shard(N)", "shard(2)"),
        ("Replicate()", "replicate"),
        ("Partial()", "partial"),
        ('Partial("sum")', "partial"),
        ('Partial(reduce_op="sum")', "partial"),
        ("dt.Shard(0)", "shard(0)"),
        ("torch.distributed.tensor.Shard(0)", "shard(0)"),
        ("R()", "replicate"),
        ("pt.Partial()", "partial"),
        ("COL", "shard(0)"),
        ("col()", "shard(0)"),
    ],
)
def test_placements_are_read_in_all_their_spellings(written: str, read_as: str) -> None:
    text = f"""
import torch
import torch.distributed.tensor as dt
from torch.distributed.tensor import Replicate as R
from hyper_parallel.core.dtensor import placement_types as pt
N = 2
COL = Shard(0)
def col():
    return Shard(0)
plan = {{"a": ModuleShardingSpec(params={{"w": {{TP: {written}}}}})}}
"""
    plan = the_plan(text)
    assert fields(plan) == {"params": {"w": {"tp": read_as}}}
    assert plan.faults == ()


@pytest.mark.parametrize(
    "written",
    ['"shard(0)"', "Replicate", "Shard", "Shard()", 'Shard("0")', "Replicate(1)", "0", "None", '{"a": Shard(0)}'],
)
def test_what_is_no_placement_object_is_a_fault_at_its_place(written: str) -> None:
    text = f'plan = {{"a": ModuleShardingSpec(params={{"w": {{TP: {written}}}}})}}'
    assert faults(text) == [("not-a-placement", written)]


def test_a_partial_that_is_no_sum_is_left_unread() -> None:
    text = 'plan = {"a": ModuleShardingSpec(out_src={"o": {TP: Partial("avg")}})}'
    assert faults(text) == [("not-evaluated", 'Partial("avg")')]


def test_a_spec_takes_its_values_by_position() -> None:
    text = """
plan = {"a": ModuleShardingSpec(
    {"w": {TP: Shard(0)}}, {"x": {TP: Shard(1)}}, {"x": {TP: Replicate()}}, {"y": {TP: Partial()}}, "auto", ["y"],
    ["n_local"], True, False, "self", "sdpa_hf", "first_input", Target("pkg.f"))}
"""
    assert fields(the_plan(text)) == {
        "params": {"w": {"tp": "shard(0)"}},
        "in_src": {"x": {"tp": "shard(1)"}},
        "in_dst": {"x": {"tp": "replicate"}},
        "out_src": {"y": {"tp": "partial"}},
        "out_dst": "auto",
        "out_names": ["y"],
        "tp_divide_attrs": ["n_local"],
        "is_boundary": None,
        "region_dispatch": False,
        "inner_target": "self",
        "inner_wrapper": "sdpa_hf",
        "inner_out_src": fields(the_plan(text))["inner_out_src"],
        "local_compute_fn": "pkg.f",
    }


def test_specs_are_made_and_changed_in_the_usual_ways() -> None:
    text = """
import dataclasses, functools
from copy import deepcopy
base = ModuleShardingSpec(params={"w": {TP: Shard(0)}}, region_dispatch=True)
common = dict(region_dispatch=True, params={"w": {TP: Shard(0)}})
make = functools.partial(ModuleShardingSpec, region_dispatch=False)
changed = deepcopy(base)
changed.region_dispatch = False
changed.params["v"] = {TP: Replicate()}
plan = {
    "base": base,
    "replaced": dataclasses.replace(base, region_dispatch=False),
    "spread": ModuleShardingSpec(**common, inner_target="self"),
    "partial": make(inner_target="x"),
    "changed": changed,
}
"""
    w = {"w": {"tp": "shard(0)"}}
    assert says(the_plan(text)) == {
        "base": {"params": w, "region_dispatch": True},
        "replaced": {"params": w, "region_dispatch": False},
        "spread": {"region_dispatch": True, "params": w, "inner_target": "self"},
        "partial": {"region_dispatch": False, "inner_target": "x"},
        "changed": {"params": {**w, "v": {"tp": "replicate"}}, "region_dispatch": False},
    }


@pytest.mark.parametrize(
    ("written", "path", "marked"),
    [
        ('Target("pkg.mod.f", capacity=2)', "pkg.mod.f", '"pkg.mod.f"'),
        ('Target(_target_="pkg.mod.f", capacity=2)', "pkg.mod.f", '"pkg.mod.f"'),
        ("Target(f, capacity=2)", "pkg.mod.f", "f"),
        ("Target(kernels.f, capacity=2)", "pkg.kernels.f", "kernels.f"),
        ('Target("pkg.mod.f", **{"capacity": 2})', "pkg.mod.f", '"pkg.mod.f"'),
    ],
)
def test_targets_are_read_in_all_their_spellings(written: str, path: str, marked: str) -> None:
    text = f"""
from pkg.mod import f
from pkg import kernels
plan = {{"a": ModuleShardingSpec(local_compute_fn={written}, region_dispatch=False)}}
"""
    plan = the_plan(text)
    target = plan.entries[0].local_compute_fn
    assert (target.path.value, plan.source.cut(target.path.span), plan.source.cut(target.span)) == (
        path,
        marked,
        written,
    )
    assert target.keywords["capacity"].value == 2
    assert plan.source.cut(target.keywords["capacity"].key_span).strip('"') == "capacity"
    assert plan.source.cut(target.keywords["capacity"].span) == "2"


@pytest.mark.parametrize(
    ("written", "path"),
    [("f", "pkg.mod.f"), ("g", "pkg.mod.h"), ("kernels.f", "pkg.kernels.f"), ("own", "plan.own"),
     ("near", "sibling.near"), ("pkg.kernels.f", "pkg.kernels.f"),
     ("Own.method", "plan.Own.method"), ("up", "proj.lib.up")],
)  # fmt: skip
@pytest.mark.parametrize("field", ["local_compute_fn", "inner_wrapper"])
def test_a_plain_function_is_a_target_under_its_dotted_path(field: str, written: str, path: str) -> None:
    text = f"""
import pkg.kernels
from pkg.mod import f, h as g
from pkg import kernels
from .sibling import near
from ..lib import up
@some_decorator
def own(module, mesh): ...
class Own:
    @staticmethod
    def method(): ...
plan = {{"a": ModuleShardingSpec({field}={written})}}
"""
    plan = the_plan(text, path="proj/plans/plan.py")
    target = getattr(plan.entries[0], field)
    assert (target.path.value, plan.source.cut(target.path.span)) == (
        path,
        {"own": "own", "Own.method": "method"}.get(written, written),
    )


@pytest.mark.parametrize("written", ["lambda m: m", "functools.partial(f, 1)", "make()", "unknown_name"])
def test_a_function_that_is_made_at_run_time_is_left_unread(written: str) -> None:
    text = f"""
import functools
from pkg import f
def make():
    def inner(): ...
    return inner
plan = {{"a": ModuleShardingSpec(local_compute_fn={written}, region_dispatch=False)}}
"""
    plan = the_plan(text)
    assert [f.rule for f in plan.faults] == ["not-evaluated"]
    assert plan.entries[0].broken == {"local_compute_fn"}


@pytest.mark.parametrize(
    "value", ['{"params": {}}', "None", '"auto"', "3", "[]", "Shard(0)", "helper", "ModuleShardingSpec"]
)
def test_a_value_that_is_no_spec_is_a_wrong_type(value: str) -> None:
    document = read(f"def helper(): ...\nplan = {{'a': ModuleShardingSpec(), 'b': {value}}}")
    (plan,) = document.plans
    ((rule, marked),) = cuts(document, plan.faults)
    assert rule == "wrong-type"
    assert marked == value
    assert plan.faults[0].data["allowed"] == "a ModuleShardingSpec(…)"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("tp_divide_attrs={'a', 'b'}", ("local-attribute", "{'a', 'b'}")),
        ("tp_divide_attrs=['a.b']", ("local-attribute", "'a.b'")),
        ("tp_divide_attrs='heads'", ("local-attribute", "'heads'")),
        ("parms={}", ("unknown-key", "parms")),
        ("params='automatic'", ("invalid-sentinel", "'automatic'")),
        ("local_compute_fn={'_target_': 'a.b'}", ("wrong-type", "{'_target_': 'a.b'}")),
        ("local_compute_fn='a.b'", ("wrong-type", "'a.b'")),
        ("local_compute_fn=Target()", ("unresolved-target", "Target()")),
        ("local_compute_fn=Target(3)", ("unresolved-target", "Target(3)"[7:8])),
        ("local_compute_fn=Target('a..b')", ("unresolved-target", "'a..b'")),
        ("inner_out_src='second_input'", ("invalid-inner-out-src", "'second_input'")),
        ("region_dispatch='false'", ("wrong-type", "'false'")),
    ],
)  # fmt: skip
def test_a_field_at_fault_is_marked_at_its_token(written: str, expected: tuple[str, str]) -> None:
    found = faults(f"plan = {{'a': ModuleShardingSpec({written})}}")
    assert [(rule, marked) for rule, marked in found if rule == expected[0]][:1] == [expected]


def test_a_key_twice_in_one_literal_is_a_fault_with_both_places() -> None:
    document = read(f"S = {SPEC}\nplan = {{'a': S, 'b': S, \"a\": S}}")
    (plan,) = document.plans
    assert cuts(document, plan.faults) == [("duplicate-key", '"a"')]
    ((_, first),) = plan.faults[0].related
    assert document.source.cut(first) == "'a'"
    assert matches(plan) == ["a", "b"]


def test_one_axis_under_two_spellings_is_one_key_twice() -> None:
    assert faults("plan = {'a': ModuleShardingSpec(params={'w': {TP: Shard(0), 'tp': Replicate()}})}") == [
        ("duplicate-key", "'tp'")
    ]


def test_a_later_assignment_replaces_an_entry_without_a_fault() -> None:
    plan = the_plan("plan = {'a': ModuleShardingSpec(region_dispatch=True), 'b': ModuleShardingSpec()}\n"
                    "plan['a'] = ModuleShardingSpec(region_dispatch=False)")  # fmt: skip
    assert says(plan) == {"a": {"region_dispatch": False}, "b": {}}
    assert plan.faults == ()


def test_a_dict_poured_into_another_counts_only_there() -> None:
    text = f"S = {SPEC}\nbase = {{'a': S}}\nmore = {{'b': S}}\nplan = {{**base, 'c': S}}\nplan.update(more)"
    assert [p.name for p in read(text).plans] == ["plan"]


def test_a_dict_that_a_planner_is_given_too_stays_a_plan() -> None:
    text = f"S = {SPEC}\nbase = {{'a': S}}\nplan = {{**base, 'c': S}}\nShardingPlanner(base)"
    assert [(p.name, matches(p)) for p in read(text).plans] == [("base", ["a"]), ("plan", ["a", "c"])]


def test_plans_are_named_by_what_holds_them() -> None:
    text = f"""
S = {SPEC}
first = {{"a": S}}
def second():
    return {{"b": S}}
def run(model):
    ShardingPlanner(plan_overrides={{"c": S}}, derive=False).plan(model, None)
class Third:
    third = {{"d": S}}
def fourth():
    other.attribute = {{"e": S}}
print({{"f": S}})
"""
    document = read(text)
    named = [(p.name, document.source.cut(p.anchor)) for p in document.plans]
    assert sorted(named, key=str) == sorted(
        [("first", "first"), ("second", "second"), ("plan_overrides", "plan_overrides"), ("third", "third"),
         ("attribute", "attribute"), (None, "")], key=str)  # fmt: skip


def test_a_planner_says_how_the_plan_is_run() -> None:
    text = f"""
SIZE = 4
plan = {{"a": {SPEC}}}
def build(model, mesh, args):
    planner = ShardingPlanner(plan_overrides=plan, derive=False, allow_uncovered_params=True)
    return planner.plan(model, mesh, tp_size=SIZE, cp_size=args.cp, sequence_parallel=False, loss_parallel=True)
"""
    plan = the_plan(text)
    assert (plan.derive, plan.allow_uncovered_params) == (False, True)
    assert not plan.accelerator.implied
    assert {axis: n.value for axis, n in plan.accelerator.sizes.items()} == {"tp": 4}
    assert plan.source.cut(plan.accelerator.sizes["tp"].span) == "4"
    assert plan.accelerator.sequence_parallel.value is False
    assert plan.accelerator.loss_parallel.value is True
    assert plan.faults == ()


def test_a_planner_used_on_the_spot_and_by_position_is_read() -> None:
    plan = the_plan(f"ShardingPlanner({{'a': {SPEC}}}, False, True).plan(m, mesh, 2, 4, ep_size=8)")
    assert (plan.derive, plan.allow_uncovered_params) == (False, True)
    assert {axis: n.value for axis, n in plan.accelerator.sizes.items()} == {"tp": 2, "cp": 4, "ep": 8}
    assert plan.accelerator.sequence_parallel is None


def test_one_dict_planned_for_two_sizes_gives_two_plans() -> None:
    text = (
        f"planner = ShardingPlanner({{'a': {SPEC}}})\nplanner.plan(m, mesh, tp_size=2)\n"
        f"planner.plan(m, mesh, tp_size=4)"
    )
    assert [p.accelerator.sizes["tp"].value for p in read(text).plans] == [2, 4]


def test_a_size_of_the_wrong_type_is_a_fault() -> None:
    assert faults(f"ShardingPlanner({{'a': {SPEC}}}).plan(m, mesh, tp_size='4')") == [("wrong-type", "'4'")]


def test_a_dict_given_as_plan_overrides_is_a_plan_whatever_it_holds() -> None:
    assert faults("Trainer(plan_overrides={'a': 3})") == [("wrong-type", "3")]
    assert the_plan("ShardingPlanner(plan_overrides={})").entries == ()


@pytest.mark.parametrize(
    "text",
    ["", "x = 1", "plan = {'a': 1}", "def f(plan_overrides=None): ...", "# ModuleShardingSpec", "ShardingPlanner()",
     "ShardingPlanner(plan_overrides=None)", "def f(plan):\n    return ShardingPlanner(plan_overrides=plan)",
     "spec = ModuleShardingSpec()", "specs = [ModuleShardingSpec()]"],
)  # fmt: skip
def test_a_file_without_a_plan_dict_gives_no_plans_and_no_faults(text: str) -> None:
    document = read(text)
    assert (document.plans, document.faults) == ((), ())


def test_a_plan_that_is_loaded_at_run_time_is_said_to_be_unread() -> None:
    document = read("ShardingPlanner(plan_overrides=load('x.yaml'))")
    assert document.plans == ()
    assert cuts(document, document.faults) == [("not-evaluated", "load('x.yaml')")]


def test_names_are_resolved_through_aliases_star_imports_and_old_roots() -> None:
    for line in (
        "from hyper_parallel.distributed import ModuleShardingSpec as Spec",
        "import hyper_parallel.distributed\nSpec = hyper_parallel.distributed.ModuleShardingSpec",
        "from hyper_models.components.distributed.sharding_config import ModuleShardingSpec as Spec",
        "from hyper_parallel.distributed import *\nSpec = ModuleShardingSpec",
        "try:\n    from new import ModuleShardingSpec as Spec\nexcept ImportError:\n"
        "    from old import ModuleShardingSpec as Spec",
    ):
        plan = the_plan(f"{line}\nplan = {{'a': Spec(region_dispatch=True)}}", imports="")
        assert says(plan) == {"a": {"region_dispatch": True}}


def test_a_shorthand_of_another_package_is_not_guessed() -> None:
    text = "from my.axes import TP\nplan = {'a': ModuleShardingSpec(params={'w': {TP: Shard(0)}})}"
    assert faults(text) == [("not-evaluated", "TP")]


def test_a_class_of_the_file_with_a_known_name_is_not_taken_for_it() -> None:
    text = "class Shard:\n    pass\nplan = {'a': ModuleShardingSpec(params={'w': {TP: Shard(0)}})}"
    assert faults(text) == [("not-evaluated", "Shard(0)")]


def test_directives_and_their_faults_are_read_from_comments() -> None:
    document = read("# hplint: model=hf:x mesh=dp=2,tp=4 colour=red\n", imports="")
    assert [(d.key, d.value) for d in document.directives] == [("model", "hf:x"), ("mesh", "dp=2,tp=4")]
    assert cuts(document, document.faults) == [("unknown-key", "colour")]


def test_a_value_shared_by_many_entries_is_at_fault_once() -> None:
    text = "L = {'w': {TP: 'shard(0)'}}\nplan = {f'model.layers.{i}': ModuleShardingSpec(params=L) for i in range(50)}"
    assert faults(text) == [("not-a-placement", "'shard(0)'")]


def test_the_imports_of_these_tests_hold_no_plan() -> None:
    assert read("", imports=IMPORTS).plans == ()
