"""Comments that ask for quiet: what they silence, and what is told of those that silence nothing."""

from pathlib import Path

import pytest
from checking import FIXTURES

from hplint.fix.run import fix
from hplint.lint.request import Request, Run
from hplint.lint.session import lint

TREE = f"tree:{FIXTURES / 'trees' / 'toy.json'}"
BAD = "- match: model.nrm\n  out_dst: auto\n"
GOOD = "- match: model.norm\n  out_dst: auto\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def asked(text: str, name: str = "p.yaml", **given: object) -> Request:
    data = {"model": TREE, "meshes": ({"dp": 2, "tp": 2},), "stdin": text.encode(), "stdin_filename": name, **given}
    return Request(("-",), **data)  # type: ignore[arg-type]


def run(text: str, name: str = "p.yaml", **given: object) -> Run:
    return lint(asked(text, name, **given))


def told(text: str, name: str = "p.yaml", **given: object) -> list[str]:
    return [d.code for d in run(text, name, **given).diagnostics]


def fixed(text: str, name: str = "p.yaml") -> str:
    changed = fix(asked(text, name), unsafe=False).changed
    return changed[0].after if changed else text


ON_LINE = [
    "# hplint: ignore[HPL101]", "#hplint:ignore[HPL101]", "# hplint: ignore[HPL203,HPL101] -- a reason",
    "# hplint: ignore[ HPL203 HPL101 ]", "# hplint: ignore[hpl101]", "# hplint: ignore[unknown-module]",
    "# hplint: ignore[HPL1]", "# hplint: ignore[HPL]", "# hplint: ignore[ALL]", "# hplint: ignore",
    "# hplint: ignore -- a reason", "# hplint: ignore[HPL101] a reason without dashes", "# noqa", "# NOQA", "#noqa",
    "# noqa: HPL101", "# noqa:HPL101", "# NoQA : HPL1", "# noqa: E501,HPL101", "# noqa: E501 HPL101 some words",
    "# noqa: unknown-module", "# a typo # noqa: HPL101", "# a typo  # hplint: ignore[HPL101]",
    "# noqa: E501  # hplint: ignore[HPL101] -- why", "# hplint: seq_len=8 ignore[HPL101]",
    "# hplint: seq_len=8  # hplint: ignore[HPL101]",
]  # fmt: skip


@pytest.mark.parametrize("comment", ON_LINE)
def test_a_comment_on_the_line_or_above_it_silences_what_it_names(comment: str) -> None:
    for text in (BAD.replace("nrm", f"nrm  {comment}"), f"{comment}\n{BAD}", f"{comment}\n# prose\n{BAD}"):
        result = run(text)
        assert {d.code for d in result.diagnostics} <= {"HPL901"}, text
        assert result.suppressed == 1


@pytest.mark.parametrize(
    "comment",
    [
        "# hplint: ignore[HPL203]", "# noqa: HPL203", "# noqa: E501", "# noqa: because", "# noqa: some[line-length]",
        "# noqa-file", "# noqable", "# nohplint: ignore", "# write `# hplint: ignore[HPL101]` here",
        "# see hplint: ignore[HPL101]", "# hplint: ignore[HPL101", "# hplint: ignore HPL101", "# hplint: ignore[]",
        "# hplint: ignroe[HPL101]", "# hplint: ignores[HPL101]", "# hplint: ignore=HPL101", "# hplint: ignore(HPL101)",
        "# hplint: ignore because of that",
    ],
)  # fmt: skip
def test_what_names_something_else_or_is_misspelt_silences_nothing(comment: str) -> None:
    result = run(BAD.replace("nrm", f"nrm  {comment}"))
    assert "HPL101" in [d.code for d in result.diagnostics]
    assert result.suppressed == 0


@pytest.mark.parametrize(
    ("comment", "code", "message", "advice"),
    [
        ("ignroe[HPL101]", "HPL002", "`ignroe` is no key of a `# hplint:` comment", "`ignore`"),
        ("ignore_file[HPL101]", "HPL002", "`ignore_file` is no key", "`ignore-file`"),
        ("ignores", "HPL002", "`ignores` is no key", "`ignore`"),
        ("ignore[HPL101", "HPL003", "`ignore` is not closed, but must be `ignore[HPL101]`", ""),
        ("ignore[]", "HPL003", "`ignore` is empty, but must be codes or names of rules", ""),
        ("ignore HPL101, HPL2", "HPL003", "is followed by `HPL101, HPL2`, but must be `ignore[HPL101,HPL2]`", ""),
        ("ignore: HPL101", "HPL003", "is followed by `: HPL101`, but must be `ignore[HPL101]`", ""),
        ("ignore-file HPL101", "HPL003", "must be `ignore-file[HPL101]`", ""),
        ("ignore not now", "HPL003", "must be `ignore -- not now`", ""),
    ],
)
def test_misspelt_comments_are_told(comment: str, code: str, message: str, advice: str) -> None:
    (found,) = run(f"{GOOD}# hplint: {comment}\n").diagnostics
    assert (found.code, message in found.message, advice in found.help) == (code, True, True), found.message


def test_a_misspelt_word_is_repaired() -> None:
    text = BAD.replace("nrm", "strange  # hplint: ignroe[HPL101] -- renamed")
    assert fixed(text, "p.yaml").splitlines()[0].endswith("ignore[HPL101] -- renamed")


def test_a_comment_speaks_for_its_line_and_the_next_one_alone() -> None:
    assert told(f"# hplint: ignore[HPL101]\n\n{BAD}") == ["HPL101"]
    assert told(f"{GOOD}# hplint: ignore[HPL101]\n- out_dst: auto\n  match: model.nrm\n") == ["HPL101"]
    assert told("- match: model.nrm\n  out_dst: auto  # hplint: ignore[HPL101]\n") == ["HPL101"]


def test_a_trailing_comment_does_not_speak_for_the_line_below() -> None:
    text = GOOD.rstrip() + "  # hplint: ignore[HPL101]\n" + BAD
    assert told(text) == ["HPL901", "HPL101"]


@pytest.mark.parametrize(
    "text",
    [
        '- match: "# hplint: ignore[HPL102]"\n  out_dst: auto\n',
        "- match: |-\n    # hplint: ignore[HPL102]\n    x\n  out_dst: auto\n",
        "- match: model.nrm#hplint:ignore[HPL102]\n  out_dst: auto\n",
    ],
)
def test_what_looks_like_a_comment_inside_of_a_scalar_is_none(text: str) -> None:
    assert told(text) == ["HPL102"]


PYTHON = "from hyper_parallel import ModuleShardingSpec\nplan = {{\n    {}\n}}\n"


def test_python_plans_have_the_same_comments() -> None:
    item = '"model.nrm": ModuleShardingSpec(out_dst="auto"),'
    assert told(PYTHON.format(item), "p.py") == ["HPL101"]
    for line in (f"{item}  # hplint: ignore[HPL101]", f"# noqa: HPL101\n    {item}", f"{item}  # noqa"):
        assert told(PYTHON.format(line), "p.py") == []
    assert told('"""\n# hplint: ignore-file\n"""\n' + PYTHON.format(item), "p.py") == ["HPL101"]


@pytest.mark.parametrize("text", ['"""model.\\\nnrm"""', '("model."\n     "nrm")'])
def test_a_finding_over_several_lines_may_be_silenced_at_its_first_and_its_last(text: str) -> None:
    plan = PYTHON.format(f'{text}: ModuleShardingSpec(out_dst="auto"),  # hplint: ignore[HPL101]')
    assert told(plan, "p.py") == []


def test_a_comment_inside_of_a_flow_mapping_counts() -> None:
    assert told("[{match: model.nrm,  # hplint: ignore[HPL101]\n  out_dst: auto}]\n") == []


@pytest.mark.parametrize("comment", ["# hplint: ignore-file", "# hplint: ignore-file[HPL1,HPL9] -- generated"])
def test_a_whole_file_may_be_silenced_from_anywhere(comment: str) -> None:
    for text in (f"{comment}\n{BAD}{BAD}", f"{BAD}{BAD}{comment}", BAD + BAD.replace("nrm", f"nurm  {comment}")):
        assert told(text) == []


def test_a_file_that_cannot_be_read_is_silenced_as_a_whole_only() -> None:
    broken = "- match: [  # hplint: ignore[HPL001]\n"
    assert told(broken) == ["HPL001"]
    assert told("# hplint: ignore-file\n" + broken) == told("# hplint: ignore-file[HPL001]\n" + broken) == []
    assert told("# hplint: ignore-file[HPL101]\n" + broken) == ["HPL001"]


def test_line_ends_and_marks_do_not_matter() -> None:
    text = "\ufeff# hplint: ignore[HPL101]\r\n" + BAD.replace("\n", "\r\n")
    assert told(text) == told(text.replace("\r\n", "\r")) == []


# HPL901


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- match: model.norm  # hplint: ignore[HPL101] -- gone", "- match: model.norm"),
        ("# hplint: ignore[HPL101]\n- match: model.norm", "- match: model.norm"),
        ("- match: model.norm  # why  # hplint: ignore[HPL101] -- gone", "- match: model.norm  # why"),
        ("- match: model.norm  # hplint: ignore[HPL101]  # why", "- match: model.norm  # why"),
        ("- match: model.norm  # noqa: HPL101", "- match: model.norm"),
        ("- match: model.norm  # noqa: E501, HPL101", "- match: model.norm  # noqa: E501"),
        ("- match: model.norm  # noqa: E501 HPL101 W291 so", "- match: model.norm  # noqa: E501 W291 so"),
        ("- match: model.nrm  # hplint: ignore[HPL2, HPL1] -- x", "- match: model.nrm  # hplint: ignore[HPL1] -- x"),
        ("- match: model.nrm  # hplint: ignore[HPL203,HPL101,HPL2]", "- match: model.nrm  # hplint: ignore[HPL101]"),
        ("# hplint: seq_len=8 ignore[HPL101] -- x\n- match: model.norm", "# hplint: seq_len=8\n- match: model.norm"),
        ("# hplint: ignore\n- match: model.norm", "- match: model.norm"),
        ("# hplint: ignore-file[HPL101]\n\n- match: model.norm", "\n- match: model.norm"),
    ],
)  # fmt: skip
def test_what_silences_nothing_is_told_and_taken_out(before: str, after: str) -> None:
    before, after = (f"{t}\n  out_dst: auto\n" for t in (before, after))
    (found,) = run(before).diagnostics
    assert (found.code, found.severity) == ("HPL901", "warning")
    assert fixed(before) == after
    assert fixed(before.replace("\n", "\r\n")) == after.replace("\n", "\r\n")
    assert told(after) == []


def test_the_last_line_of_a_text_without_a_line_end_goes_with_the_one_before_it() -> None:
    assert fixed(f"{GOOD}# hplint: ignore[HPL101]") == GOOD.rstrip("\n")


@pytest.mark.parametrize("comment", ["# noqa", "# noqa: E501", "# noqa: X123"])
def test_comments_for_other_tools_are_never_unused(comment: str) -> None:
    assert told(GOOD.replace("norm", f"norm  {comment}")) == []


@pytest.mark.parametrize(
    "given",
    [{"select": ("HPL2", "HPL9")}, {"ignore": ("HPL101",)}, {"model": None}, {"meshes": ()},
     {"severity": ("HPL1=off",)}, {"per_file_ignores": ("*.yaml:HPL101",)}],
)  # fmt: skip
def test_a_rule_that_did_not_run_may_be_silenced_for_nothing(given: dict[str, object]) -> None:
    assert told(GOOD.replace("norm", "norm  # hplint: ignore[HPL101]"), **given) == []
    assert told(GOOD.replace("norm", "norm  # hplint: ignore"), **given) == []


def test_rules_that_need_no_model_run_without_one() -> None:
    assert told(GOOD.replace("norm", "norm  # hplint: ignore[HPL002]"), model=None) == ["HPL901"]


def test_a_comment_is_in_use_when_one_topology_needs_it() -> None:
    text = "- match: '*.mlp'\n  params:\n    up_proj.weight: {tp: shard(0)}\n    gate_proj.weight: {tp: shard(0)}\n"
    text += "    down_proj.weight: {tp: shard(1)}\n"
    silenced = text.replace("(0)}", "(0)}  # hplint: ignore[HPL206]").replace("(1)}", "(1)}  # hplint: ignore[HPL206]")
    assert "HPL901" not in told(silenced, meshes=({"tp": 2}, {"tp": 7}))
    assert told(silenced, meshes=({"tp": 2},)).count("HPL901") == 3


def test_nothing_is_called_unused_where_an_error_may_be_why() -> None:
    text = "- match: model.nrm\n  params: {weight: {tp: replicate}}  # hplint: ignore[HPL205]\n"
    assert told(text) == ["HPL101"]
    assert told(text.replace("nrm", "nrm  # hplint: ignore[HPL101]")) == ["HPL901"]


def test_a_comment_that_names_hpl901_keeps_itself() -> None:
    assert told(GOOD.replace("norm", "norm  # hplint: ignore[HPL101,HPL901] -- on other meshes")) == []
    assert told("# hplint: ignore-file[HPL901]\n" + GOOD.replace("norm", "norm  # hplint: ignore[HPL101]")) == []
    assert told(GOOD.replace("norm", "norm  # hplint: ignore[HPL901]")) == []


# HPL902


def test_an_unknown_code_is_told_with_near_names() -> None:
    (found,) = run(GOOD.replace("norm", "norm  # hplint: ignore[HPL1O1]")).diagnostics
    assert (found.code, found.severity, "`HPL101`" in found.help) == ("HPL902", "error", True)
    assert found.source.cut(found.span) == "HPL1O1"


def test_a_name_that_is_clearly_meant_is_written() -> None:
    text = BAD.replace("nrm", "strange  # hplint: ignore[HPL203,unknown-modul] -- x")
    assert fixed(text).splitlines()[0] == "- match: model.strange  # hplint: ignore[unknown-module] -- x"
    text = BAD.replace("nrm", "strange  # hplint: ignore[unknown-module, unknown-modul]")
    assert fixed(text).splitlines()[0] == "- match: model.strange  # hplint: ignore[unknown-module]"


def test_codes_of_other_tools_are_unknown_in_our_own_comments_only() -> None:
    assert told(GOOD.replace("norm", "norm  # hplint: ignore[E501]")) == ["HPL902"]
    assert told(GOOD.replace("norm", "norm  # noqa: E501, ABC123, HPL999")) == ["HPL902"]


def test_a_comment_that_names_hpl902_silences_itself_and_no_other_comment_does() -> None:
    for comment in ("ignore[ACME101,HPL902]", "ignore[ACME101, unknown-code] -- rules of our own"):
        assert told(GOOD.replace("norm", f"norm  # hplint: {comment}")) == []
        assert told(f"# hplint: {comment}\n{GOOD}") == []
    assert told(GOOD.replace("norm", "norm  # hplint: ignore[ACME101]  # noqa")) == ["HPL902"]
    assert told("# hplint: ignore-file\n" + GOOD.replace("norm", "norm  # hplint: ignore[ACME101]")) == []


def test_fingerprints_do_not_change_when_a_neighbour_is_silenced() -> None:
    text = "- match: model.norm\n  params:\n    weight: {tpx: replicate}\n    bias: {tpx: replicate}\n"
    first, second = (d.fingerprint for d in run(text, select=("HPL201",)).diagnostics)
    quiet = text.replace("    bias", "    # hplint: ignore[HPL201]\n    bias")
    assert [d.fingerprint for d in run(quiet, select=("HPL201",)).diagnostics] == [first]
    quiet = text.replace("    weight", "    # hplint: ignore[HPL201]\n    weight")
    assert [d.fingerprint for d in run(quiet, select=("HPL201",)).diagnostics] == [second]
