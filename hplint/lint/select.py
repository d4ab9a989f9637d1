"""Which rules run: codes, code prefixes and names."""

from collections.abc import Iterable
from dataclasses import dataclass

from hplint.errors import RequestError
from hplint.lint.registry import Registry
from hplint.text.near import near
from hplint.text.wording import listing, quote

UNREADABLE = "HPL001"
EVERY = "ALL"
"""The word for all rules, those of other packages included."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The codes that run. None: all."""

    codes: frozenset[str] | None = None

    def __contains__(self, code: str) -> bool:
        return self.codes is None or code in self.codes


def choose(registry: Registry, select: Iterable[str], ignore: Iterable[str], extend: Iterable[str]) -> Selection:
    """Work out a selection. A longer prefix beats a shorter one, ignore beats select at equal length (as in ruff).

    Raises RequestError, with near names, for a word that names no rule.
    """
    wanted = [(w, True) for w in _words(select) or [EVERY]] + [(w, True) for w in _words(extend)]
    wanted += [(w, False) for w in _words(ignore)]
    if wanted == [(EVERY, True)]:
        return Selection()
    strength: dict[str, tuple[int, bool]] = {}
    for word, runs in wanted:
        for code, length in _meant(registry, word):
            if (length, not runs) >= (strength.get(code, (0, False))[0], not strength.get(code, (0, True))[1]):
                strength[code] = (length, runs)
    codes = frozenset(c for c, (_, runs) in strength.items() if runs)
    if not codes:
        raise RequestError("the selection leaves no rule to run", "`hplint rules` lists all rules")
    # A file that cannot be read is told whatever was selected: nothing in it has been checked.
    return Selection(codes | {UNREADABLE})


def _words(groups: Iterable[str]) -> list[str]:
    return [w for g in groups for w in g.replace(",", " ").split()]


def _meant(registry: Registry, word: str) -> list[tuple[str, int]]:
    prefix = "" if word.upper() == EVERY else word.upper()
    found = [(code, len(prefix)) for code in registry.rules if code.startswith(prefix)]
    if not found and (rule := registry.get(word)):
        found = [(rule.code, len(rule.code))]
    if not found:
        names = near(word, [*registry.rules, *(r.name for r in registry)])
        raise RequestError(
            f"unknown rule {quote(word)}",
            f"did you mean {listing(names, 'or')}?" if names else "`hplint rules` lists all rules",
        )
    return found
