"""Severities as users set them: ``HPL204=error``, ``HPL3=off``."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hplint.errors import RequestError
from hplint.lint.diagnostic import SEVERITIES
from hplint.lint.registry import Registry
from hplint.lint.select import UNREADABLE, meant
from hplint.text.near import near
from hplint.text.wording import listing, quote

OFF = "off"
LEVELS = (*SEVERITIES, OFF)


class Severities(NamedTuple):
    """``levels`` are the severities that rules get, by code; the rules of ``off`` do not run."""

    levels: Mapping[str, str] = {}
    off: frozenset[str] = frozenset()


def read_severities(registry: Registry, asked: Iterable[tuple[str, str, str]]) -> Severities:
    """Work out severities from (rule, level, where it is written), the weakest source first. A longer prefix beats a
    shorter one, what comes later beats what comes first.

    Raises RequestError for unknown rules and levels, and for HPL001, which stays an error: nothing in a file that
    cannot be read has been checked.
    """
    strength: dict[str, tuple[int, str]] = {}
    for word, level, where in asked:
        if level not in LEVELS:
            names = near(level, LEVELS)
            hint = f"did you mean {listing(names, 'or')}?" if names else f"severities are {listing(LEVELS)}"
            raise RequestError(f"{where}: there is no severity {quote(level)}", hint)
        found = meant(registry, word, where)
        if [code for code, _ in found] == [UNREADABLE] and level != "error":
            advice = "leave the file out, or say `# hplint: ignore-file` in it"
            raise RequestError(f"{where}: {UNREADABLE} stays an error: what cannot be read is not checked", advice)
        for code, length in found:
            if length >= strength.get(code, (0, ""))[0] and code != UNREADABLE:
                strength[code] = (length, level)
    return Severities(
        {code: level for code, (_, level) in strength.items() if level != OFF},
        frozenset(code for code, (_, level) in strength.items() if level == OFF),
    )


def parse_severity(text: str) -> list[tuple[str, str]]:
    """``HPL204=error,HPL3=off`` as pairs. Raises RequestError."""
    pairs = []
    for part in text.replace(",", " ").split():
        word, equals, level = part.partition("=")
        if not equals or not word or not level:
            raise RequestError(
                f"--severity: {quote(part)} is not RULE=SEVERITY", "write, say, HPL204=error or HPL3=off"
            )
        pairs.append((word, level))
    return pairs
