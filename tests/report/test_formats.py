"""The table of formats, and which of them a command line asks for."""

from pathlib import Path

import pytest

from hplint.config.options import BY_NAME
from hplint.errors import RequestError
from hplint.report.formats import FORMATS, Outputs, choose_outputs

ACTIONS = {"GITHUB_ACTIONS": "true"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()


@pytest.mark.parametrize(
    ("words", "file", "outputs"),
    [
        ((), None, Outputs("full")),
        (("json",), None, Outputs("json")),
        (("json",), "a.json", Outputs(None, (("json", "a.json"),))),
        (("json:a.json",), None, Outputs(None, (("json", "a.json"),))),
        (("concise", "sarif:a.sarif"), None, Outputs("concise", (("sarif", "a.sarif"),))),
        (("sarif:a.sarif", "json"), "b.json", Outputs(None, (("sarif", "a.sarif"), ("json", "b.json")))),
        (("json:folder/a:b.json",), None, Outputs(None, (("json", "folder/a:b.json"),))),
        (("json:-",), None, Outputs("json")),
        (("json:/dev/stdout", "sarif:a"), None, Outputs("json", (("sarif", "a"),))),
        (("json",), "-", Outputs("json")),
        (("json:a", "json:b"), None, Outputs(None, (("json", "a"), ("json", "b")))),
        ((), "report.txt", Outputs(None, (("full", "report.txt"),))),
        (("json:/dev/null", "sarif:/dev/null"), None, Outputs(None, (("json", "/dev/null"), ("sarif", "/dev/null")))),
    ],
)
def test_formats_go_where_they_are_sent(words: tuple[str, ...], file: str | None, outputs: Outputs) -> None:
    assert choose_outputs(words, file, environment={}) == outputs


@pytest.mark.parametrize(
    ("words", "file", "message", "hint"),
    [
        (("sraif",), None, "`sraif` is not one of `full`, `concise`, ", "did you mean `sarif`?"),
        (("",), None, "`` is not one of", ""),
        (("JSON:a",), None, "`JSON` is not one of", "`json`"),
        (("json,sarif",), None, "`json,sarif` is not one of", "give --output-format several times"),
        (("json:",), None, "`json:` names no file", "such as json:FILE"),
        (("json", "concise"), None, "both `json` and `concise` would go to the same place", "concise:FILE"),
        (("json", "concise:-"), None, "both `json` and `concise` would go to the same place", "concise:FILE"),
        (("json:a", "sarif:./folder/../a"), None, "both `json` and `sarif` would go to ./folder/../a", ""),
        (("json:a", "sarif"), "a", "both `json` and `sarif` would go to a", ""),
        (("json:a",), "b", "no format is left to go to `b`", "leave out one of the names"),
        (("json:none/a.json",), None, "none/a.json cannot be written: there is no folder none", ""),
        (("json",), "none/deep/a.json", "there is no folder none/deep", ""),
        (("json:folder",), None, "folder cannot be written: it is a folder", ""),
        (("json",), "", "an empty path cannot be written", ""),
    ],
)
def test_what_cannot_be_met_is_refused_before_the_work(
    words: tuple[str, ...], file: str | None, message: str, hint: str
) -> None:
    with pytest.raises(RequestError) as caught:
        choose_outputs(words, file, environment={})
    assert message in caught.value.message and hint in caught.value.hint


def test_the_command_line_goes_before_the_configuration() -> None:
    assert choose_outputs((), None, "concise", environment={}).form == "concise"
    assert choose_outputs(("json",), None, "concise", environment={}).form == "json"
    assert choose_outputs((), "out", "sarif", environment={}).files == (("sarif", "out"),)


def test_github_actions_get_annotations_where_nobody_chose_a_format() -> None:
    assert choose_outputs((), None, environment=ACTIONS) == Outputs("full", annotate=True)
    assert choose_outputs((), "a.txt", environment=ACTIONS) == Outputs(None, (("full", "a.txt"),), True)
    for chosen in (
        choose_outputs(("full",), None, environment=ACTIONS),
        choose_outputs(("sarif:a",), None, environment=ACTIONS),
        choose_outputs((), None, "full", environment=ACTIONS),
        choose_outputs((), None, environment={"GITHUB_ACTIONS": "false"}),
    ):
        assert not chosen.annotate


@pytest.mark.parametrize("form", FORMATS)
def test_statistics_are_refused_by_formats_that_cannot_count(form: str) -> None:
    if FORMATS[form].counts:
        assert choose_outputs((form,), None, counting=True, environment={}).form == form
        return
    with pytest.raises(RequestError, match=f"--statistics has no form in `{form}`") as caught:
        choose_outputs((f"{form}:out",), None, counting=True, environment={})
    assert "`grouped`" in caught.value.hint


def test_fixes_are_worked_out_for_those_formats_that_tell_them() -> None:
    telling = {form for form in FORMATS if Outputs(form).needs_fixes}
    assert telling == {"json", "jsonl", "sarif", "rdjson"}
    assert Outputs("full", (("sarif", "a"),)).needs_fixes and not Outputs(None, (("junit", "a"),)).needs_fixes


def test_both_tables_name_the_same_formats() -> None:
    option = BY_NAME["output-format"]
    assert option.kind.split("|") == list(FORMATS)
    assert all(form in option.doc for form in FORMATS)


def test_the_documentation_has_every_format_in_the_words_of_the_table() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "reports.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{name}` | {form.doc} |" for name, form in FORMATS.items()]
    telling = [name for name, form in FORMATS.items() if form.fixes]
    assert f"- {', '.join(telling[:-1])} and {telling[-1]} tell fixes as edits." in page
    counting = [name for name, form in FORMATS.items() if form.counts]
    assert f"counts in {', '.join(counting[:-1])} and {counting[-1]}, and is refused" in page
