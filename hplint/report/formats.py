"""The one table of report formats, and which of them a command line asks for."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hplint.errors import RequestError
from hplint.report.writer import refuse_unwritable
from hplint.text.near import near
from hplint.text.wording import listing, quote


class Format(NamedTuple):
    """``fixes``: it tells fixes, so they must be realised. ``counts``: it has a form for --statistics."""

    doc: str
    fixes: bool = False
    counts: bool = False


FORMATS = {
    "full": Format("code frames", counts=True),
    "concise": Format("one line a finding", counts=True),
    "grouped": Format("one line a finding, below its file", counts=True),
    "json": Format("one JSON object", fixes=True, counts=True),
    "jsonl": Format("one JSON object a finding and line", fixes=True, counts=True),
    "sarif": Format("SARIF 2.1.0, for code scanning", fixes=True),
    "github": Format("annotations of GitHub Actions"),
    "gitlab": Format("GitLab's code quality report"),
    "junit": Format("JUnit XML, a test suite a file"),
    "rdjson": Format("reviewdog's JSON, with suggestions", fixes=True),
    "pylint": Format("the lines that pylint prints"),
}
DEFAULT = "full"
STREAM = ("-", "/dev/stdout")
"""Names of the standard output in place of a file's."""


class Outputs(NamedTuple):
    """Where a report goes. ``form`` is the format for the standard output, None when that shows the summary alone;
    ``files`` are (format, path). ``annotate``: annotations for GitHub Actions follow the report."""

    form: str | None = DEFAULT
    files: tuple[tuple[str, str], ...] = ()
    annotate: bool = False

    @property
    def formats(self) -> tuple[str, ...]:
        """All formats that are written."""
        return (*((self.form,) if self.form else ()), *(form for form, _ in self.files))

    @property
    def needs_fixes(self) -> bool:
        """Whether some format tells fixes."""
        return any(FORMATS[form].fixes for form in self.formats)


def choose_outputs(
    words: Sequence[str],
    file: str | None,
    configured: str | None = None,
    counting: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Outputs:
    """The outputs that ``FORMAT`` or ``FORMAT:FILE`` words ask for; ``file`` is the file of the format without one.

    Without words the configuration decides, and where that is silent too, a run inside GitHub Actions annotates beside
    its default report. Raises RequestError for unknown formats, for files that cannot be, where two formats would share
    a place, and where ``counting`` (--statistics) has no form in one.
    """
    annotate = not words and configured is None and environment.get("GITHUB_ACTIONS") == "true"
    form: str | None = None
    files: list[tuple[str, str]] = []
    for word in words or (configured or DEFAULT,):
        name, path = _parsed(word)
        if path not in STREAM:
            files.append((name, path))
        elif form is None:
            form = name
        else:
            raise RequestError(
                f"--output-format: both {quote(form)} and {quote(name)} would go to the same place",
                f"give one of them a file of its own: --output-format {name}:FILE",
            )
    if file is not None and file not in STREAM:
        if form is None:
            raise RequestError(
                f"--output-file: no format is left to go to {quote(file)}",
                "each --output-format names a file of its own; leave out one of the names, or --output-file",
            )
        files.append((form, file))
        form = None
    _refuse_files(files)
    outputs = Outputs(form, tuple(files), annotate)
    if counting:
        _refuse_uncounted(outputs)
    return outputs


def _refuse_uncounted(outputs: Outputs) -> None:
    for form in outputs.formats:
        if not FORMATS[form].counts:
            able = [name for name, entry in FORMATS.items() if entry.counts]
            raise RequestError(
                f"--statistics has no form in {quote(form)}", f"formats that can count are {listing(able)}"
            )


def _parsed(word: str) -> tuple[str, str]:
    name, colon, path = word.partition(":")
    if name not in FORMATS:
        names = near(name, FORMATS)
        hint = f"did you mean {listing(names, 'or')}?" if names else ""
        if "," in name and set(name.split(",")) <= set(FORMATS):
            hint = "for several formats, give --output-format several times"
        raise RequestError(f"--output-format: {quote(name)} is not one of {listing(FORMATS, 'or', 99)}", hint)
    if colon and not path:
        raise RequestError(f"--output-format: {quote(word)} names no file", f"such as {name}:FILE, or {name} alone")
    return name, path or STREAM[0]


def _refuse_files(files: list[tuple[str, str]]) -> None:
    taken: dict[str, str] = {}
    for form, path in files:
        refuse_unwritable(path)
        place = os.path.abspath(path)  # noqa: PTH100 - `..` goes, links stay
        if place in taken and not place.startswith("/dev/"):
            raise RequestError(f"--output-format: both {quote(taken[place])} and {quote(form)} would go to {path}")
        taken[place] = form
