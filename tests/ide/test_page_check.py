"""The runner of rule pages finds every way in which a page and its rule may differ."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hplint.cli.main import run

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The page of the example package, in a copy that may be changed."""
    shutil.copytree(FIXTURES / "third_party_rules" / "acme_rules", tmp_path / "acme_rules")
    shutil.copytree(FIXTURES / "trees", tmp_path / "trees", ignore=lambda _, names: set(names) - {"toy.json"})
    monkeypatch.chdir(tmp_path)
    path, modules = list(sys.path), set(sys.modules)
    yield Path("acme_rules/naming/acme101_single_layer.md")
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("acme_rules"):
            del sys.modules[name]


@pytest.fixture
def rules_test(page: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(["rules", "test", *(arguments or ("acme_rules",))])
        return code, *capsys.readouterr()

    return call


def change(page: Path, old: str, new: str) -> None:
    text = page.read_text(encoding="utf-8")
    assert old in text
    page.write_text(text.replace(old, new), encoding="utf-8")


def test_the_page_of_the_example_holds(rules_test: Run, page: Path) -> None:
    assert rules_test() == (0, "1 page of rules holds, 0 not.\n", "")
    assert rules_test(str(page))[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "line", "complaint"),
    [
        ("is about one layer", "is of one layer", 16, "the findings of this plan are others"),
        ("1:10: ACME101", "1:11: ACME101", 16, "the findings of this plan are others"),
        ("bad model=toy mesh=dp=2,tp=2\n- match: model.layers.0",
         "bad model=toy mesh=dp=2,tp=2\n- match: model.layers.*", 16, "ACME101 does not report this plan"),
        ("good model=toy mesh=dp=2,tp=2\n- match: model.layers.*",
         "good model=toy mesh=dp=2,tp=2\n- match: model.layers.1", 29, "a good plan has findings"),
        ("yaml bad", "yaml", 1, "a page needs a bad plan"),
        ("yaml good", "yaml", 1, "a page needs a good plan"),
        ("- match: model.layers.*.mlp\n  out_dst: auto\n```\n\n##",
         "- match: model.layers.?.mlp\n  out_dst: auto\n```\n\n##", 16, "--fix --unsafe-fixes makes something else"),
        ("fix: unsafe", "fix: safe", 1, "promises fix: safe, the fixed blocks show unsafe"),
        ("fix: unsafe", "fix: maybe", 1, "fix is one of safe, unsafe, none"),
        ("severity: warning", "severity: error", 1, "(warning), the page says single-layer (error)"),
        ("severity: warning\n", "", 1, "the front matter lacks severity"),
        ("code: ACME101", "code: ACME102", 1, "there is no rule ACME102"),
        ("# single-layer (ACME101)", "# single layer", 1, "the title `# single-layer (ACME101)` is missing"),
        ("## Why is this bad", "## Why", 1, "the section `## Why is this bad` is missing"),
        ("bad model=toy mesh", "bad model=tooy mesh", 16, "trees/tooy.json`; did you mean `toy`?"),
        ("bad model=toy mesh", "bad modle=toy mesh", 16, "unknown attribute `modle`"),
        ("bad model=toy mesh=dp=2", "bad model=toy mesh=dq=2", 16, "there is no axis `dq`"),
        ("yaml bad", "toml bad", 16, "`toml` is no language of plans"),
    ],
)  # fmt: skip
def test_a_page_that_does_not_hold_is_told(
    rules_test: Run, page: Path, old: str, new: str, line: int, complaint: str
) -> None:
    change(page, old, new)
    code, out, err = rules_test()
    assert (code, err) == (1, "")
    assert any(o.startswith(f"{page.as_posix()}:{line}: ") and complaint in o for o in out.splitlines()), out


def test_update_writes_what_is_missing_and_nothing_else(rules_test: Run, page: Path) -> None:
    whole = page.read_text(encoding="utf-8")
    start, end = whole.index("```findings"), whole.index("## Use instead")
    page.write_text(whole[:start] + "\n" + whole[end:], encoding="utf-8")
    code, out, _ = rules_test("acme_rules", "--update")
    assert code == 0 and out.splitlines()[0] == f"{page.as_posix()} is rewritten"
    assert page.read_text(encoding="utf-8") == whole
    assert rules_test("acme_rules", "--update") == (0, "1 page of rules holds, 0 not.\n", "")


def test_a_rule_without_a_page_is_told(rules_test: Run, page: Path) -> None:
    rule = page.with_suffix(".py").read_text(encoding="utf-8")
    other = rule.replace("ACME101", "ACME102").replace("single-layer", "other")
    page.with_name("acme102_other.py").write_text(other, encoding="utf-8")
    code, out, _ = rules_test()
    assert code == 1 and "acme_rules/naming/acme102_other.py: the rule has no page" in out


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (("acme_rule",), "no such file or folder: `acme_rule`", "`acme_rules`"),
        (("trees",), "`trees` holds no pages of rules", ""),
        (("acme_rules/__init__.py",), "holds no pages of rules", ""),
        (("acme_rules", "--trees", "tree"), "no such folder: `tree`", ""),
        (("acme_rules", "--src", "kernels"), "no such folder: `kernels`", ""),
    ],
)
def test_a_wrong_request_exits_with_2(rules_test: Run, arguments: tuple[str, ...], error: str, hint: str) -> None:
    code, out, err = rules_test(*arguments)
    assert (code, out) == (2, "") and error in err and hint in err


def test_pages_outside_a_package_are_a_wrong_request(rules_test: Run, page: Path) -> None:
    (page.parent / "__init__.py").unlink()
    Path("acme_rules/__init__.py").unlink()
    code, _, err = rules_test(str(page))
    assert code == 2 and "is no part of a Python package" in err
