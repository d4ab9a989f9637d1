"""Keys of PyTorch plans find the modules that torch itself finds."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from checking import FIXTURES
from hypothesis import given, settings
from hypothesis import strategies as st

from hplint.front.read import read_document
from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan
from hplint.resolve.styles.resolved import ResolvedStyles, resolve_styles
from hplint.resolve.topology import Topology
from hplint.resolve.torch.match import descend, segments

torch = pytest.importorskip("torch")
HEAD = "from torch.distributed.tensor.parallel import *\n"


def tree(name: str) -> ModuleTree:
    import json

    return ModuleTree.from_json(json.loads((FIXTURES / "trees" / f"{name}.json").read_bytes()))


def resolved(text: str, name: str = "llama") -> tuple[Plan, ResolvedStyles]:
    (plan,) = read_document("plan.py", (HEAD + text).encode()).plans
    return plan, resolve_styles(plan, tree(name), Topology(tp=2))


@pytest.fixture(scope="module")
def fake_group() -> Iterator[object]:
    """A group of two ranks of which only this one is there."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if dist.is_initialized():
        pytest.skip("another test holds a process group")
    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    yield init_device_mesh("cpu", (2,))
    dist.destroy_process_group()


def built_from(modules: ModuleTree) -> "torch.nn.Module":
    """A model with the same names."""
    root = torch.nn.Module()
    made = {"": root}
    for fqn in modules.modules:
        if fqn:
            parent, _, name = fqn.rpartition(".")
            made[fqn] = torch.nn.Module()
            made[parent].add_module(name, made[fqn])
    return root


MODULES = tree("llama")
WORDS = st.sampled_from(
    [
        "model",
        "layers",
        "0",
        "1",
        "*",
        "self_attn",
        "mlp",
        "q_proj",
        "*_proj",
        "[kv]_proj",
        "?",
        "norm",
        "lm_head",
        "x",
        "",
    ]
)
REAL = st.tuples(st.sampled_from(list(MODULES.modules)), st.sets(st.integers(0, 4), max_size=2)).map(
    lambda drawn: ".".join("*" if i in drawn[1] else part for i, part in enumerate(drawn[0].split(".")))
)
KEYS = st.one_of(st.lists(WORDS, max_size=5).map(".".join), REAL)


@given(st.lists(KEYS, min_size=1, max_size=4, unique=True))
@settings(max_examples=60, deadline=None)
def test_keys_hit_what_torch_hits(fake_group: object, keys: list[str]) -> None:
    from torch.distributed.tensor.parallel import ParallelStyle, parallelize_module

    model = built_from(MODULES)
    names = {id(m): n for n, m in model.named_modules()}

    class Noting(ParallelStyle):
        def __init__(self) -> None:
            super().__init__()
            self.hit: set[str] = set()

        def _apply(self, module, device_mesh):  # type: ignore[no-untyped-def]
            self.hit.add(names[id(module)])
            return module

    plan = {key: Noting() for key in keys}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parallelize_module(model, fake_group, plan)  # type: ignore[arg-type]
    assert {k: s.hit for k, s in plan.items()} == {k: set(descend(MODULES, ("",), segments(k))) for k in keys}


def test_a_star_never_crosses_a_dot() -> None:
    _, found = resolved(
        "def f(model, mesh):\n parallelize_module(model, mesh, {'model.*.self_attn': ColwiseParallel()})"
    )
    assert [e.index for e in found.unmatched] == [0]


def test_a_plan_for_a_block_belongs_to_all_blocks_that_it_fits() -> None:
    _, found = resolved("def f(block, mesh):\n parallelize_module(block, mesh, {'mlp.up_proj': ColwiseParallel()})")
    assert found.hits[0] == ("model.layers.0.mlp.up_proj", "model.layers.1.mlp.up_proj")
    assert found.guessed == {0}


def test_what_stands_before_the_model_is_no_part_of_the_path() -> None:
    text = (
        "class T:\n def f(self):\n  block = self.model.model.layers[0]\n"
        "  parallelize_module(block, self.mesh, {'mlp.up_proj': ColwiseParallel()})"
    )
    _, found = resolved(text)
    assert found.hits[0] == ("model.layers.0.mlp.up_proj",)


def test_the_inner_model_may_be_what_a_function_is_given() -> None:
    _, found = resolved(
        "def f(m, mesh):\n for b in m.layers:\n  parallelize_module(b, mesh, {'mlp.up_proj': ColwiseParallel()})"
    )
    assert found.hits[0] == ("model.layers.0.mlp.up_proj", "model.layers.1.mlp.up_proj")


def test_the_last_of_several_keys_wins() -> None:
    plan, found = resolved(
        "def f(model, mesh):\n"
        " parallelize_module(model, mesh, {'lm_head': ColwiseParallel(), 'lm_*': RowwiseParallel()})"
    )
    assert found.winners["lm_head"] is plan.styles[1]
    assert len(found.by_module["lm_head"]) == 2


def test_modules_come_in_the_order_of_the_model() -> None:
    _, found = resolved("p = {'lm_head': ColwiseParallel(), 'model.norm': SequenceParallel()}")
    assert list(found.by_module) == ["model.norm", "lm_head"]


def test_fixtures_hit_modules_with_every_key_that_is_not_conditional() -> None:
    for path in sorted((FIXTURES / "plans" / "torch").glob("*.py")):
        document = read_document(Path(path).as_posix(), path.read_bytes())
        name = Path(next(d.value for d in document.directives if d.key == "model")).stem
        for plan in document.plans:
            found = resolve_styles(plan, tree(name), Topology(tp=2))
            assert [e.key for e in found.unmatched if not e.conditional] == []


def test_keys_count_from_every_module_that_a_loop_over_all_of_them_may_mean() -> None:
    _, found = resolved(
        "def f(model, mesh):\n for n, m in model.named_modules():\n  if isinstance(m, LlamaMLP):\n"
        "   parallelize_module(m, mesh, {'up_proj': ColwiseParallel()})"
    )
    assert found.hits[0] == ("model.layers.0.mlp.up_proj", "model.layers.1.mlp.up_proj")


def test_a_style_for_some_modules_of_a_loop_is_not_taken_for_one_of_all_of_them() -> None:
    _, found = resolved(
        "def f(model, mesh):\n for n, m in model.named_children():\n  if n == 'lm_head':\n"
        "   parallelize_module(m, mesh, ColwiseParallel())"
    )
    assert found.hits[0] == ()
