"""Where each setting comes from: the command line, a directive, a table of the configuration file, or nowhere."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hplint.config.glob import matches
from hplint.config.options import OPTIONS, Option
from hplint.config.values import Table

COMMAND_LINE = "command line"
DIRECTIVE = "directive"
PLANS = "plans"
CONFIG = "config"
DEFAULT = "default"
ADDED_UP = frozenset(("src", "ignore", "extend-select", "per-file-ignores", "severity"))
"""Options for which all that is said counts, not the first alone."""


class Setting(NamedTuple):
    """One value of an option and who says it: one of the words above, with the place where a file says it.

    ``value`` is plain (strings, numbers, flags, lists, tables); a default is in words. ``line`` is 1-based.
    """

    option: Option
    value: Any
    source: str
    path: str | None = None
    line: int | None = None


class Said(NamedTuple):
    """A value that a directive gives: key (with underscores), text, and the line that it stands on."""

    key: str
    value: str
    path: str
    line: int


def settings(
    table: Table | None,
    given: Mapping[str, Any],
    directives: Iterable[Said] = (),
    file: str | None = None,
) -> list[Setting]:
    """Every option, in the order of the table of options, with the values that count.

    ``given`` maps names of options to what the command line says. ``file`` is a plan's path as the globs of ``plans``
    tables see it (None: these tables are left out).
    """
    spoken = list(directives)
    found: list[Setting] = []
    for option in OPTIONS:
        said = [*_from_command_line(option, given), *_from_directives(option, spoken), *_from_file(option, table, file)]
        if not said:
            found.append(Setting(option, option.default, DEFAULT))
        elif option.name in ADDED_UP:
            found += said
        else:
            # Directives and lists may say an option several times in one place.
            first = said[0]
            found += [s for s in said if s.source == first.source and (s is first or first.source == DIRECTIVE)]
    return found


def plans_tables(table: Table | None) -> list[tuple[tuple[str, ...], list[Setting]]]:
    """The ``plans`` tables of a configuration file: their globs, and what each says."""
    tables = table.tables(PLANS) if table else ()
    return [(t.texts("files") or (), [s for o in OPTIONS for s in _of_table(o, t, PLANS)]) for t in tables]


def _from_command_line(option: Option, given: Mapping[str, Any]) -> list[Setting]:
    return [Setting(option, given[option.name], COMMAND_LINE)] if option.name in given else []


def _from_directives(option: Option, directives: list[Said]) -> list[Setting]:
    if DIRECTIVE not in option.where:
        return []
    said = [d for d in directives if d.key == option.name.replace("-", "_")]
    # The last one of a key counts, but meshes and folders add up.
    counted = said if option.kind in ("meshes", "paths") else said[-1:]
    return [Setting(option, _typed(option, d.value), DIRECTIVE, d.path, d.line) for d in counted]


def _typed(option: Option, text: str) -> Any:
    """A directive's text as the value that a configuration file would write for it."""
    match option.kind:
        case "count":
            return int(text)
        case "flag":
            return text == "true"
    return text


def _from_file(option: Option, table: Table | None, file: str | None) -> list[Setting]:
    if table is None:
        return []
    found: list[Setting] = []
    if file is not None:
        for plans in reversed(list(table.tables(PLANS))):
            if any(matches(glob, file) for glob in plans.texts("files") or ()):
                found += _of_table(option, plans, PLANS)
    return found + _of_table(option, table, CONFIG)


def _of_table(option: Option, table: Table, source: str) -> list[Setting]:
    if option.name not in table.data or source not in option.where:
        return []
    return [Setting(option, table.data[option.name], source, table.path, table.line(option.name))]
