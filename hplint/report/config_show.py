"""The settings of a project, for people and for programs."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hplint.config.options import OPTIONS
from hplint.config.origin import COMMAND_LINE, DEFAULT, Setting
from hplint.report.style import Style
from hplint.report.visible import printable, width

Tables = Sequence[tuple[tuple[str, ...], list[Setting]]]
"""The globs of each ``plans`` table, and what it says."""


def config_show(
    path: str | None, file: str | None, settings: list[Setting], tables: Tables, style: Style
) -> Iterator[str]:
    """Which configuration file counts, then a line for every value: option, value, where it comes from.

    ``file`` is the plan that the settings are for; without one the ``plans`` tables follow by themselves.
    """
    yield f"configuration: {style.paint(_shown(path), 'path')}" if path else "configuration: no file found"
    if file:
        yield f"plan: {style.paint(file, 'path')}"
    yield from _rows(settings, style)
    for globs, said in tables if not file else ():
        yield ""
        yield f"for {', '.join(globs)}"
        yield from _rows(said, style)


def config_json(path: str | None, file: str | None, settings: list[Setting], tables: Tables) -> str:
    """One JSON object with a line end; ``value`` is null where nobody says anything, and ``default`` is in words."""
    data = {
        "version": 1,
        "config": path,
        "plan": file,
        "settings": [_plain(s) for s in settings],
        "plans": [{"files": list(globs), "settings": [_plain(s) for s in said]} for globs, said in tables],
    }
    return json.dumps(data, indent=2) + "\n"


def options_table() -> str:
    """All options as a Markdown table, with a line end."""
    rows = [("Option", "Values", "Default", "Where", "What it says"), ("---",) * 5]
    for option in OPTIONS:
        where = ", ".join(name for key, name in PLACES.items() if key in option.where)
        rows.append((f"`{option.name}`", _values(option.kind), option.default, where, option.doc))
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in rows)


PLACES = {
    "cli": "command line",
    "config": "file",
    "plans": "`[[plans]]`",
    "directive": "directive",
}
"""Place of the table of options -> how the documentation calls it."""
_VALUES = {
    "text": "text",
    "texts": "text, or a list of texts",
    "meshes": "mesh, or a list of meshes",
    "count": "whole number of at least 1",
    "flag": "true or false",
    "seconds": "seconds",
    "path": "path",
    "paths": "folder, or a list of folders",
    "table": "table",
    "ignores": "table of globs and rules",
    "severities": "table of rules and severities",
}


def _values(kind: str) -> str:
    return ", ".join(f"`{word}`" for word in kind.split("|")) if "|" in kind else _VALUES.get(kind, kind)


def _rows(settings: list[Setting], style: Style) -> Iterator[str]:
    names = max((width(s.option.name) for s in settings), default=0)
    values = [printable(_spelled(s), style) for s in settings]
    room = min(60, max((width(v) for v in values), default=0))
    previous = None
    for setting, value in zip(settings, values, strict=True):
        name = "" if setting.option.name == previous else setting.option.name
        previous = setting.option.name
        origin = style.paint(_origin(setting), "dim" if setting.source == DEFAULT else "path")
        yield f"{name:<{names}}  {value}{' ' * max(0, room - width(value))}  {origin}"


def _spelled(setting: Setting) -> str:
    if setting.source == DEFAULT:
        return str(setting.value)
    return _word(setting.value)


def _word(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case list() | tuple():
            return "; ".join(map(_word, value))
        case dict():
            return f"{{{', '.join(f'{k} = {_word(v)}' for k, v in value.items())}}}"
    return str(value)


def _origin(setting: Setting) -> str:
    if setting.path is None:
        return setting.source
    return _shown(setting.path) + (f":{setting.line}" if setting.line else "")


def _shown(path: str) -> str:
    """A path as people would write it here."""
    try:
        return Path(path).relative_to(Path.cwd()).as_posix()
    except ValueError:
        return Path(path).as_posix()


def _plain(setting: Setting) -> dict[str, Any]:
    value = None if setting.source == DEFAULT else setting.value
    return {
        "option": setting.option.name,
        "value": list(value) if isinstance(value, tuple) else value,
        "default": setting.option.default,
        "source": setting.source.replace(" ", "-") if setting.source == COMMAND_LINE else setting.source,
        "path": setting.path,
        "line": setting.line,
    }
