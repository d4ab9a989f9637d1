"""All rules: built-in ones and those of other packages, found through the same door and imported when needed."""

import importlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from hplint import __version__

BUILT_IN = "hplint_rules"
_STEM = re.compile(r"([a-z]{2,6}\d{3})_([a-z0-9_]+)\.py")


class RuleEntry(NamedTuple):
    """What is known of a rule without importing it."""

    code: str
    name: str
    severity: str
    listens: tuple[str, ...]
    module: str
    page: str

    @property
    def group(self) -> str:
        """The folder that the rule lies in (names, axes, contracts, …)."""
        return self.module.split(".")[-2]


class Registry:
    """Rules by code. ``index_folder`` keeps what the rules say of themselves, so that a warm run imports only those
    that something occurred for; None keeps nothing."""

    def __init__(self, packages: tuple[str, ...] = (BUILT_IN,), index_folder: Path | None = None) -> None:
        files = [f for package in packages for f in _rule_files(package)]
        entries = _read_index(index_folder, files) if index_folder else None
        if entries is None:
            entries = [_describe(module, path) for module, path, _ in files]
            if index_folder:
                _write_index(index_folder, files, entries)
        self.rules: dict[str, RuleEntry] = {e.code: e for e in sorted(entries)}

    def __iter__(self) -> Iterator[RuleEntry]:
        return iter(self.rules.values())

    def get(self, code_or_name: str) -> RuleEntry | None:
        """A rule by code (any case) or by name."""
        found = self.rules.get(code_or_name.upper())
        return found or next((r for r in self if r.name == code_or_name.lower()), None)

    def listening(self, events: set[str]) -> list[RuleEntry]:
        """The rules that at least one of the events concerns, in the order of their codes."""
        return [r for r in self if not events.isdisjoint(r.listens)]

    @staticmethod
    def load(entry: RuleEntry) -> ModuleType:
        """The rule's module, with its RULE and its check(case)."""
        return importlib.import_module(entry.module)

    def page(self, entry: RuleEntry) -> str:
        """The text of the rule's page, front matter included."""
        return Path(entry.page).read_text(encoding="utf-8")


def _rule_files(package: str) -> list[tuple[str, str, int]]:
    """(module, path, mtime in ns) of every rule below a package, sorted."""
    found = []
    for root in importlib.import_module(package).__path__:
        for group in os.scandir(root):
            if group.is_dir() and not group.name.startswith(("_", ".")):
                for file in os.scandir(group.path):
                    if _STEM.fullmatch(file.name):
                        module = f"{package}.{group.name}.{file.name[:-3]}"
                        found.append((module, file.path, file.stat().st_mtime_ns))
    return sorted(found)


def _describe(module: str, path: str) -> RuleEntry:
    rule = importlib.import_module(module).RULE
    return RuleEntry(rule.code, rule.name, rule.severity, tuple(sorted(rule.listens)), module, path[:-3] + ".md")


def _index_file(folder: Path) -> Path:
    return folder / f"rules-{__version__}.json"


def _read_index(folder: Path, files: list[tuple[str, str, int]]) -> list[RuleEntry] | None:
    try:
        data = json.loads(_index_file(folder).read_bytes())
        if data["files"] != [list(f) for f in files]:
            return None
        return [RuleEntry(c, n, s, tuple(li), m, p) for c, n, s, li, m, p in data["rules"]]
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write_index(folder: Path, files: list[tuple[str, str, int]], entries: list[RuleEntry]) -> None:
    target = _index_file(folder)
    scratch = target.with_suffix(f".{os.getpid()}.tmp")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        scratch.write_text(json.dumps({"files": files, "rules": entries}), encoding="utf-8")
        scratch.replace(target)
    except OSError:  # A read-only cache costs speed, never the run.
        return
