"""SARIF logs, validated against the schema that OASIS published."""

import json
import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from format_samples import EMPTY, MESSAGE, NOWHERE, ODD, ODD_RUN, STDIN, TALL
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import CHECKED, PLACEMENT, RUN

from hplint.lint.diagnostic import Diagnostic
from hplint.lint.registry import Registry, RuleEntry
from hplint.lint.request import Run
from hplint.report import sarif
from hplint.report.sarif import region, sarif_report
from hplint.text.source import Source
from hplint.text.span import Span

ROOT = Path(__file__).parent.parent.parent
GOLDEN = Path(__file__).parent / "golden" / "report.sarif"
FOLDER = "/home/me/training plans"
PAGE = """\
---
code: HPL203
---
# not-a-placement (HPL203)

## What it does
Reports a placement that is none. Such as
`shrd(0)`.

## Why is this bad
The plan is refused.

More of it.

```yaml bad model=toy
- match: a
```
"""


class Pages(Registry):
    """Two rules, one of them without a page: what golden files show must not change with the real pages."""

    def __init__(self) -> None:
        self.rules = {
            "HPL203": RuleEntry("HPL203", "not-a-placement", "error", (), "hplint_rules.axes.x", "page"),
            "HPL005": RuleEntry("HPL005", "duplicate-key", "warning", (), "hplint_rules.files.x", "none"),
        }

    def page(self, entry: RuleEntry) -> str:
        if entry.page == "none":
            raise FileNotFoundError
        return PAGE


@cache
def validator() -> Any:
    schema = json.loads((ROOT / "fixtures" / "schemas" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())


def log(run: Run, folder: str = FOLDER) -> dict[str, Any]:
    """The one run of a log that is valid."""
    value = json.loads(sarif_report(run, Pages(), folder))
    validator().validate(value)
    found: dict[str, Any] = value["runs"][0]
    return found


def uri(path: str, folder: str = FOLDER) -> dict[str, Any]:
    odd = replace(PLACEMENT, source=Source(path, PLACEMENT.source.text))
    location: dict[str, Any] = log(Run(diagnostics=(odd,)), folder)["artifacts"][0]["location"]
    return location


def test_the_log_is_byte_for_byte_as_agreed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "__version__", "1.2.3")
    found = sarif_report(RUN, Pages(), FOLDER)
    validator().validate(json.loads(found))
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(found, encoding="ascii", newline="")
    assert found.encode() == GOLDEN.read_bytes()


def test_the_schema_finds_faults() -> None:
    value = json.loads(sarif_report(RUN, Pages(), FOLDER))
    value["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError, match="fatal"):
        validator().validate(value)


@pytest.mark.parametrize("run", [RUN, ODD_RUN, EMPTY], ids=["samples", "odd", "empty"])
def test_every_log_is_valid_and_its_indices_lead_to_what_they_name(run: Run) -> None:
    found = log(run)
    assert len(found["results"]) == len(run.diagnostics)
    rules = found["tool"]["driver"]["rules"]
    for result, diagnostic in zip(found["results"], run.diagnostics, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == diagnostic.code
        location = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert found["artifacts"][location["index"]]["location"] == location
    assert [rule["id"] for rule in rules] == sorted({d.code for d in run.diagnostics})
    assert found["originalUriBaseIds"]["%SRCROOT%"]["uri"] == "file:///home/me/training%20plans/"


def test_every_rule_brings_its_page() -> None:
    registry = Registry(("hplint_rules",))
    found = tuple(Diagnostic(r.code, r.name, r.severity, "m", PLACEMENT.source) for r in registry)
    value = json.loads(sarif_report(Run(diagnostics=found), registry, FOLDER))
    validator().validate(value)
    for rule in value["runs"][0]["tool"]["driver"]["rules"]:
        assert rule["help"]["markdown"].startswith(f"# {rule['name']} ({rule['id']})\n")
        assert "```yaml bad" not in rule["help"]["markdown"]
        assert rule["shortDescription"]["text"].endswith(".")
        assert len(rule["fullDescription"]["text"]) > len(rule["shortDescription"]["text"])
        assert "\n" not in rule["fullDescription"]["text"] and "helpUri" not in rule


def test_a_rule_without_a_page_or_of_others_is_described_by_what_is_known() -> None:
    rules = {
        rule["id"]: rule
        for rule in log(Run(diagnostics=(*RUN.diagnostics, *ODD_RUN.diagnostics[-1:])))["tool"]["driver"]["rules"]
    }
    assert rules["HPL005"] == {"id": "HPL005", "name": "duplicate-key", "defaultConfiguration": {"level": "warning"}}
    assert rules["ACME001"]["helpUri"] == "https://acme.example/ACME001"
    assert rules["ACME001"]["defaultConfiguration"] == {"level": "note"}


def test_a_finding_has_its_place_its_related_places_and_its_fixes() -> None:
    result = log(Run(diagnostics=(ODD,)))["results"][0]
    source = ODD.source
    assert result["level"] == "error"
    assert result["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 1, "startColumn": 13, "endLine": 1, "endColumn": 14,
    }  # fmt: skip
    assert result["relatedLocations"][0]["id"] == 1
    assert result["relatedLocations"][0]["message"]["text"] == r"here, 100%: \[a](b)"
    assert result["partialFingerprints"] == {"hplint/v1": "HPL101:[a]:params:1"}
    assert result["properties"]["match"] == "[a]" and result["properties"]["module"] == "layers[0]"
    first, second = result["fixes"]
    assert first["description"]["text"] == "Write `𝕐` and `y` (unsafe)" and second["description"]["text"] == "Insert"
    changed = {source.cut(Span(*_offsets(source, r["deletedRegion"]))): r["insertedContent"]["text"]
               for r in first["artifactChanges"][0]["replacements"]}  # fmt: skip
    assert changed == {"x": "y", "a": "𝕐"}


def _offsets(source: Source, found: dict[str, int]) -> tuple[int, int]:
    start = source.offset(found["startLine"], found["startColumn"])
    return start, source.offset(found["endLine"], found["endColumn"])


@given(st.text(st.sampled_from("a\n\r𝕏é\t"), max_size=30), st.data())
@settings(max_examples=60, deadline=None)
def test_regions_lead_back_to_their_spans(text: str, data: st.DataObject) -> None:
    source = Source("a", data.draw(st.sampled_from(["", "\ufeff"])) + text)
    low = len(source.text) - len(text)
    start = data.draw(st.integers(low, len(source.text)))
    end = data.draw(st.integers(start, len(source.text)))
    found = region(source, Span(start, end))
    # Inside a CRLF there is no place of its own.
    assert _offsets(source, found) == (start, end) or "\r\n" in text


def test_a_message_with_every_special_character_comes_through_and_holds_no_link() -> None:
    text = log(Run(diagnostics=(ODD,)))["results"][0]["message"]["text"]
    assert text == MESSAGE.replace("[a](1)", "\\[a](1)") + " (with dp=2,tp=2)\nhelp: did you mean `é`?"


def test_findings_without_a_place_and_of_the_standard_input_stand_at_the_start() -> None:
    places = [r["locations"][0]["physicalLocation"] for r in log(Run(diagnostics=(NOWHERE, STDIN, TALL)))["results"]]
    assert places[0]["region"] == {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1}
    assert places[1]["artifactLocation"] == {"uri": "-", "uriBaseId": "%SRCROOT%", "index": 1}
    assert (places[2]["region"]["startLine"], places[2]["region"]["endLine"]) == (4, 6)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("plans/a.yaml", "plans/a.yaml"),
        ("./plans//b/../a.yaml", "plans/a.yaml"),
        ("a b#c?d%.yaml", "a%20b%23c%3Fd%25.yaml"),
        ("c:d.yaml", "c%3Ad.yaml"),
        ("C:\\plans\\中.yaml", "C%3A%5Cplans%5C%E4%B8%AD.yaml"),
        ("bytes\udcff.yaml", "bytes%FF.yaml"),
        ("/home/me/training plans/a.yaml", "a.yaml"),
    ],
)
def test_paths_below_the_folder_are_relative_uris(path: str, expected: str) -> None:
    assert uri(path) == {"uri": expected, "uriBaseId": "%SRCROOT%", "index": 0}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("../a b.yaml", "file:///home/me/a%20b.yaml"),
        ("/etc/a.yaml", "file:///etc/a.yaml"),
        ("../../../../a.yaml", "file:///a.yaml"),
    ],
)
def test_paths_elsewhere_are_absolute_uris(path: str, expected: str) -> None:
    assert uri(path) == {"uri": expected, "index": 0}


def test_a_folder_of_windows_and_the_root_folder_are_folders_too() -> None:
    run = Run(diagnostics=(PLACEMENT,))
    drive = log(run, "C:/my plans")
    assert drive["originalUriBaseIds"]["%SRCROOT%"]["uri"] == "file:///C:/my%20plans/"
    assert drive["artifacts"][0]["location"]["uri"] == "plans/llama.yaml"
    assert log(run, "/")["originalUriBaseIds"]["%SRCROOT%"]["uri"] == "file:///"
    assert uri("plans/a.yaml", "/") == {"uri": "plans/a.yaml", "uriBaseId": "%SRCROOT%", "index": 0}


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_uris_name_the_path_again_whatever_it_holds(name: str) -> None:
    location = sarif._uri(f"plans/{name}", FOLDER)
    assert re.fullmatch(r"[\w.~%:/-]+", location["uri"], re.ASCII)
    base = f"{FOLDER}/" if "uriBaseId" in location else ""
    spelled = unquote(location["uri"], errors="surrogateescape").removeprefix("file://")
    parts = [p for p in f"{base}{spelled}".split("/") if p not in ("", ".")]
    assert "/" + "/".join(parts) == os.path.normpath(f"{FOLDER}/plans/{name}")


def test_what_the_run_itself_says_are_notifications() -> None:
    invocation = log(ODD_RUN)["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"] == [{"level": "note", "message": {"text": "a note \\[a](1)"}}]
    assert invocation["toolConfigurationNotifications"][0]["message"]["text"] == "no plan in notes.yaml"
    assert log(RUN)["invocations"][0]["executionSuccessful"] is True


def test_files_without_findings_are_artifacts_too() -> None:
    plans = tuple(replace(CHECKED, path=path) for path in ("a.py", "b.yml", "c.json", "d"))
    artifacts = log(Run(plans=(*plans, plans[0])))["artifacts"]
    assert [a["location"]["uri"] for a in artifacts] == ["a.py", "b.yml", "c.json", "d"]
    assert [a.get("sourceLanguage") for a in artifacts] == ["python", "yaml", "json", None]
