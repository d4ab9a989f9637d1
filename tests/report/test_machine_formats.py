"""Formats that programs read: byte for byte as agreed, of the documented shape, and safe with every character."""

import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from format_samples import EMPTY, MESSAGE, NOWHERE, ODD, ODD_PATH, ODD_RUN, STDIN, TALL, many
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import CHECKED, CLEAN, PLACEMENT, RUN

from hplint.fix.edit import apply
from hplint.lint.diagnostic import Edit, Fix
from hplint.lint.request import Run
from hplint.report.formats import FORMATS, Outputs
from hplint.report.github import fenced, github, left_out
from hplint.report.gitlab import gitlab_report
from hplint.report.grouped import grouped
from hplint.report.jsonl import jsonl
from hplint.report.junit import junit_report
from hplint.report.paths import from_top
from hplint.report.pylint import pylint
from hplint.report.rdjson import rdjson_report
from hplint.report.statistics import statistics_jsonl
from hplint.report.step_summary import ROWS, step_summary
from hplint.report.style import Style
from hplint.text.source import Source
from hplint.text.span import Span

GOLDEN = Path(__file__).parent / "golden"


def text(lines: Any) -> str:
    return "".join(f"{line}\n" for line in lines)


FORMS: dict[str, Callable[[], str]] = {
    "grouped.txt": lambda: text(grouped(ODD_RUN.diagnostics, Style())),
    "grouped_colour.txt": lambda: text(grouped(RUN.diagnostics, Style(color=True))),
    "report.jsonl": lambda: text(jsonl(RUN.diagnostics)),
    "github.txt": lambda: text(github(ODD_RUN.diagnostics)),
    "gitlab.json": lambda: gitlab_report(RUN),
    "junit.xml": lambda: junit_report(ODD_RUN),
    "rdjson.json": lambda: rdjson_report(RUN),
    "pylint.txt": lambda: text(pylint(ODD_RUN.diagnostics, Style())),
    "statistics.jsonl": lambda: statistics_jsonl(RUN.diagnostics),
    "step_summary.md": lambda: step_summary(ODD_RUN),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_machine_format_is_byte_for_byte_as_agreed(name: str, request: pytest.FixtureRequest) -> None:
    path, found = GOLDEN / name, FORMS[name]().encode("utf-8", "backslashreplace")
    if request.config.getoption("--update-golden"):
        path.write_bytes(found)
    assert found == path.read_bytes()


# grouped, jsonl, pylint


def test_files_are_told_once_and_places_stand_in_columns() -> None:
    near = replace(PLACEMENT, span=Span(0, 4))
    far = replace(PLACEMENT, source=Source("b.yaml", "\n" * 99 + "x" * 20), span=Span(110, 111), message="m")
    assert list(grouped([near, replace(far, span=Span(0, 0)), far], Style())) == [
        "plans/llama.yaml:",
        f"  1:1 HPL203 {PLACEMENT.message}",
        "",
        "b.yaml:",
        "    1:1  HPL203 m",
        "  100:12 HPL203 m",
        "",
    ]
    assert list(grouped([], Style())) == []


def test_a_line_of_jsonl_is_a_finding_of_the_json_report() -> None:
    from hplint.report.json_report import finding

    lines = list(jsonl(ODD_RUN.diagnostics))
    assert [json.loads(line) for line in lines] == [finding(d) for d in ODD_RUN.diagnostics]
    assert all(line.isascii() and "\n" not in line for line in lines) and list(jsonl([])) == []


PYLINT = re.compile(
    r"(?P<path>.+?):(?P<line>\d+): \[(?P<code>[A-Z]+\d+)\((?P<name>[\w-]+)\), (?P<module>[^\]]*)\] (?P<text>.*)"
)


def test_pylint_lines_are_read_by_the_pattern_of_their_readers() -> None:
    found = [PYLINT.fullmatch(line) for line in pylint(ODD_RUN.diagnostics, Style(color=True))]
    rows = [m.groupdict() if m else {} for m in found]
    assert [r["code"] for r in rows] == [d.code for d in ODD_RUN.diagnostics]
    assert rows[0]["path"].startswith("C:\\plans\\50%,a:b<&>") and rows[0]["module"] == "layers(0)"
    assert rows[0]["text"].endswith("(with dp=2,tp=2)") and rows[2]["module"] == ""


# github

COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def commands(lines: Any) -> list[tuple[str, dict[str, str], str]]:
    """Commands as the runner reads them: it splits first and unescapes then."""
    parsed = []
    for line in lines:
        match = COMMAND.fullmatch(line)
        assert match, line
        values = dict(part.split("=", 1) for part in match[2].split(","))
        parsed.append((match[1], {k: _unescaped(v, "%2C,", "%3A:") for k, v in values.items()}, _unescaped(match[3])))
    return parsed


def _unescaped(value: str, *more: str) -> str:
    for escape in (*more, "%0D\r", "%0A\n", "%25%"):
        value = value.replace(escape[:3], escape[3:])
    return value


def test_a_runner_reads_back_what_was_found() -> None:
    kind, values, message = commands(github([ODD]))[0]
    assert kind == "error"
    assert values == {
        "file": ODD_PATH.replace("\udcff", "<U+DCFF>"), "line": "1", "endLine": "1", "col": "13", "endColumn": "14",
        "title": "HPL101 unknown-module",
    }  # fmt: skip
    shown = MESSAGE.replace("\x1b", "␛").replace("\0", "␀").replace("\u200b", "<U+200B>").replace("\ud800", "<U+D800>")
    assert message.replace("<U+FFFE>", "\ufffe") == f"{shown} (with dp=2,tp=2)\nhelp: did you mean `é`?"


@given(st.text(max_size=30), st.text(max_size=20))
@settings(max_examples=100, deadline=None)
def test_no_message_and_no_path_breaks_out_of_its_command(message: str, path: str) -> None:
    odd = replace(PLACEMENT, message=message, source=Source(f"plans/{path}", ""), span=Span(0, 0), help="")
    lines = text(github([odd])).split("\n")
    assert len(lines) == 2 and not lines[1] and "\r" not in lines[0]
    _, values, told = commands(lines[:1])[0]
    assert list(values) == ["file", "line", "endLine", "col", "endColumn", "title"]
    if message.isprintable():
        assert told == message


def test_columns_are_left_out_over_several_lines_and_the_file_for_the_standard_input() -> None:
    tall, piped = commands(github([TALL, STDIN]))
    assert tall[1] == {"file": "plans/llama.yaml", "line": "4", "endLine": "6", "title": "HPL203 not-a-placement"}
    assert piped[1] == {"title": "HPL107 overridden-entry"}


def test_the_most_severe_come_first() -> None:
    found = commands(github(many(2, 1, 1).diagnostics))
    assert [kind for kind, _, _ in found] == ["error", "error", "warning", "notice"]
    assert [message for _, _, message in found][:2] == ["error 2", "error 3"]


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (many(10, 10, 10), ""),
        (EMPTY, ""),
        (many(15), "5 of 15 errors have none"),
        (many(0, 11), "1 of 11 warnings have none"),
        (many(1_012, 12, 10), "1,002 of 1,012 errors and 2 of 12 warnings and 1 of 10 infos have none"),
        (many(0, 0, 11), "2 of 11 infos have none"),
    ],
)
def test_what_github_leaves_out_is_said_in_an_annotation_that_it_keeps(run: Run, words: str) -> None:
    assert words in left_out(run.diagnostics) and bool(words) == bool(left_out(run.diagnostics))
    notices = [m for kind, _, m in commands(github(run.diagnostics)) if kind == "notice"]
    if words:
        assert notices[0] == left_out(run.diagnostics)


def test_a_fence_stands_around_what_the_runner_must_not_obey() -> None:
    assert list(fenced(["::error::x", ""], "token")) == ["::stop-commands::token", "::error::x", "", "::token::"]


def test_paths_count_from_the_top_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "training").mkdir()
    monkeypatch.chdir(tmp_path / "training")
    top = str(tmp_path)
    assert from_top("plans/a.yaml", top) == "training/plans/a.yaml"
    assert from_top("../a.yaml", top) == "a.yaml"
    assert from_top(f"{top}/b.yaml", top) == "b.yaml"
    assert from_top("/etc/a.yaml", top) == "/etc/a.yaml"
    assert [from_top(p, t) for p, t in (("a", None), ("a", ""), ("-", top))] == ["a", "a", "-"]
    values = commands(github([PLACEMENT], top))[0][1]
    assert values["file"] == "training/plans/llama.yaml"
    assert json.loads(gitlab_report(RUN, top))[0]["location"]["path"] == "training/plans/llama.yaml"


# the summary of a step


def test_the_step_summary_lists_the_most_severe_and_counts_the_rest() -> None:
    table = [line for line in step_summary(many(3, ROWS)).splitlines() if line.startswith("| ")]
    assert len(table) == 2 + ROWS and table[2].startswith(
        "| error | HPL203 not-a-placement | plans/llama.yaml:4 | error "
    )
    assert step_summary(many(3, ROWS)).endswith("\n3 more findings in the log of the step.\n")
    assert step_summary(CLEAN) == "### hplint\n\nAll checks passed: 1 plan, 2 entries.  \n\n"


@given(st.text(st.sampled_from("`|<>&*_[]()~\\#@!\n\r\ta \x1b"), max_size=20))
@settings(max_examples=60, deadline=None)
def test_no_message_becomes_markup_or_leaves_its_cell(message: str) -> None:
    found = step_summary(Run(diagnostics=(replace(PLACEMENT, message=message, help=""),)))
    row = found.splitlines()[-1]
    assert row.count("|") == 5 and found.count("\n") == 7
    cell = row.split("|")[4].replace("<code>", "").replace("</code>", "")
    assert not set(cell) & set("`<>*_[]~\\")
    assert row.count("<code>") == row.count("</code>")


# gitlab

ISSUES = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "positions"],
                "properties": {
                    "path": {"type": "string"},
                    "positions": {
                        "required": ["begin", "end"],
                        "additionalProperties": {
                            "required": ["line", "column"],
                            "additionalProperties": {"type": "integer", "minimum": 1},
                        },
                    },
                },
            },
        },
    },
}
"""The shape that GitLab documents."""


@pytest.mark.parametrize("run", [RUN, ODD_RUN, EMPTY, many(3)], ids=["samples", "odd", "empty", "many"])
def test_gitlab_reports_have_the_documented_shape(run: Run) -> None:
    found = json.loads(gitlab_report(run))
    jsonschema.validate(found, ISSUES)
    assert len(found) == len(run.diagnostics) and gitlab_report(run).isascii()


def test_gitlab_tells_findings_apart_by_file_and_not_by_line() -> None:
    moved = replace(PLACEMENT, span=Span(0, 1))
    elsewhere = replace(PLACEMENT, source=Source("plans/other.yaml", PLACEMENT.source.text))
    prints = [i["fingerprint"] for i in json.loads(gitlab_report(Run(diagnostics=(PLACEMENT, moved, elsewhere))))]
    assert prints[0] == prints[1] != prints[2]
    assert [i["severity"] for i in json.loads(gitlab_report(many(1, 1, 1)))] == ["info", "minor", "critical"]


# junit


@pytest.mark.parametrize("run", [RUN, ODD_RUN, CLEAN, EMPTY], ids=["samples", "odd", "clean", "empty"])
def test_junit_counts_what_it_holds(run: Run) -> None:
    document = junit_report(run)
    root = ElementTree.fromstring(document)
    assert document.isascii() and root.tag == "testsuites"
    for suite in (root, *root.iter("testsuite")):
        assert int(suite.get("tests", "")) == len(list(suite.iter("testcase")))
        assert int(suite.get("failures", "")) == len(list(suite.iter("failure")))
        assert (suite.get("errors"), suite.get("skipped")) == ("0", "0")
    assert len(list(root.iter("failure"))) == sum(d.severity != "info" for d in run.diagnostics)


def test_junit_has_a_suite_a_file_and_a_passed_test_for_a_clean_one() -> None:
    plans = (CHECKED, replace(CHECKED, path="plans/clean.yaml"), CHECKED)
    root = ElementTree.fromstring(junit_report(replace(RUN, plans=plans)))
    assert [s.get("name") for s in root] == ["plans/llama.yaml", "plans/clean.yaml"]
    assert [c.attrib for c in root[1]] == [
        {"name": "no findings", "classname": "plans/clean.yaml", "file": "plans/clean.yaml"}
    ]
    first = root[0][0]
    assert (first.get("name"), first.get("line")) == ("HPL203 not-a-placement at 4:26", "4")
    assert first[0].get("type") == "error" and first[0].get("message") == PLACEMENT.message
    assert first[0].text == (
        f"plans/llama.yaml:4:26: error: {PLACEMENT.message}\nhelp: write `replicate`, `partial` or `shard(N)`"
    )


def test_an_info_is_no_failure() -> None:
    case = ElementTree.fromstring(junit_report(Run(diagnostics=(NOWHERE,))))[0][0]
    assert [child.tag for child in case] == ["system-out"]
    assert case[0].text == "plans/empty.yaml:1:1: info: no place"


@given(st.text(st.one_of(st.characters(), st.sampled_from("]]>&<\"'\r\n\t\0\x0b\x85\ufffe\uffff\ud800𝕏"))))
@settings(max_examples=150, deadline=None)
def test_junit_is_well_formed_whatever_a_message_holds(message: str) -> None:
    odd = replace(PLACEMENT, message=message, help="", source=Source(message, PLACEMENT.source.text))
    failure = next(ElementTree.fromstring(junit_report(Run(diagnostics=(odd,)))).iter("failure"))
    if all(c.isprintable() or c in "\n\t\r" for c in message):
        assert failure.get("message") == message and (failure.text or "").endswith(message)


# rdjson

POSITION = {
    "type": "object", "required": ["line", "column"], "additionalProperties": {"type": "integer", "minimum": 1},
}  # fmt: skip
RANGE = {"type": "object", "required": ["start", "end"], "additionalProperties": POSITION}
LOCATION = {
    "type": "object", "required": ["path", "range"], "properties": {"path": {"type": "string"}, "range": RANGE},
}  # fmt: skip
RDFORMAT = {
    "type": "object",
    "required": ["source", "diagnostics"],
    "additionalProperties": False,
    "properties": {
        "source": {"type": "object", "required": ["name"]},
        "diagnostics": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["message", "location", "severity", "code"],
                "additionalProperties": False,
                "properties": {
                    "message": {"type": "string"},
                    "location": LOCATION,
                    "severity": {"enum": ["ERROR", "WARNING", "INFO"]},
                    "code": {"type": "object", "required": ["value"], "properties": {"url": {"minLength": 1}}},
                    "suggestions": {
                        "items": {"required": ["range", "text"], "properties": {"range": RANGE}, "type": "object"}
                    },
                    "relatedLocations": {
                        "items": {"required": ["message", "location"], "properties": {"location": LOCATION}}
                    },
                },
            },
        },
    },
}
"""The shape of reviewdog's DiagnosticResult."""


@pytest.mark.parametrize("run", [RUN, ODD_RUN, EMPTY], ids=["samples", "odd", "empty"])
def test_rdjson_has_the_documented_shape(run: Run) -> None:
    found = json.loads(rdjson_report(run))
    jsonschema.validate(found, RDFORMAT)
    assert len(found["diagnostics"]) == len(run.diagnostics) and rdjson_report(run).isascii()


def test_rdjson_counts_columns_in_bytes_and_makes_one_suggestion_of_a_fix() -> None:
    found = json.loads(rdjson_report(Run(diagnostics=(ODD,))))["diagnostics"][0]
    # "- match: 𝕏é " are 9 + 4 + 2 + 1 bytes; the byte order mark is none of them.
    assert found["location"]["range"] == {"start": {"line": 1, "column": 17}, "end": {"line": 1, "column": 18}}
    assert found["suggestions"] == [
        {
            "range": {"start": {"line": 1, "column": 17}, "end": {"line": 2, "column": 18}},
            "text": "𝕐  # first\r\n  params: {中: y",
        }
    ]


def _applied(source: Source, suggestion: dict[str, Any]) -> str:
    """A text with a suggestion made, by bytes as reviewdog counts."""
    lines = source.text.removeprefix("\ufeff").encode()
    starts = [0, *(m.end() for m in re.finditer(rb"\r\n|\n|\r", lines))]
    at = [starts[suggestion["range"][k]["line"] - 1] + suggestion["range"][k]["column"] - 1 for k in ("start", "end")]
    return (lines[: at[0]] + suggestion["text"].encode() + lines[at[1] :]).decode()


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_a_suggestion_does_what_the_edits_of_its_fix_do(data: st.DataObject) -> None:
    body = data.draw(st.text(st.sampled_from("ab\n𝕏é{"), max_size=20))
    source = Source("a", data.draw(st.sampled_from(["", "\ufeff"])) + body)
    low = len(source.text) - len(body)
    cuts = sorted(data.draw(st.lists(st.integers(low, len(source.text)), min_size=2, max_size=6)))
    edits = [
        Edit(Span(*pair), data.draw(st.text("xé\n", max_size=3))) for pair in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    fix = Fix("t", True, tuple(data.draw(st.permutations(edits))))
    one = replace(PLACEMENT, source=source, span=Span(low, low), fixes=(fix,))
    suggestion = json.loads(rdjson_report(Run(diagnostics=(one,))))["diagnostics"][0]["suggestions"][0]
    assert _applied(source, suggestion) == apply(source.text, fix.edits).removeprefix("\ufeff")


# all of them


def test_every_format_of_the_table_is_written() -> None:
    from test_reports import delivered

    from hplint.report.deliver import Wishes

    for form in FORMATS:
        for run in (RUN, ODD_RUN, EMPTY):
            for encoding in ("utf-8", "ascii"):
                found = delivered(run, Wishes(Outputs(form)), encoding)
                assert found or run is EMPTY


@pytest.mark.parametrize("form", FORMATS)
def test_a_reader_that_closed_the_pipe_ends_every_format_in_silence(form: str) -> None:
    from hplint.report.deliver import Wishes, deliver
    from hplint.report.writer import Writer

    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    out, err = Writer(Closed(), environment={}), io.StringIO()
    deliver(RUN, Wishes(Outputs(form)), out, Writer(err, environment={}), {})
    assert out.stream is None and err.getvalue() == ""
