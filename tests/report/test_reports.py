import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from report_samples import CHECKED, CLEAN, MODULE, PLACEMENT, RUN, SOURCE, TEXT

from hplint.lint.diagnostic import Diagnostic
from hplint.lint.request import Run
from hplint.report.concise import concise
from hplint.report.deliver import Wishes, deliver
from hplint.report.formats import Outputs
from hplint.report.full import full
from hplint.report.json_report import json_report
from hplint.report.statistics import statistics, statistics_json
from hplint.report.style import Style, wants_color
from hplint.report.summary import summary
from hplint.report.writer import Writer
from hplint.resolve.topology import Topology
from hplint.text.source import Source
from hplint.text.span import Span

GOLDEN = Path(__file__).parent / "golden"


def delivered(run: Run, wishes: Wishes, encoding: str = "utf-8", color: str = "never") -> bytes:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    writer = Writer(stream, color, {})
    deliver(run, wishes, writer, writer, {})
    return raw.getvalue()


FORMS = {
    "full.txt": (RUN, Wishes(Outputs("full")), "utf-8", "never"),
    "full_ascii.txt": (RUN, Wishes(Outputs("full")), "ascii", "never"),
    "full_colour.txt": (RUN, Wishes(Outputs("full")), "utf-8", "always"),
    "concise.txt": (RUN, Wishes(Outputs("concise")), "utf-8", "never"),
    "concise_colour.txt": (RUN, Wishes(Outputs("concise")), "utf-8", "always"),
    "report.json": (RUN, Wishes(Outputs("json")), "ascii", "always"),
    "statistics.txt": (RUN, Wishes(Outputs("full"), statistics=True), "utf-8", "never"),
    "statistics.json": (RUN, Wishes(Outputs("json"), statistics=True), "utf-8", "never"),
    "quiet.txt": (RUN, Wishes(Outputs("full"), quiet=True), "utf-8", "never"),
    "clean.txt": (CLEAN, Wishes(Outputs("full")), "utf-8", "never"),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_format_is_byte_for_byte_as_agreed(name: str, request: pytest.FixtureRequest) -> None:
    path, found = GOLDEN / name, delivered(*FORMS[name])
    if request.config.getoption("--update-golden"):
        path.write_bytes(found)
    assert found == path.read_bytes()


def test_concise_is_one_line_a_finding_even_where_the_message_has_several() -> None:
    lines = list(concise(RUN.diagnostics, Style()))
    assert lines[2] == (
        "plans/llama.yaml:7:10: HPL107 line one of a message\\nand its second line (in a and 1 more module)"
        " (with dp=2,tp=2)"
    )


def test_paths_and_messages_cannot_drive_the_terminal() -> None:
    evil = replace(PLACEMENT, source=Source("a\n\x1b[2J.yaml", TEXT), message="x\x1b]0;title\x07y", help="\x1b[0m")
    for line in [*concise([evil], Style()), *full([evil], Style())]:
        assert "\x1b" not in line and "\n" not in line and "\x07" not in line


def test_verbose_adds_the_run_time_and_all_modules() -> None:
    def why(diagnostic: Diagnostic) -> str:
        return f"what {diagnostic.code} does at run time"

    text = "\n".join(full([MODULE], Style(), why))
    assert "  modules: model.layers.{0-1}\n" in text
    assert "  run time: what HPL107 does at run time" in text
    many = replace(MODULE, modules=tuple(f"layers.{n}.{'x' * (n + 1)}" for n in range(1200)))
    assert "xx, layers.7.xxxxxxxx and 1,192 more" in "\n".join(full([many], Style(width=300), why))


def test_messages_are_wrapped_to_the_width_and_words_stay_whole() -> None:
    for columns in (40, 60, 100):
        lines = list(full(RUN.diagnostics, Style(width=columns)))
        assert all(len(line) <= columns for line in lines if line.startswith("  ") and "│" not in line)
        assert "silently" in " ".join(lines)


def test_a_finding_in_an_empty_file_has_no_frame() -> None:
    empty = replace(PLACEMENT, source=Source("plans/empty.yaml", ""), span=Span(0, 0))
    assert list(full([empty], Style()))[:3] == [
        "plans/empty.yaml:1:1: HPL203 not-a-placement (error)",
        "  `shrd(0)` is not a placement: the run stops while it reads the configuration",
        "",
    ]


PLACE = {k: {"type": "integer", "minimum": 1} for k in ("line", "column", "end_line", "end_column")}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "files", "findings", "plans"],
    "properties": {
        "version": {"const": 1},
        "files": {"type": "integer"},
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": [
                    "code", "name", "severity", "message", "path", "line", "column", "end_line", "end_column", "match",
                    "module", "field", "topology", "related", "help", "fixes", "url", "fingerprint",
                ],
                "properties": {
                    **PLACE,
                    **{k: {"type": "string"} for k in ("code", "name", "message", "path", "help", "url")},
                    "fingerprint": {"type": "string"},
                    **{k: {"type": ["string", "null"]} for k in ("match", "module", "field")},
                    "severity": {"enum": ["error", "warning", "info"]},
                    "topology": {"type": "object"},
                    "related": {"type": "array"},
                    "fixes": {"type": "array"},
                },
            },
        },
        "plans": {"type": "array"},
    },
}  # fmt: skip


def test_the_json_report_has_the_agreed_form() -> None:
    report = json.loads(json_report(RUN))
    jsonschema.validate(report, SCHEMA)
    first = report["findings"][0]
    assert (first["line"], first["column"], first["end_line"], first["end_column"]) == (4, 26, 4, 33)
    edit = first["fixes"][0]["edits"][0]
    assert TEXT[edit["start"] : edit["end"]] == "shrd(0)" and first["fixes"][0]["safety"] == "safe"
    assert report["findings"][2]["module"] == "model.layers.0"
    assert report["plans"] == [
        {
            "path": "plans/llama.yaml",
            "model": "tree:llama.json",
            "topology": {
                "tp": 2, "cp": 1, "ep": 1, "dp": 2, "sequence_parallel": False, "loss_parallel": False, "derive": True,
            },
            "dialect": "yaml",
            "entries": 2,
        }
    ]  # fmt: skip


def test_json_goes_through_any_stream() -> None:
    odd = replace(PLACEMENT, source=Source("plans/\udcff中.yaml", TEXT), message="中 \ud800")
    data = delivered(Run(files=1, diagnostics=(odd,)), Wishes(Outputs("json")), encoding="ascii")
    assert json.loads(data)["findings"][0]["path"] == "plans/\udcff中.yaml"


def test_a_stream_that_lacks_characters_gets_them_escaped() -> None:
    odd = replace(PLACEMENT, source=Source("plans/中.yaml", TEXT))
    assert b"plans/\\u4e2d.yaml:4:26: HPL203" in delivered(
        Run(diagnostics=(odd,)), Wishes(Outputs("concise")), encoding="latin-1"
    )


@pytest.mark.parametrize(
    ("run", "last"),
    [
        (CLEAN, "All checks passed: 1 plan, 2 entries."),
        (Run(), None),
        (replace(RUN, notes=()), "Found 2 errors and 1 warning in 1 file (1 plan checked)."),
        (
            Run(
                diagnostics=(replace(MODULE, severity="info"),), plans=(CHECKED, replace(CHECKED, topology=Topology()))
            ),
            "Found 1 info in 1 file (1 plan on 2 topologies checked).",
        ),
        (
            Run(diagnostics=tuple(replace(MODULE, severity=s) for s in ("error", "warning", "info", "info"))),
            "Found 1 error, 1 warning and 2 infos in 1 file (0 plans checked).",
        ),
    ],
)
def test_the_summary_counts(run: Run, last: str | None) -> None:
    assert list(summary(run, Style())) == ([last] if last else [])


def test_statistics_put_the_most_frequent_first() -> None:
    found = [MODULE, *[PLACEMENT] * 12]
    assert list(statistics(found, Style())) == [
        "12  HPL203  error    not-a-placement",
        " 1  HPL107  warning  overridden-entry",
    ]
    assert [row["count"] for row in json.loads(statistics_json(found))["statistics"]] == [12, 1]


@pytest.mark.parametrize(
    ("choice", "terminal", "environment", "expected"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", True, {"FORCE_COLOR": "0"}, False),
        ("auto", False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("auto", True, {"TERM": "dumb"}, False),
        ("always", False, {"NO_COLOR": "1", "TERM": "dumb"}, True),
        ("never", True, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_follow_the_option_then_the_environment_then_the_terminal(
    choice: str, terminal: bool, environment: dict[str, str], expected: bool
) -> None:
    assert wants_color(choice, terminal, environment) is expected


def test_the_width_is_that_of_columns_within_bounds() -> None:
    assert [Writer(io.StringIO(), environment={"COLUMNS": c}).style.width for c in ("", "80", "10", "999", "x")] == [
        100,
        80,
        40,
        120,
        100,
    ]


def test_a_process_without_a_stream_writes_nowhere() -> None:
    writer = Writer(None, environment={})
    deliver(RUN, Wishes(), writer, writer)


def test_every_place_cuts_out_its_token() -> None:
    assert [SOURCE.cut(d.span) for d in RUN.diagnostics] == ["shrd(0)", "up_proj.weight", "model.layers.0.atn"]
