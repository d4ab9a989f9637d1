"""What callables declare, carry and return, read from source."""

from pathlib import Path

import pytest
from checking import FIXTURES

from hplint.targets.find import TargetFinder
from hplint.targets.reading import Reading

IMPORTS = """\
from __future__ import annotations
import functools, torch
from functools import partial
from typing import Any, Literal, Optional, Union, Annotated
import typing as t
from hyper_parallel.distributed import local_compute, inner_wrapper
from hyper_parallel.distributed.recipe_spec import module_replacement as replaces
import hyper_parallel.distributed as hp
"""


def read(folder: Path, text: str, name: str = "f") -> Reading:
    (folder / "m.py").write_text(IMPORTS + text, encoding="utf-8")
    return TargetFinder([folder], environment=False).read(f"m.{name}")


def spelled(reading: Reading) -> list[str]:
    assert len(reading.signatures) == 1
    return [f"{p.kind} {p.name}{'' if p.required else '?'}" for p in reading.signatures[0].parameters]


def test_parameters_have_kinds_and_tell_whether_they_are_required(tmp_path: Path) -> None:
    assert spelled(read(tmp_path, "def f(a, /, b, c=1, *d, e, g=2, **h): ...")) == [
        "positional_only a", "positional b", "positional c?", "var_positional d?", "keyword e", "keyword g?",
        "var_keyword h?",
    ]  # fmt: skip


def test_a_class_is_called_by_its_init(tmp_path: Path) -> None:
    assert spelled(read(tmp_path, "class A:\n    def __init__(self, x, y=1): ...\nclass f(A): ...")) == [
        "positional x", "positional y?",
    ]  # fmt: skip
    assert spelled(read(tmp_path, "class f: ...")) == []


@pytest.mark.parametrize(
    "text",
    [
        "class f(torch.nn.Module): ...",
        "class f(metaclass=M): ...",
        "@dataclass\nclass f:\n    x: int",
        "@unheard_of\ndef f(x): ...",
        "f = make(1, 2)",
        "f = partial(g, *a)\ndef g(): ...",
    ],
)
def test_what_cannot_be_told_has_no_signature(tmp_path: Path, text: str) -> None:
    reading = read(tmp_path, text)
    assert reading.signatures == ()
    assert reading.marks is None


def test_static_and_class_methods_lose_what_the_call_does_not_pass(tmp_path: Path) -> None:
    text = "class A:\n    @staticmethod\n    def f(x): ...\n    @classmethod\n    def g(cls, x): ...\n"
    text += "    def h(self, x): ...\n"
    assert [spelled(read(tmp_path, text, f"A.{n}")) for n in "fgh"] == [
        ["positional x"], ["positional x"], ["positional self", "positional x"],
    ]  # fmt: skip


def test_a_partial_takes_what_it_binds_away(tmp_path: Path) -> None:
    text = "def g(a, b, c, d): ...\nf = partial(g, 1, c=2)"
    assert spelled(read(tmp_path, text)) == ["positional b", "keyword c?", "keyword d"]


@pytest.mark.parametrize(
    ("decorators", "marks"),
    [
        ("@local_compute", {"local_compute"}),
        ("@hp.inner_wrapper", {"inner_wrapper"}),
        ("@replaces", {"module_replacement"}),
        ("@torch.no_grad()\n@local_compute", {"local_compute"}),
        ("@functools.lru_cache", set()),
        ("", set()),
    ],
)
def test_decorators_are_resolved_to_what_they_mean(tmp_path: Path, decorators: str, marks: set[str]) -> None:
    assert read(tmp_path, f"{decorators}\ndef f(): ...").marks == marks


def test_a_decorator_behind_an_own_re_export_counts(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("from hyper_parallel.distributed import local_compute as computes\n")
    assert read(tmp_path, "from own import computes\n@computes\ndef f(): ...").marks == {"local_compute"}


def test_a_decorator_from_a_star_import_counts_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("from hyper_parallel.distributed import *\n@local_compute\ndef f(): ...\n")
    assert TargetFinder([tmp_path], environment=False).read("m.f").marks == {"local_compute"}


def test_an_own_function_of_that_name_is_not_taken_for_the_decorator(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("def local_compute(f): return f\n@local_compute\ndef f(): ...\n")
    assert TargetFinder([tmp_path], environment=False).read("m.f").marks is None


def test_a_decorating_call_counts_as_a_decorator(tmp_path: Path) -> None:
    assert read(tmp_path, "def g(mesh): ...\nf = local_compute(g)").marks == {"local_compute"}


RETURNS = [
    ("def c(module, x): ...\n    return c", ["module, x"]),
    ("return lambda module, x: x", ["module, x"]),
    ("return outer", ["module, y"]),
    ("return partial(outer, y=1)", ["module, y"]),
    ("c = outer\n    return c", ["module, y"]),
    ("if mesh:\n        def c(a): ...\n    else:\n        def c(a, z): ...\n    return c", ["a", "a, z"]),
    ("if mesh:\n        return outer\n    return lambda m: m", ["module, y", "m"]),
    ("return outer if mesh else None", ["module, y", "=None"]),
    ("return make(mesh)", ["?"]),
    ("return mesh", ["?"]),
    ("return None", ["=None"]),
    ("pass", ["=None"]),
    ("raise NotImplementedError", []),
    ("yield 1", []),
    ("@unheard_of\n    def c(module): ...\n    return c", ["?"]),
    ("def c():\n        return 1\n    return outer", ["module, y"]),
]


@pytest.mark.parametrize(("body", "expected"), RETURNS)
def test_what_a_factory_returns_is_told_for_each_way_out(tmp_path: Path, body: str, expected: list[str]) -> None:
    reading = read(tmp_path, f"def outer(module, y): ...\ndef f(mesh):\n    {body}\n")
    told = [
        ", ".join(p.name for p in r.signature.parameters) if r.signature else f"={r.value}" if r.value else "?"
        for r in reading.returned
    ]
    assert told == expected


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("module(x)", 3),
        ("module.forward(x)", 3),
        ("module.__call__(x)", 3),
        ("module.mlp(x)", None),
        ("module.mlp.forward(x)", None),
        ("type(module).forward(module, x)", None),
        ("(lambda module: module(x))(x)", None),
    ],
)
def test_a_compute_function_that_calls_its_module_is_told(tmp_path: Path, body: str, line: int | None) -> None:
    reading = read(tmp_path, f"def f(mesh):\n    def c(module, x):\n        return {body}\n    return c\n")
    found = reading.calls_itself()
    assert (found and found[1] - IMPORTS.count("\n")) == line


FITS = [
    ("int", 1, True),
    ("int", True, False),
    ("int", "1", False),
    ("int", 1.0, False),
    ("float", 1, True),
    ("float", True, False),
    ("bool", 1, False),
    ("bool", False, True),
    ("str", 1, False),
    ("int | None", None, True),
    ("int | None", "x", False),
    ("Optional[int]", None, True),
    ("t.Optional[int]", "x", False),
    ("Union[int, str]", "x", True),
    ("Union[int, str]", 1.5, False),
    ("'int'", "x", False),
    ("Literal['a', 2]", "a", True),
    ("Literal['a', 2]", "b", False),
    ("Literal[1]", True, False),
    ("tuple[int, str]", [1, "a"], True),
    ("tuple[int, str]", [1], False),
    ("tuple[int, ...]", [1, 2, 3], True),
    ("list[int]", [1, "a"], False),
    ("list[int]", (1,), False),
    ("dict[str, int]", {"a": 1}, True),
    ("dict[str, int]", {"a": "b"}, False),
    ("list", {}, False),
    ("Any", 1, None),
    ("Annotated[int, 'x']", "a", False),
    ("Thing", 1, None),
    ("Width", "x", False),
    ("list[Thing]", "x", False),
    ("Optional[Thing]", 3, None),
    ("torch.dtype", "bfloat16", None),
    ("int if x else str", 1, None),
    ("'not ( valid'", 1, None),
    ("int", None, False),
]


@pytest.mark.parametrize(("annotation", "value", "fits"), FITS)
def test_values_are_compared_with_annotations_as_strictly_as_the_runtime_does(
    tmp_path: Path, annotation: str, value: object, fits: bool | None
) -> None:
    reading = read(tmp_path, f"class Thing: ...\nWidth = int\ndef f(x: {annotation}): ...\n")
    signature = reading.signatures[0]
    assert reading.fits(signature, signature.parameters[0], value) is fits


def test_null_for_a_parameter_whose_default_is_none_is_left_alone(tmp_path: Path) -> None:
    reading = read(tmp_path, "def f(x: int = None): ...\n")
    assert reading.fits(reading.signatures[0], reading.signatures[0].parameters[0], None) is None


EFFECTS = [
    ("import torch.distributed as dist\ndef f(x): dist.all_reduce(x)", "yes", "communication"),
    ("from torch.distributed import all_gather as g\ndef f(x): g(x)", "yes", "communication"),
    ("import torch\ndef f(x): torch.ops._c10d_functional.all_reduce(x)", "yes", "communication"),
    ("def f(x):\n    import torch.distributed.nn as c\n    c.all_reduce(x)", "yes", "communication"),
    ("import torch\ndef f(x): return torch.distributed.get_rank()", "no", ""),
    ("import torch\ndef f(x): torch.ops.my_ops.fused(x)", "yes", "kernel"),
    ("import torch\ndef f(x): torch.ops.aten.add(x, x)", "no", ""),
    ("import triton\n@triton.jit\ndef k(x): ...\ndef f(x): k[(1,)](x)", "yes", "kernel"),
    ("import torch.distributed as d\ndef g(x): d.barrier()\ndef h(x): g(x)\ndef f(x): h(x)", "yes", "communication"),
    ("import ext\ndef f(x): return ext.fused(x)", "unknown", ""),
    ("import torch\ndef f(module, x): return torch.relu(module.up(x)).sum() + len(x)", "no", ""),
    ("def f(mesh):\n    def c(module, x): return module(x)\n    return c", "no", ""),
    ("import torch.distributed as dist\ndef f(x):\n    op = dist.all_reduce\n    op(x)", "unknown", ""),
    ("import functools, torch\ndef f(x): functools.partial(torch.ops.my_ops.fused, x)()", "unknown", ""),
    ("import torch.distributed as dist\ndef f(x: dist.Work): return x + 1", "no", ""),
    ("import torch.distributed as dist\ndef f(x): return dist.ReduceOp.SUM", "no", ""),
]


@pytest.mark.parametrize(("text", "answer", "kind"), EFFECTS)
def test_effects_are_told_with_their_kind(tmp_path: Path, text: str, answer: str, kind: str) -> None:
    (tmp_path / "m.py").write_text(text + "\n", encoding="utf-8")
    effect = TargetFinder([tmp_path], environment=False).read("m.f").effect
    assert (effect.answer, effect.kind) == (answer, kind)


def test_an_effect_names_the_call_and_its_place() -> None:
    effect = TargetFinder([FIXTURES / "targets"], environment=False).read("fused_kernels.shared_mlp").effect
    assert (effect.what, effect.place) == ("torch.distributed.all_reduce", "mlp.py:31")
