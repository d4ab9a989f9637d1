"""All rules: built-in ones and those of other packages, found through the same door and imported when needed."""

import importlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from hplint import __version__
from hplint.errors import HplintError
from hplint.lint.diagnostic import SEVERITIES, Finding
from hplint.lint.rule_packages import BUILT_IN, RulePackage, broken, find_packages, located, search_state
from hplint.text.wording import quote

if TYPE_CHECKING:
    from hplint.lint.case import Case

_STEM = re.compile(r"([a-z]{2,6}\d{3})_([a-z0-9_]+)\.py")
OWN_PREFIX = "HPL"
"""Codes that begin so are hplint's own."""


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

    @property
    def is_built_in(self) -> bool:
        """Whether it comes with hplint itself."""
        return self.module.startswith(f"{BUILT_IN}.")


class Registry:
    """Rules by code. ``packages`` are the packages that they come from, by default hplint's own and those that
    installed distributions name. ``index_folder`` keeps what the rules say of themselves, so that a warm run imports
    only those that something occurred for; None keeps nothing.

    Raises RequestError for rules of others that cannot be loaded or that clash.
    """

    def __init__(self, packages: tuple[str, ...] | None = None, index_folder: Path | None = None) -> None:
        state = [__version__, packages, search_state()] if index_folder else []
        entries = _read_index(index_folder, state) if index_folder else None
        if entries is None:
            found = find_packages() if packages is None else tuple(located(name) for name in packages)
            files = _rule_files(found)
            entries = _described(found, files)
            if index_folder:
                _write_index(index_folder, state, found, files, entries)
        self.rules: dict[str, RuleEntry] = {e.code: e for e in entries}

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

    def check(self, entry: RuleEntry, case: "Case") -> Iterator[Finding]:
        """What a rule finds. Raises HplintError, which names the rule, where one of another package fails."""
        if entry.is_built_in or os.environ.get("HPLINT_DEBUG"):
            yield from self.load(entry).check(case)
            return
        try:
            for finding in self.load(entry).check(case):
                if not isinstance(finding, Finding):
                    raise TypeError(f"a rule yields findings, not {type(finding).__name__}")
                yield finding
        except Exception as error:
            raise HplintError(
                f"the rule {entry.code} ({entry.module}) failed: {type(error).__name__}: {error}",
                f"`--ignore {entry.code}` leaves it out; tell those who wrote it (HPLINT_DEBUG=1 shows the traceback)",
            ) from None

    def page(self, entry: RuleEntry) -> str:
        """The text of the rule's page, front matter included."""
        return Path(entry.page).read_text(encoding="utf-8")


def rules_in(root: Path) -> list[Path]:
    """The files of rules in the folder of a package, in name order."""
    return [Path(path) for _, path, _ in _rule_files((RulePackage("", "", (str(root),)),))]


_File = tuple[str, str, int]
"""Module, path, and time of the last change in ns."""


def _rule_files(packages: tuple[RulePackage, ...]) -> list[_File]:
    """Every file of a rule in the packages, sorted: beside their ``__init__`` or one folder deeper."""
    found: list[_File] = []
    for package in packages:
        for root in package.roots:
            for item in os.scandir(root):
                if item.is_dir() and not item.name.startswith(("_", ".")):
                    found += _files(os.scandir(item.path), f"{package.name}.{item.name}")
            found += _files(os.scandir(root), package.name)
    return sorted(found)


def _files(folder: Iterator[os.DirEntry[str]], package: str) -> list[_File]:
    return [(f"{package}.{f.name[:-3]}", f.path, f.stat().st_mtime_ns) for f in folder if _STEM.fullmatch(f.name)]


def _described(packages: tuple[RulePackage, ...], files: list[_File]) -> list[RuleEntry]:
    """What the rules say of themselves, by code. Raises RequestError where one of another package cannot be used."""
    by_code: dict[str, RuleEntry] = {}
    by_name: dict[str, RuleEntry] = {}
    # hplint's own rules come first: what clashes with them is at fault.
    for module, path, _ in sorted(files, key=lambda f: (not f[0].startswith(f"{BUILT_IN}."), f)):
        package = next(p for p in packages if module.startswith(f"{p.name}."))
        entry = _describe(module, path, package)
        taken = by_code.get(entry.code) or by_name.get(entry.name)
        if taken:
            what = f"code {entry.code}" if entry.code == taken.code else f"name {entry.name}"
            raise broken(module, package, f"the {what} belongs to {quote(taken.module)}")
        by_code[entry.code] = by_name[entry.name] = entry
    return sorted(by_code.values())


def _describe(module: str, path: str, package: RulePackage) -> RuleEntry:
    if package.name == BUILT_IN:
        rule = importlib.import_module(module).RULE
    else:
        rule = _foreign(module, path, package)
    return RuleEntry(rule.code, rule.name, rule.severity, tuple(sorted(rule.listens)), module, path[:-3] + ".md")


def _foreign(module: str, path: str, package: RulePackage) -> Any:
    """The RULE of a module of another package, checked: what is wrong with it must not surface later."""
    try:
        loaded = importlib.import_module(module)
        rule = loaded.RULE
        code, name, severity, listens = rule.code, rule.name, rule.severity, rule.listens
        texts = all(isinstance(t, str) for t in (code, name, severity, *listens))
    except Exception as error:
        raise broken(module, package, f"{type(error).__name__}: {error}") from None
    stem = Path(path).stem
    if not texts or not listens or not callable(getattr(loaded, "check", None)):
        raise broken(module, package, "it needs a RULE made by `on_fault`, `on_plan` or `on_injection`, and a `check`")
    if code.startswith(OWN_PREFIX):
        raise broken(module, package, f"codes that begin with {OWN_PREFIX} are hplint's own; take a prefix of your own")
    if stem != f"{code.lower()}_{name.replace('-', '_')}" or code != code.upper():
        raise broken(module, package, f"a rule {code} {name} belongs into {code.lower()}_{name.replace('-', '_')}.py")
    if severity not in SEVERITIES:
        raise broken(module, package, f"{quote(severity)} is no severity; these are {', '.join(SEVERITIES)}")
    return rule


def _index_file(folder: Path) -> Path:
    return folder / f"rules-{__version__}.json"


def _read_index(folder: Path, state: list[Any]) -> list[RuleEntry] | None:
    try:
        data = json.loads(_index_file(folder).read_bytes())
        if data["state"] != _plain(state):
            return None
        packages = tuple(RulePackage(n, o, tuple(r)) for n, o, r in data["packages"])
        if packages[0] != located(packages[0].name) or data["files"] != _plain(_rule_files(packages)):
            return None
        return [RuleEntry(c, n, s, tuple(li), m, p) for c, n, s, li, m, p in data["rules"]]
    except (OSError, ValueError, TypeError, KeyError, IndexError):
        return None


def _plain(value: Any) -> Any:
    """A value as JSON gives it back."""
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def _write_index(
    folder: Path, state: list[Any], packages: tuple[RulePackage, ...], files: list[_File], entries: list[RuleEntry]
) -> None:
    target = _index_file(folder)
    scratch = target.with_suffix(f".{os.getpid()}.tmp")
    data = {"state": state, "packages": packages, "files": files, "rules": entries}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        scratch.write_text(json.dumps(data), encoding="utf-8")
        scratch.replace(target)
    except OSError:  # A read-only cache costs speed, never the run.
        return
