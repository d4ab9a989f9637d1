"""Dotted paths to definitions, across packages of every shape, nothing imported."""

import sys
from pathlib import Path

import pytest
from checking import FIXTURES
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hplint.targets.find import Found, Missing, TargetFinder
from hplint.text.source import Source

ROOTS = (FIXTURES / "conformance", FIXTURES / "targets")


def finder(*roots: Path) -> TargetFinder:
    return TargetFinder(roots or ROOTS, environment=False)


def write(folder: Path, files: dict[str, str]) -> TargetFinder:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return finder(folder)


def places(found: Found | Missing) -> list[tuple[str, str]]:
    assert isinstance(found, Found), found
    return [(d.kind, d.dotted) for d in found.definitions]


def missing(found: Found | Missing) -> Missing:
    assert isinstance(found, Missing), found
    return found


@pytest.mark.parametrize(
    ("dotted", "kind", "where"),
    [
        ("fused_kernels.mlp.gated_mlp", "function", "fused_kernels.mlp.gated_mlp"),
        ("fused_kernels.fast_mlp", "function", "fused_kernels.mlp.gated_mlp"),
        ("fused_kernels.default_mlp", "function", "fused_kernels.mlp.gated_mlp"),
        ("fused_kernels.ring_attention", "function", "fused_kernels.attention.ring_attention"),
        ("fused_kernels.norms.fused_norm", "function", "fused_kernels.norm.fused_norm"),
        ("toy_kernels.fast_mlp", "function", "toy_kernels.fast_mlp"),
        ("fused_kernels.WIDTHS", "value", "fused_kernels.WIDTHS"),
    ],
)
def test_re_exports_aliases_and_star_imports_lead_to_the_definition(dotted: str, kind: str, where: str) -> None:
    assert places(finder().find(dotted)) == [(kind, where)]


def test_nothing_is_imported() -> None:
    before = set(sys.modules)
    finder().find("fused_kernels.fast_mlp")
    assert not {m for m in set(sys.modules) - before if m.startswith(("fused_kernels", "missing_backend", "hyper_"))}


def test_a_missing_name_tells_the_part_its_parent_and_near_names() -> None:
    found = missing(finder().find("fused_kernels.mlp.gated_mpl"))
    assert (found.part, found.parent, found.certain, found.near) == (
        "gated_mpl", "fused_kernels.mlp", True, ("gated_mlp",),
    )  # fmt: skip


def test_a_missing_package_is_not_found_but_near_ones_are_named() -> None:
    found = missing(finder().find("fused_kernel.mlp.gated_mlp"))
    assert (found.part, found.package_found, found.near) == ("fused_kernel", False, ("fused_kernels",))


def test_a_star_import_hides_names_that_all_leaves_out(tmp_path: Path) -> None:
    f = write(tmp_path, {"a.py": "from b import *", "b.py": "__all__ = ['f']\ndef f(): ...\ndef g(): ..."})
    assert places(f.find("a.f")) == [("function", "b.f")]
    assert missing(f.find("a.g")).certain


def test_all_may_grow_in_steps(tmp_path: Path) -> None:
    text = "__all__ = ['f']\n__all__ += ['g']\n__all__.append('h')\n__all__.extend(['i'])\n"
    text += "def f(): ...\ng = h = i = k = f"
    f = write(tmp_path, {"a.py": "from b import *", "b.py": text})
    assert [places(f.find(f"a.{n}"))[0][1] for n in "fghi"] == ["b.f"] * 4
    assert missing(f.find("a.k")).certain


def test_the_later_of_a_star_import_and_a_definition_counts(tmp_path: Path) -> None:
    f = write(
        tmp_path,
        {
            "b.py": "def f(): ...",
            "after.py": "def f(): ...\nfrom b import *",
            "before.py": "from b import *\ndef f(): ...",
        },
    )
    assert places(f.find("after.f")) == [("function", "b.f")]
    assert places(f.find("before.f")) == [("function", "before.f")]


def test_a_later_star_import_that_cannot_be_read_may_replace_a_definition(tmp_path: Path) -> None:
    found = write(tmp_path, {"a.py": "def f(): ...\nfrom gone import *"}).find("a.f")
    assert isinstance(found, Found)
    assert found.callable is None


def test_a_star_import_from_nowhere_leaves_open_what_is_there(tmp_path: Path) -> None:
    found = write(tmp_path, {"a.py": "from not_here import *"}).find("a.f")
    assert isinstance(found, Found)
    assert found.callable is None


def test_both_branches_of_a_condition_are_considered(tmp_path: Path) -> None:
    text = "import sys\nif sys.platform == 'x':\n    def f(a): ...\nelse:\n    def f(b): ...\n"
    found = write(tmp_path, {"a.py": text}).find("a.f")
    assert isinstance(found, Found)
    assert [d.line for d in found.definitions] == [3, 5]


def test_a_fallback_after_a_failed_import_is_not_taken_for_the_whole_truth(tmp_path: Path) -> None:
    found = write(tmp_path, {"a.py": "try:\n    from fast import f\nexcept ImportError:\n    f = None\n"}).find("a.f")
    assert isinstance(found, Found)
    assert found.callable is None


def test_imports_for_type_checkers_alone_do_not_count(tmp_path: Path) -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from b import f\n"
    f = write(tmp_path, {"a.py": text, "b.py": "def f(): ..."})
    assert missing(f.find("a.f")).certain


def test_classes_methods_and_inherited_methods_are_found(tmp_path: Path) -> None:
    text = "class A:\n    @staticmethod\n    def f(x): ...\nclass B(A):\n    class C:\n        def g(self): ...\n"
    f = write(tmp_path, {"a.py": text})
    assert places(f.find("a.B.f")) == [("function", "a.A.f")]
    assert places(f.find("a.B.C.g")) == [("function", "a.B.C.g")]
    assert missing(f.find("a.B.nope")).certain
    assert places(f.find("a.B")) == [("class", "a.B")]


def test_a_class_with_a_base_that_cannot_be_read_may_have_anything(tmp_path: Path) -> None:
    found = write(tmp_path, {"a.py": "from gone import Base\nclass A(Base): ..."}).find("a.A.f")
    assert isinstance(found, Found)
    assert found.unreadable


def test_partials_and_decorating_calls_lead_to_the_function(tmp_path: Path) -> None:
    text = "from functools import partial\ndef f(a, b): ...\ng = partial(f, b=1)\nh = decorate(f)\nk = make()\n"
    f = write(tmp_path, {"a.py": text})
    assert [places(f.find(f"a.{n}"))[0][0] for n in "ghk"] == ["partial", "function", "opaque"]


def test_import_cycles_end(tmp_path: Path) -> None:
    f = write(tmp_path, {"a.py": "from b import f, g\n", "b.py": "from a import f\ndef g(): ...\n"})
    found = f.find("a.f")
    assert isinstance(found, Found)
    assert "circle" in found.unreadable
    assert places(f.find("a.g")) == [("function", "b.g")]


def test_relative_imports_count_from_the_package(tmp_path: Path) -> None:
    f = write(
        tmp_path,
        {
            "p/__init__.py": "from .q.r import f\nfrom . import q\n",
            "p/q/__init__.py": "",
            "p/q/r.py": "from ..base import f\nfrom ...beyond import x\n",
            "p/base.py": "def f(): ...",
        },
    )
    assert places(f.find("p.f")) == [("function", "p.base.f")]
    assert places(f.find("p.q.r.f")) == [("function", "p.base.f")]
    assert places(f.find("p.q.r.x"))[0][0] == "opaque"


def test_a_namespace_package_leads_to_its_modules_but_proves_no_absence(tmp_path: Path) -> None:
    f = write(tmp_path, {"one/ns/a.py": "def f(): ...", "two/ns/b.py": "def g(): ..."})
    f = finder(tmp_path / "one", tmp_path / "two")
    assert places(f.find("ns.a.f")) == [("function", "ns.a.f")]
    assert places(f.find("ns.b.g")) == [("function", "ns.b.g")]
    assert not missing(f.find("ns.c")).certain


def test_a_regular_package_in_a_later_root_beats_a_bare_folder(tmp_path: Path) -> None:
    write(tmp_path, {"one/p/data.txt": "", "two/p/__init__.py": "def f(): ..."})
    assert places(finder(tmp_path / "one", tmp_path / "two").find("p.f")) == [("function", "p.f")]


def test_the_first_root_with_the_module_counts(tmp_path: Path) -> None:
    write(tmp_path, {"one/m.py": "def f(): ...", "two/m.py": "def g(): ..."})
    assert missing(finder(tmp_path / "one", tmp_path / "two").find("m.g")).certain


def test_compiled_and_built_in_modules_are_found_but_unreadable(tmp_path: Path) -> None:
    from importlib.machinery import EXTENSION_SUFFIXES

    write(tmp_path, {f"ext{EXTENSION_SUFFIXES[0]}": ""})
    found = TargetFinder([tmp_path]).find("ext.kernel")
    assert isinstance(found, Found)
    assert found.unreadable == "it is a compiled module"
    built_in = TargetFinder().find("sys.exit")
    assert isinstance(built_in, Found)
    assert built_in.unreadable


def test_a_syntax_error_is_told_with_its_line(tmp_path: Path) -> None:
    found = write(tmp_path, {"a.py": "x = 1\ndef f(:\n"}).find("a.f")
    assert isinstance(found, Found)
    assert "syntax error in line 2" in found.unreadable


def test_names_that_are_made_on_demand_prove_nothing(tmp_path: Path) -> None:
    f = write(
        tmp_path,
        {
            "lazy.py": "def __getattr__(name): ...",
            "table.py": "globals()['f'] = 1",
            "setter.py": "def set():\n    global f\n    f = 1\n",
            "p/__init__.py": "import sys\nsys.modules[__name__] = object()\n",
            "p/q.py": "def f(): ...",
        },
    )
    for dotted in ("lazy.f", "table.f", "setter.f"):
        found = f.find(dotted)
        assert isinstance(found, Found) and found.callable is None
    assert places(f.find("p.q.f")) == [("function", "p.q.f")]


def test_installed_packages_are_found_beside_hplint() -> None:
    found = TargetFinder().find("torch.nn.LayerNorm")
    assert places(found) == [("class", "torch.nn.modules.normalization.LayerNorm")]


@pytest.mark.parametrize("dotted", ["", ".", "a..b", ".a", "a.", "a/b.c", "a\\b", "a\0b.c", "ä.ö", "-.-", "../x"])
def test_paths_that_are_no_dotted_names_are_missing(dotted: str) -> None:
    assert missing(finder().find(dotted)).certain is False


def test_an_editable_install_is_followed_through_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, site = tmp_path / "src", tmp_path / "site-packages"
    write(tmp_path, {"src/kernels/__init__.py": "def f(): ..."})
    site.mkdir()
    table = f"MAPPING: dict[str, str] = {{'kernels': {str(source / 'kernels')!r}}}\n"
    (site / "__editable___kernels_0_1_finder.py").write_text(table, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(site)])
    assert places(TargetFinder().find("kernels.f")) == [("function", "kernels.f")]


def test_a_name_of_the_plans_own_file_comes_from_its_text() -> None:
    source = Source("plans/plan.py", "from functools import partial\ndef f(a): ...\ng = f\n")
    assert places(finder().find_in(source, "g")) == [("function", "plan.f")]
    assert isinstance(finder().find_in(source, "nope"), Missing)


def test_branches_that_multiply_are_followed_once_each(tmp_path: Path) -> None:
    doubled = "\n".join(f"f{i} = f{i + 1} if x else g{i + 1}\ng{i} = g{i + 1} if x else f{i + 1}" for i in range(30))
    f = write(
        tmp_path,
        {
            "a.py": "try:\n    from b import f\nexcept ImportError:\n    from c import f\n",
            "b.py": "try:\n    from c import f\nexcept ImportError:\n    from a import f\n",
            "c.py": "try:\n    from a import f\nexcept ImportError:\n    from b import f\n",
            "d.py": f"{doubled}\ndef f30(): ...\ndef g30(): ...\n",
        },
    )
    assert isinstance(f.find("a.f"), Found)
    assert isinstance(f.find("d.f0"), Found)
    assert {p[1] for p in places(f.find("d.f22"))} == {"d.f30", "d.g30"}


def test_a_name_that_only_an_inner_branch_changes_keeps_its_old_meaning_beside_it(tmp_path: Path) -> None:
    text = "def f(): ...\nif a:\n    if b:\n        def f(): ...\nelse:\n    def f(): ...\n"
    found = write(tmp_path, {"a.py": text}).find("a.f")
    assert isinstance(found, Found)
    assert sorted(d.line for d in found.definitions) == [1, 4, 6]


def test_hundreds_of_elif_branches_are_read(tmp_path: Path) -> None:
    chain = "if x == 0: pass\n" + "".join(f"elif x == {i}:\n    def f(): ...\n" for i in range(400))
    found = write(tmp_path, {"a.py": f"x = 1\n{chain}"}).find("a.f")
    assert isinstance(found, Found)


CODE = st.lists(
    st.sampled_from(
        """def f(): pass|def f(a, *, b=1): return g|class f: pass|class f(f): x = f|f = g|g = f|f = f.g|from t import *
from . import f|from .t import f|import t as f|import t.f|f, g = g, f|*f, g = 1, 2|del f|f += 1|try: f = 1|except: f = g
if f: f = 1|elif g: g = 2|else: f = lambda: g|__all__ = ['f']|__all__ += g|f = partial(f, 1)
from functools import partial
f = f(g)|@f|with f as f: pass|for f in g: pass|while f: f = 1|match f:|    case f: f = 2|    return f|f: int = 1
global f|@property|    def f(self): pass|f = {**f}|def __getattr__(n): pass|    yield f|async def f(): pass""".replace(
            "\n", "|"
        ).split("|")
    ),
    max_size=12,
).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(text=st.one_of(CODE, st.text(max_size=60)))
@example(text="\0")
@example(text="# coding: nonsense\n")
@example(text="(" * 300)
@example(text="f = " + "-" * 3000 + "1")
@example(text="f = a" + ".b" * 3000)
def test_no_target_file_makes_reading_fail(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("t")
    (folder / "t.py").write_bytes(text.encode("utf-8", "surrogatepass"))
    reader = finder(folder)
    for dotted in ("t.f", "t.f.g", "t.g"):
        reading = reader.read(dotted)
        assert isinstance(reading.found, Found | Missing)
        assert reading.effect.answer in ("yes", "no", "unknown")
        _ = reading.signatures, reading.marks, reading.returned, reading.calls_itself(), reading.classes
