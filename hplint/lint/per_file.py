"""Per-file ignores: rules that keep quiet in the files that a glob matches."""

import os
from collections.abc import Iterable
from typing import NamedTuple

from hplint.config.glob import matches
from hplint.errors import RequestError
from hplint.lint.registry import Registry
from hplint.lint.select import meant, words
from hplint.text.wording import quote


class PerFile(NamedTuple):
    """A glob over paths that count from the folder ``base``, and the codes that are ignored there."""

    glob: str
    base: str
    codes: frozenset[str]


def read_per_file(registry: Registry, asked: Iterable[tuple[str, Iterable[str], str, str]]) -> tuple[PerFile, ...]:
    """Work out per-file ignores from (glob, rules, base, where it is written). Raises RequestError, with near
    names, for unknown rules."""
    found = []
    for glob, rules, base, where in asked:
        codes = frozenset(code for word in words(rules) for code, _ in meant(registry, word, where))
        found.append(PerFile(glob, base, codes))
    return tuple(found)


def parse_per_file(text: str) -> tuple[str, tuple[str, ...]]:
    """``plans/*.yaml:HPL204,HPL3`` as a glob and rules. Raises RequestError."""
    glob, colon, rules = text.rpartition(":")
    if not colon or not glob.strip() or not words([rules]):
        hint = "write, say, plans/old/*.yaml:HPL204,HPL3"
        raise RequestError(f"--per-file-ignores: {quote(text)} is not GLOB:RULES", hint)
    return glob.strip(), tuple(words([rules]))


def ignored_in(path: str, rules: Iterable[PerFile]) -> frozenset[str]:
    """The codes that are ignored in a file."""
    codes: frozenset[str] = frozenset()
    for rule in rules:
        if matches(rule.glob, _relative(path, rule.base)):
            codes |= rule.codes
    return codes


def _relative(path: str, base: str) -> str:
    try:
        return os.path.relpath(path, base).replace(os.sep, "/")
    except ValueError:  # another drive
        return path.replace(os.sep, "/")
