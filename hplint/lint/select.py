"""Which rules run: codes, code prefixes and names."""

from collections.abc import Collection, Iterable
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


def choose(
    registry: Registry,
    select: Iterable[str],
    ignore: Iterable[str],
    extend: Iterable[str],
    off: Collection[str] = (),
) -> Selection:
    """Work out a selection. A longer prefix beats a shorter one, ignore beats select at equal length (as in ruff).
    ``off`` are codes that are switched off whatever is selected.

    Raises RequestError, with near names, for a word that names no rule.
    """
    wanted = [(w, True) for w in words(select) or [EVERY]] + [(w, True) for w in words(extend)]
    wanted += [(w, False) for w in words(ignore)]
    if wanted == [(EVERY, True)] and not off:
        return Selection()
    strength: dict[str, tuple[int, bool]] = {}
    for word, runs in wanted:
        for code, length in meant(registry, word):
            if (length, not runs) >= (strength.get(code, (0, False))[0], not strength.get(code, (0, True))[1]):
                strength[code] = (length, runs)
    codes = frozenset(c for c, (_, runs) in strength.items() if runs).difference(off)
    if not codes or (off and codes == {UNREADABLE}):
        raise RequestError("the selection leaves no rule to run", "`hplint rules` lists all rules")
    # A file that cannot be read is told whatever was selected: nothing in it has been checked.
    return Selection(codes | {UNREADABLE})


def words(groups: Iterable[str]) -> list[str]:
    """The words of lists that are separated by commas or white space."""
    return [w for g in groups for w in g.replace(",", " ").split()]


def codes_of(registry: Registry, word: str) -> list[str]:
    """The codes that a code, a prefix of codes, a name or ``ALL`` means, in order; none for an unknown word."""
    prefix = "" if word.upper() == EVERY else word.upper()
    found = [code for code in registry.rules if code.startswith(prefix)]
    if not found and (rule := registry.get(word)):
        found = [rule.code]
    return found


def meant(registry: Registry, word: str, where: str = "") -> list[tuple[str, int]]:
    """The same, each with the length of what the word says of it: the longer, the more it counts. Raises RequestError,
    with near names and ``where`` the word was written, for one that names no rule."""
    found = codes_of(registry, word)
    if found:
        exact = not found[0].startswith(word.upper())
        length = 0 if word.upper() == EVERY else len(found[0]) if exact else len(word)
        return [(code, length) for code in found]
    names = near(word, [*registry.rules, *(r.name for r in registry)])
    raise RequestError(
        f"{where}{': ' if where else ''}unknown rule {quote(word)}",
        f"did you mean {listing(names, 'or')}?" if names else "`hplint rules` lists all rules",
    )
