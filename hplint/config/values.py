"""Values of a configuration table, checked against the table of options."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from hplint.config.mesh import MeshError, parse_mesh
from hplint.config.options import BY_NAME, names
from hplint.errors import ConfigError
from hplint.text.near import near
from hplint.text.wording import listing, quote


class Table:
    """One TOML table: its parsed values, and the text around them for the lines of complaints.

    ``header`` is the dotted name (``tool.hplint``), "" for the top; ``index`` counts tables of an array.
    """

    def __init__(self, path: str, text: str, header: str, data: dict[str, Any], index: int | None = None) -> None:
        self.path = path
        self.text = text
        self.header = header
        self.data = data
        self.index = index

    def get(self, name: str) -> Any:
        """The value of an option, as its kind wants it; None where it is not written. Raises ConfigError."""
        if name not in self.data:
            return None
        value = self.data[name]
        kind = BY_NAME[name].kind
        if "|" in kind:
            return self._word(name, value, kind.split("|"))
        read, wanted = _KINDS[kind]
        found = read(value) if kind != "meshes" else self._meshes(name, value)
        if found is None:
            raise self._wrong(name, wanted)
        return found

    def texts(self, name: str) -> tuple[str, ...] | None:
        """A string or a list of strings under a key that is no option."""
        if name not in self.data:
            return None
        found = _texts(self.data[name])
        if found is None:
            raise self._wrong(name, "a string or a list of strings")
        return found

    def tables(self, name: str) -> "Iterator[Table]":
        """The tables of an array of tables."""
        value = self.data.get(name, [])
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            raise self._wrong(name, "an array of tables")
        header = f"{self.header}.{name}" if self.header else name
        return (Table(self.path, self.text, header, v, i) for i, v in enumerate(value))

    def refuse_unknown(self, where: str, more: tuple[str, ...]) -> None:
        """Raise ConfigError, with near names, for a key that may not stand at this place."""
        known = [*names(where), *more]
        for key in self.data:
            if key not in known:
                raise ConfigError(f"unknown key {quote(key)}", self.path, self.line(key), _suggestion(key, known))

    def line(self, key: str | None = None) -> int | None:
        """The 1-based line of a key, or of the table's header. None where it is written in a way not looked for."""
        header, count = "", -1
        for number, line in enumerate(self.text.splitlines(), 1):
            if found := _HEADER.match(line):
                header = re.sub(r"[\s\"']", "", found[1])
                count += header == self.header
                if key is None and self._is_here(header, count):
                    return number
                if key and self.index is None and f"{header}.".startswith(f"{self.header}.{key}.".lstrip(".")):
                    return number
            elif key and self._is_here(header, count) and (word := _KEY.match(line)) and word[1] == key:
                return number
        return None

    def _is_here(self, header: str, count: int) -> bool:
        return header == self.header and self.index in (None, count)

    def _wrong(self, name: str, wanted: str) -> ConfigError:
        return ConfigError(
            f"`{name}` must be {wanted}, not {quote(_spell(self.data[name]))}", self.path, self.line(name)
        )

    def _word(self, name: str, value: Any, words: list[str]) -> str:
        if value in words and isinstance(value, str):
            return value
        hint = _suggestion(value, words) if isinstance(value, str) else ""
        wrong = self._wrong(name, listing(words, "or"))
        wrong.hint = hint
        raise wrong

    def _meshes(self, name: str, value: Any) -> tuple[dict[str, int], ...] | None:
        texts = _texts(value)
        try:
            return None if texts is None else tuple(parse_mesh(text) for text in texts)
        except MeshError as error:
            raise ConfigError(str(error), self.path, self.line(name), error.hint) from None


_HEADER = re.compile(r"\s*\[\[?([^\[\]]+)\]")
_KEY = re.compile(r"\s*[\"']?([\w-]+)[\"']?\s*[=.]")


def _suggestion(word: str, known: list[str]) -> str:
    # Underscores for hyphens is the slip that keyword arguments teach.
    found = [word.replace("_", "-")] if word.replace("_", "-") in known else near(word, known)
    return f"did you mean {listing(found, 'or')}?" if found else f"known are {listing(known, most=99)}"


def _spell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _texts(value: Any) -> tuple[str, ...] | None:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(i, str) and i.strip() for i in items):
        return None
    return tuple(items)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _seconds(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < float("inf") else None


def _table(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _ignores(value: Any) -> dict[str, tuple[str, ...]] | None:
    if not isinstance(value, dict):
        return None
    found = {glob: _texts(rules) for glob, rules in value.items()}
    return None if None in found.values() else {glob: rules for glob, rules in found.items() if rules}


def _severities(value: Any) -> dict[str, str] | None:
    return value if isinstance(value, dict) and all(isinstance(v, str) for v in value.values()) else None


_KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "text": (_text, "a string"),
    "path": (_text, "a path"),
    "texts": (_texts, "a string or a list of strings"),
    "paths": (_texts, "a folder or a list of folders"),
    "meshes": (_texts, 'a mesh such as "dp=2,tp=4", or a list of meshes'),
    "count": (_count, "a whole number of at least 1"),
    "flag": (_flag, "true or false"),
    "seconds": (_seconds, "a number of seconds above 0"),
    "table": (_table, "a table"),
    "ignores": (_ignores, 'a table of globs and rules, such as "plans/old/*.yaml" = ["HPL204"]'),
    "severities": (_severities, 'a table of rules and severities, such as HPL204 = "error"'),
}
"""Kind of option -> what reads a value (None: not of this kind), and how it is asked for."""
