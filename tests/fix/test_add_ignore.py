"""--add-ignore: what is found is ignored by comments, and nothing else of the text changes."""

import re
from collections.abc import Iterable, Sequence
from functools import cache, partial
from random import Random
from typing import Any

import pytest
from checking import check_plans, fixture_tree, mesh_topology
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_writer import PlanWriter
from test_conformance import cases, topology_of
from test_fix_python import sayable
from test_fix_random import damaged

from hplint.fix.add_ignore import NOT_IGNORED, Added, add_ignores
from hplint.fix.edit import apply
from hplint.front.read import read_document
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.registry import Registry
from hplint.lint.suppress import Suppressor

PUT_IN = re.compile(r"\s*# hplint: ignore\[[A-Z0-9,]+\](?:\r\n|\r|\n)?|(?:[, ]+HPL\d{3})+")
TOY = {"tree": fixture_tree("toy"), "topology": mesh_topology({"dp": 2, "tp": 2})}


@cache
def registry() -> Registry:
    return Registry()


def told(text: str, suffix: str, **setting: Any) -> list[Diagnostic]:
    """What a check of the text tells, comments heeded."""
    found = check_plans(text, setting["topology"], setting["tree"], suffix).diagnostics
    document = read_document(f"plan{suffix}", text.encode())
    suppressor = Suppressor(document, registry())
    return suppressor.sort(found)[0]


def added(text: str, suffix: str = ".yaml", reason: str = "", **setting: Any) -> Added:
    document = read_document(f"plan{suffix}", text.encode())
    check = partial(told, suffix=suffix, **(setting or TOY))
    return add_ignores(document, registry(), check, reason)


def codes(found: Iterable[Diagnostic]) -> list[str]:
    return [d.code for d in found]


def check_promises(text: str, suffix: str = ".yaml", **setting: Any) -> Sequence[Diagnostic]:
    """The findings that got no comment, once all that is promised of the others holds."""
    setting = setting or TOY
    result = added(text, suffix, **setting)
    before, after = told(text, suffix, **setting), told(result.text, suffix, **setting)
    shown = f"{text}\n=====\n{result.text}\n{after}"
    assert sorted(codes(after)) == sorted(codes(result.left)), shown
    assert len(result.ignored) + len(result.left) == len(before)
    assert added(result.text, suffix, **setting).text == result.text, shown
    # Nothing goes, and what comes is comments or codes in a list: without them the bytes are those of before.
    assert all(e.span.start == e.span.end and PUT_IN.fullmatch(e.text) for e in result.edits), result.edits
    assert apply(text, result.edits) == result.text
    entries = [
        [(repr(e.matches and [m.value for m in e.matches]), sorted(e.keys)) for p in d.plans for e in p.entries]
        for d in (read_document(f"plan{suffix}", t.encode()) for t in (text, result.text))
    ]
    assert entries[0] == entries[1], shown
    return result.left


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None, report_multiple_bugs=False)
def test_whatever_is_found_in_a_random_plan_is_ignored_and_nothing_else_changes(seed: int) -> None:
    rng = Random(seed)
    case = rng.choice(cases())
    text = damaged(PlanWriter(rng).write({"plan_overrides": case["entries"]}), rng)
    setting = {"tree": fixture_tree(case["model"]), "topology": topology_of(case)}
    ends = rng.choice(["\n", "\n", "\r\n", "\r"])
    text = rng.choice(["", "", "\ufeff"]) + text.replace("\n", ends)
    left = check_promises(text, **setting)
    assert set(codes(left)) <= NOT_IGNORED


@given(st.integers(0, 2**32))
@settings(max_examples=30, deadline=None, report_multiple_bugs=False)
def test_whatever_is_found_in_a_random_python_plan_is_ignored_and_nothing_else_changes(seed: int) -> None:
    rng = Random(seed)
    case, text = rng.choice(sayable())
    setting = {"tree": fixture_tree(case["model"]), "topology": topology_of(case)}
    left = check_promises(rng.choice(["", "\ufeff"]) + damaged(text, rng), ".py", **setting)
    assert set(codes(left)) <= NOT_IGNORED


BAD = "- match: model.layers.0.mpl\n  out_dst: auto\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BAD, "- match: model.layers.0.mpl  # hplint: ignore[HPL101]\n  out_dst: auto\n"),
        (
            "- match: model.nrm # why\n",
            "- match: model.nrm # why  # hplint: ignore[HPL101]\n",
        ),
        ("[{match: model.nrm,\n  out_dst: auto}]", "[{match: model.nrm,  # hplint: ignore[HPL101]\n  out_dst: auto}]"),
        ('- match: "model.\\\n    nrm"\n', '- match: "model.\\\n    nrm"  # hplint: ignore[HPL101]\n'),
        ("- match: model.\n    nrm\n", "- match: model.\n    nrm  # hplint: ignore[HPL101]\n"),
        ("- match: |-\n    model.nrm\n", "- match: |-  # hplint: ignore[HPL101]\n    model.nrm\n"),
        (
            "- match: model.nrm  # noqa: E501\n",
            "- match: model.nrm  # noqa: E501  # hplint: ignore[HPL101]\n",
        ),
        ("- match: model.nrm  # noqa: HPL204\n", "- match: model.nrm  # noqa: HPL204,HPL101\n"),
        ("- match: model.nrm  # noqa: E501 HPL204\n", "- match: model.nrm  # noqa: E501 HPL204 HPL101\n"),
        (
            "# hplint: ignore[HPL204, HPL205] -- meant\n- match: model.nrm\n",
            "# hplint: ignore[HPL204, HPL205, HPL101] -- meant\n- match: model.nrm\n",
        ),
        (
            "- match: model.nrm  # hplint: ignore[HPL204] -- meant\n",
            "- match: model.nrm  # hplint: ignore[HPL204,HPL101] -- meant\n",
        ),
    ],
)  # fmt: skip
def test_comments_stand_where_they_speak_for_the_finding(before: str, after: str) -> None:
    fields = "" if "out_dst" in before else "  out_dst: auto\n"
    assert added(before + fields).text == after + fields
    check_promises(before + fields)


def test_the_reason_follows() -> None:
    assert added(BAD, reason="not yet").text.splitlines()[0].endswith("  # hplint: ignore[HPL101] -- not yet")


def test_all_codes_of_a_line_stand_in_one_comment() -> None:
    text = "- {match: model.nrm, when: tp, params: {a: {tpx: shrd(0)}}}\n"
    assert added(text).text == text[:-1] + "  # hplint: ignore[HPL006,HPL101,HPL201,HPL203]\n" or (
        set(codes(told(text, ".yaml", **TOY))) == {"HPL006"}
    )


def test_what_is_ignored_already_gets_no_comment() -> None:
    for text in (
        BAD.replace("mpl", "mpl  # noqa"),
        "# hplint: ignore-file[HPL101]\n" + BAD,
        "# hplint: ignore\n" + BAD,
    ):
        assert added(text).text == text


def test_a_file_that_cannot_be_read_gets_no_comment() -> None:
    result = added("- match: [\n")
    assert result.text == "- match: [\n" and codes(result.left) == ["HPL001"]


def test_json_gets_no_comments() -> None:
    text = '[{"match": "model.nrm", "out_dst": "auto"}]'
    result = added(text, ".json")
    assert result.text == text and codes(result.left) == ["HPL101"]


PYTHON = """\
#!/usr/bin/env python
from hyper_parallel import ModuleShardingSpec

plan = {
    "model.layers.0.mpl": ModuleShardingSpec(out_dst="auto"),
    ("model."
     "nrm"): ModuleShardingSpec(out_dst="auto"),
    \"\"\"model.\\
nrms\"\"\": ModuleShardingSpec(out_dst="auto"),
    "model.nurm": \\
        ModuleShardingSpec(out_dst="auto"),
}
"""


CHANGES = [str, lambda t: t.replace("\n", "\r\n"), lambda t: t.replace("#!/usr", "\ufeff# /usr")]


@pytest.mark.parametrize("change", CHANGES)
def test_python_plans_get_comments_outside_of_strings_and_continued_lines(change: Any) -> None:
    text = change(PYTHON)
    assert len(told(text, ".py", **TOY)) == 4
    assert check_promises(text, ".py") == []
    lines = added(text, ".py").text.splitlines()
    assert [i for i, line in enumerate(lines, 1) if "hplint: ignore[HPL101]" in line] == [5, 6, 9, 10]


def test_a_line_between_a_string_and_a_backslash_has_no_place_for_a_comment() -> None:
    text = PYTHON.replace('"auto"),\n    "model.nurm"', '"auto"), "model.nurm"')
    assert codes(check_promises(text, ".py")) == ["HPL101"]


def test_a_first_line_that_speaks_to_another_tool_stays() -> None:
    head = "# yaml-language-server: $schema=plan.json\n"
    text = head + "- match: model.norm\n  params: {}\n"
    result = added(text, tree=fixture_tree("toy"), topology=mesh_topology({"dp": 2, "tp": 2}, derive=False))
    assert head in result.text.splitlines(keepends=True)
