"""SARIF 2.1.0: what code scanning services and editors read (OASIS, Static Analysis Results Interchange Format)."""

import json
import os
import re
from typing import Any
from urllib.parse import quote

from hplint import __version__
from hplint.lint.diagnostic import Diagnostic, Fix
from hplint.lint.registry import Registry
from hplint.lint.request import Run
from hplint.report.sarif_rules import LEVELS, rules_of
from hplint.report.words import advice
from hplint.text.source import Source
from hplint.text.span import Span

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
"""The name of the folder that paths count from."""
_LINK = re.compile(r"\[(?=[^\]]*\]\()")
_LANGUAGES = {".yaml": "yaml", ".yml": "yaml", ".py": "python", ".json": "json"}


def sarif_report(run: Run, registry: Registry, folder: str) -> str:
    """The whole log with a line end: one run, the rules that found something, with their pages. Everything outside
    ASCII is escaped. ``folder`` is the absolute path that paths of the run count from."""
    return json.dumps(_Log(run, registry, folder.replace(os.sep, "/")).value(), indent=2) + "\n"


class _Log:
    """The parts of one log, which name rules and files by their places in its lists."""

    def __init__(self, run: Run, registry: Registry, folder: str) -> None:
        self.run = run
        self.folder = folder.rstrip("/")
        self.rules = rules_of(run.diagnostics, registry)
        self.rule_index = {rule["id"]: i for i, rule in enumerate(self.rules)}
        paths = [*(p.path for p in run.plans), *(d.source.path for d in run.diagnostics)]
        self.locations = {path: {**_uri(path, self.folder), "index": i} for i, path in enumerate(dict.fromkeys(paths))}

    def value(self) -> dict[str, Any]:
        driver = {"name": "hplint", "version": __version__, "semanticVersion": __version__, "rules": self.rules}
        run = {
            "tool": {"driver": driver},
            "invocations": [self._invocation()],
            "originalUriBaseIds": {ROOT: {"uri": self._folder_uri()}},
            "artifacts": [self._artifact(path) for path in self.locations],
            "columnKind": "unicodeCodePoints",
            "newlineSequences": ["\r\n", "\n", "\r"],
            "results": [self._result(d) for d in self.run.diagnostics],
        }
        return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}

    def _invocation(self) -> dict[str, Any]:
        refused = [_notification(f"no plan in {path}", "error") for path in self.run.without_plan]
        return {
            "executionSuccessful": not refused,
            "workingDirectory": {"uri": self._folder_uri()},
            "toolExecutionNotifications": [_notification(note, "note") for note in self.run.notes],
            "toolConfigurationNotifications": refused,
        }

    def _result(self, diagnostic: Diagnostic) -> dict[str, Any]:
        source = diagnostic.source
        place: dict[str, Any] = {"physicalLocation": self._physical(source, diagnostic.span)}
        if diagnostic.modules:
            place["logicalLocations"] = [{"fullyQualifiedName": m} for m in diagnostic.modules[:1] if m]
        value: dict[str, Any] = {
            "ruleId": diagnostic.code,
            "ruleIndex": self.rule_index[diagnostic.code],
            "level": LEVELS[diagnostic.severity],
            "message": {"text": _plain(advice(diagnostic))},
            "locations": [place],
            "partialFingerprints": {"hplint/v1": diagnostic.fingerprint},
            "properties": {
                "match": diagnostic.match,
                "module": diagnostic.module,
                "field": diagnostic.field,
                "topology": diagnostic.topology,
            },
        }
        if diagnostic.related:
            value["relatedLocations"] = [
                {"id": n, "message": {"text": _plain(r.message)}, "physicalLocation": self._physical(source, r.span)}
                for n, r in enumerate(diagnostic.related, 1)
            ]
        if diagnostic.fixes:
            value["fixes"] = [self._fix(source, fix) for fix in diagnostic.fixes]
        return value

    def _fix(self, source: Source, fix: Fix) -> dict[str, Any]:
        replacements = [
            {"deletedRegion": region(source, edit.span), "insertedContent": {"text": edit.text}}
            for edit in fix.edits
        ]  # fmt: skip
        return {
            "description": {"text": _plain(fix.title if fix.safe else f"{fix.title} (unsafe)")},
            "artifactChanges": [{"artifactLocation": self.locations[source.path], "replacements": replacements}],
        }

    def _physical(self, source: Source, span: Span) -> dict[str, Any]:
        return {"artifactLocation": self.locations[source.path], "region": region(source, span)}

    def _artifact(self, path: str) -> dict[str, Any]:
        language = _LANGUAGES.get(os.path.splitext(path)[1])  # noqa: PTH122 - a URI's path, not one of this system
        value: dict[str, Any] = {"location": self.locations[path], "encoding": "utf-8"}
        return value | {"sourceLanguage": language} if language else value

    def _folder_uri(self) -> str:
        return _file_uri(f"{self.folder}/")


def region(source: Source, span: Span) -> dict[str, int]:
    """A place by lines and columns, 1-based, the end column exclusive. No offsets: whether a byte order mark counts in
    them is read in two ways."""
    start, end = source.position(span.start), source.position(max(span))
    return {
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    }


def _uri(path: str, folder: str) -> dict[str, str]:
    """A path below the folder relative to it, any other as an absolute URI."""
    joined = path if _is_absolute(path) else f"{folder}/{path}"
    root = re.match(r"[A-Za-z]:/|/", joined)
    lead = root[0] if root else ""
    full = lead + _dotless(joined[len(lead) :])
    if full.startswith(f"{folder}/"):
        return {"uri": _quoted(full[len(folder) + 1 :]), "uriBaseId": ROOT}
    return {"uri": _file_uri(full)}


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or (os.name == "nt" and re.match(r"[A-Za-z]:/", path) is not None)


def _dotless(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _file_uri(path: str) -> str:
    return f"file://{_quoted(path)}" if path.startswith("/") else f"file:///{_quoted(path)}"


def _quoted(path: str) -> str:
    drive = re.match(r"[A-Za-z]:(?=/)", path)
    lead = drive[0] if drive else ""
    return lead + quote(os.fsencode(path[len(lead) :]))


def _plain(text: str) -> str:
    """A message in which nothing reads as a link: ``[text](target)`` is one even in plain text."""
    return _LINK.sub(r"\\[", text)


def _notification(text: str, level: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": _plain(text)}}
