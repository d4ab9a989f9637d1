"""Baselines: findings that a project has accepted for now, so that only new ones are told.

The file is one JSON object, ``{"version": 1, "findings": [{"path", "fingerprint", "message", "count"}, …]}``, sorted.
Paths count from the folder of the file. The fingerprint is that of a finding without its ordinal, so that a finding is
known again wherever it stands; ``message`` is for people and tells findings of one fingerprint apart; ``count`` is how
many are alike.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from hplint.errors import RequestError
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.select import UNREADABLE
from hplint.text.wording import quote

VERSION = 1
NEVER = frozenset((UNREADABLE,))
"""Codes that no baseline holds: what cannot be read is not checked, and anything may hide there."""


class Known(NamedTuple):
    """What a finding is known by."""

    path: str
    fingerprint: str
    message: str

    @property
    def code(self) -> str:
        return self.fingerprint.partition(":")[0]


class Baseline:
    """The accepted findings. ``path`` is the file, which need not exist yet."""

    def __init__(self, path: str, known: "Counter[Known]") -> None:
        self.path = path
        self.folder = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120 - no links resolved
        self.known = known
        self.by_path: dict[str, Counter[tuple[str, str]]] = {}
        for item, count in known.items():
            self.by_path.setdefault(item.path, Counter())[item.fingerprint, item.message] = count
        self.stale: dict[str, list[Known]] = {}
        """Path -> entries without a finding, for the files seen so far."""

    def relative(self, path: str) -> str:
        """A path as the file spells it."""
        try:
            return os.path.relpath(path, self.folder).replace(os.sep, "/")
        except ValueError:  # another drive
            return path.replace(os.sep, "/")

    def sort(
        self, path: str, found: Iterable[Diagnostic], ran: Callable[[str], bool]
    ) -> tuple[list[Diagnostic], list[Diagnostic]]:
        """The findings of one file in two: new ones, and accepted ones. Notes which entries are stale, among those
        whose rules ``ran``.

        Of several findings with one fingerprint those with the message of an entry are accepted first."""
        name, diagnostics = self.relative(path), list(found)
        left = Counter(self.by_path.get(name, Counter()))
        accepted: set[int] = set()
        for diagnostic in diagnostics:
            key = (unnumbered(diagnostic), diagnostic.message)
            if left[key] and diagnostic.code not in NEVER:
                left[key] -= 1
                accepted.add(id(diagnostic))
        rest: Counter[str] = Counter()
        for (mark, _), count in left.items():
            rest[mark] += count
        for diagnostic in diagnostics:
            mark = unnumbered(diagnostic)
            if id(diagnostic) not in accepted and rest[mark] and diagnostic.code not in NEVER:
                rest[mark] -= 1
                accepted.add(id(diagnostic))
        self.stale[name] = [
            Known(name, mark, "") for mark, count in rest.items() if count and ran(mark.partition(":")[0])
            for _ in range(count)
        ]  # fmt: skip
        return (
            [d for d in diagnostics if id(d) not in accepted],
            [d for d in diagnostics if id(d) in accepted],
        )

    def count_stale(self) -> int:
        """How many entries stand for nothing any more, those of files that are gone included."""
        gone = (c for k, c in self.known.items() if k.path not in self.stale and not self._exists(k.path))
        return sum(map(len, self.stale.values())) + sum(gone)

    def _exists(self, path: str) -> bool:
        return os.path.exists(os.path.join(self.folder, path))  # noqa: PTH110, PTH118

    def renewed(
        self, found: Iterable[Diagnostic], checked: Iterable[str], ran: Callable[[str, str], bool]
    ) -> "Counter[Known]":
        """What a new baseline holds: all findings of this run, and the entries of which it says nothing, for their
        files are there and were not ``checked``, or their rules did not run in them (``ran(path, code)``)."""
        paths = {self.relative(p): p for p in checked}
        known = Counter(
            Known(self.relative(d.source.path), unnumbered(d), d.message) for d in found if d.code not in NEVER
        )
        seen = {(k.path, k.fingerprint) for k in known}
        for item, count in self.known.items():
            path = paths.get(item.path)
            untouched = self._exists(item.path) if path is None else not ran(path, item.code)
            if untouched and (item.path, item.fingerprint) not in seen:
                known[item] = count
        return known


def unnumbered(diagnostic: Diagnostic) -> str:
    """The fingerprint of a finding without its ordinal."""
    return diagnostic.fingerprint.rpartition(":")[0]


def read_baseline(path: str) -> Baseline:
    """Read a baseline. Raises RequestError for a file that is missing, broken or no baseline."""
    try:
        data = json.loads(Path(path).read_bytes())
    except FileNotFoundError:
        raise RequestError(f"there is no baseline {quote(path)}", "--write-baseline writes it") from None
    except OSError as error:
        raise RequestError(f"the baseline {quote(path)} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise RequestError(f"{quote(path)} is no baseline: it is not JSON", _WRITE) from None
    return Baseline(path, _known(path, data))


_WRITE = "write one with --write-baseline"


def _known(path: str, data: Any) -> "Counter[Known]":
    if not isinstance(data, dict) or not isinstance(data.get("findings"), list) or "version" not in data:
        raise RequestError(f"{quote(path)} is no baseline: it lacks `version` or `findings`", _WRITE)
    if data["version"] != VERSION:
        raise RequestError(f"the baseline {quote(path)} has version {data['version']}, known is {VERSION}", _WRITE)
    known: Counter[Known] = Counter()
    for number, item in enumerate(data["findings"], 1):
        entry = item if isinstance(item, dict) else {}
        count, fields = entry.get("count"), [f for key in Known._fields if isinstance(f := entry.get(key), str)]
        if len(fields) != len(Known._fields) or type(count) is not int or count < 1:
            raise RequestError(f"the baseline {quote(path)} is broken: entry {number} is no finding", _WRITE)
        known[Known(*fields)] += count
    return known


def spelled(known: "Counter[Known]") -> str:
    """The text of a baseline file, the same for the same findings."""
    findings = [{**item._asdict(), "count": count} for item, count in sorted(known.items())]
    return json.dumps({"version": VERSION, "findings": findings}, indent=2, ensure_ascii=False) + "\n"
