"""config show: every option, its value, and who says it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hplint.cli.main import run
from hplint.config.options import OPTIONS
from hplint.report.config_show import options_table

ROOT = Path(__file__).parent.parent.parent
CONFIG = """\
[tool.hplint]
src = ["kernels"]
ignore = ["HPL204"]
sequence-parallel = true

[tool.hplint.families.mine]
colwise = ["x"]

[[tool.hplint.plans]]
files = "plans/*.yaml"
model = "hf:first"
mesh = ["dp=2,tp=4", "tp=8"]

[[tool.hplint.plans]]
files = ["plans/b*.yaml", "other.py"]
model = "hf:second"
"""
PLAN = '# hplint: mesh=tp=2 mesh=tp=4\n# hplint: ep=2\n# hplint: ep=4\n- match: "*.mlp"\n  out_dst: auto\n'
Show = Callable[..., Any]


@pytest.fixture
def show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Show:
    (tmp_path / "plans").mkdir()
    (tmp_path / "kernels").mkdir()
    (tmp_path / "plans" / "big.yaml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(CONFIG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Any:
        code = run(["config", "show", *arguments])
        out, err = capsys.readouterr()
        if "json" not in arguments or code:
            return code, out, err
        return json.loads(out)

    return call


def said(shown: dict[str, Any], option: str) -> list[tuple[Any, str, int | None]]:
    return [(s["value"], s["source"], s["line"]) for s in shown["settings"] if s["option"] == option]


def test_every_option_is_shown_once_or_more_in_the_order_of_the_table(show: Show) -> None:
    shown = show("--format", "json")
    assert list(dict.fromkeys(s["option"] for s in shown["settings"])) == [o.name for o in OPTIONS]


def test_values_come_with_the_line_of_the_file_that_says_them(show: Show, tmp_path: Path) -> None:
    shown = show("--format", "json")
    assert shown["config"] == str(tmp_path / "pyproject.toml")
    assert said(shown, "sequence-parallel") == [(True, "config", 4)]
    assert said(shown, "src") == [(["kernels"], "config", 2)]
    assert said(shown, "families") == [({"mine": {"colwise": ["x"]}}, "config", 6)]
    assert said(shown, "model") == [(None, "default", None)]
    assert [(p["files"], [(s["option"], s["line"]) for s in p["settings"]]) for p in shown["plans"]] == [
        (["plans/*.yaml"], [("model", 11), ("mesh", 12)]),
        (["plans/b*.yaml", "other.py"], [("model", 16)]),
    ]


def test_for_a_plan_its_directives_and_the_last_matching_table_count(show: Show) -> None:
    shown = show("plans/big.yaml", "--format", "json")
    assert said(shown, "model") == [("hf:second", "plans", 16)]
    assert said(shown, "mesh") == [("tp=2", "directive", 1), ("tp=4", "directive", 1)]
    assert said(shown, "ep") == [(4, "directive", 3)]
    assert {s["path"] for s in shown["settings"] if s["source"] == "directive"} == {"plans/big.yaml"}


def test_the_command_line_comes_first_and_lists_of_rules_add_up(show: Show) -> None:
    arguments = ("--ep", "8", "--no-sequence-parallel", "--ignore", "HPL1", "--mesh", "tp=16", "--src", "plans")
    shown = show("plans/big.yaml", *arguments, "--format", "json")
    assert said(shown, "ep") == [(8, "command-line", None)]
    assert said(shown, "sequence-parallel") == [(False, "command-line", None)]
    assert said(shown, "mesh") == [(["tp=16"], "command-line", None)]
    assert said(shown, "ignore") == [(["HPL1"], "command-line", None), (["HPL204"], "config", 3)]
    assert said(shown, "src") == [(["plans"], "command-line", None), (["kernels"], "config", 2)]


def test_the_text_names_the_file_found_and_the_place_of_each_value(show: Show) -> None:
    code, out, err = show()
    assert (code, err) == (0, "") and out.startswith("configuration: pyproject.toml\n")
    lines = {line.split()[0]: line for line in out.splitlines() if line}
    assert lines["ignore"].split() == ["ignore", "HPL204", "pyproject.toml:3"]
    assert lines["derive"].split() == ["derive", "on", "default"]
    assert "for plans/b*.yaml, other.py\nmodel  hf:second  pyproject.toml:16\n" in out
    assert show("--isolated")[1].startswith("configuration: no file found\n")


def test_what_is_not_understood_is_a_wrong_request_with_near_names(show: Show, tmp_path: Path) -> None:
    for arguments, error in [
        (("plans/bug.yaml",), "did you mean `plans/big.yaml`?"),
        (("--formt", "json"), "did you mean `--format`"),
        (("--mesh", "tpp=2"), "did you mean `pp` or `tp`"),
    ]:
        code, out, err = show(*arguments)
        assert (code, out) == (2, "") and error in err


@pytest.mark.parametrize("name", ["pyproject.toml", "hplint.toml"])
@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("{head}modle = 'x'\n", 1, "`model`"),
        ("{head}[[{dot}plans]]\nfiles = 'a'\nmehs = 'tp=2'\n", 3, "`mesh`"),
        ("{head}[[{dot}plans]]\nfile = 'a'\n", 2, "`files`"),
        ("{head}[{dot}families.mine]\ncolwsie = ['x']\n", 1, "`colwise`"),
        ("{head}[{dot}plns]\nfiles = 'a'\n", None, "`plans`"),
    ],
)  # fmt: skip
def test_unknown_keys_are_errors_in_both_files_and_in_nested_tables(
    show: Show, tmp_path: Path, name: str, text: str, place: int | None, hint: str
) -> None:
    (tmp_path / "pyproject.toml").unlink()
    shared = name == "pyproject.toml"
    head = "[tool.hplint]\n" if shared else ""
    (tmp_path / name).write_text(text.format(head=head, dot="tool.hplint." if shared else ""), encoding="utf-8")
    code, out, err = show()
    assert (code, out) == (2, "") and hint in err
    where = f"{name}:{place + shared}: " if place else f"{name}"
    assert where in err


def test_the_documentation_has_the_table_of_options(request: pytest.FixtureRequest) -> None:
    path = ROOT / "docs" / "configuration.md"
    head, title, table = path.read_text(encoding="utf-8").partition("\n## Options\n\n")
    if request.config.getoption("--update-golden"):
        table = options_table()
        path.write_text(head + title + table, encoding="utf-8")
    assert table == options_table(), "the options have changed: run this test with --update-golden"


def test_docs_print_the_table(show: Show) -> None:
    assert show("--docs") == (0, options_table(), "")
