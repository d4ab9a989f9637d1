"""From pyproject.toml or hplint.toml to a Config."""

import os
from collections.abc import Mapping
from typing import Any

from hplint.config.config import Config, PlanRule, PlanSettings
from hplint.errors import ConfigError

OWN_FILE = "hplint.toml"
SHARED_FILE = "pyproject.toml"


def find_config(folder: str) -> str | None:
    """The configuration file that counts for a folder: the nearest hplint.toml, or pyproject.toml with a
    ``[tool.hplint]``, in it or above it. Costs two looks at the disk a level."""
    at = os.path.abspath(folder)
    while True:
        own, shared = os.path.join(at, OWN_FILE), os.path.join(at, SHARED_FILE)
        if os.path.isfile(own):
            return own
        # Most pyproject.toml files are about other things: the word alone saves parsing them.
        if os.path.isfile(shared) and b"hplint" in _bytes(shared) and _has_table(shared):
            return shared
        above = os.path.dirname(at)
        if above == at:
            return None
        at = above


def load_config(folder: str) -> Config:
    """The settings that count for a folder; ``Config()`` where no file gives any. Raises ConfigError."""
    path = find_config(folder)
    return Config() if path is None else read_config(path)


def read_config(path: str) -> Config:
    """The settings of one file: ``[tool.hplint]`` of a pyproject.toml, the whole of any other file.

    Raises ConfigError for a file that cannot be read, broken TOML, unknown keys and wrong types.
    """
    from hplint.config.values import Table

    text = _text(path)
    data = _parse(path, text)
    base = os.path.dirname(os.path.abspath(path))
    header = ""
    if os.path.basename(path) == SHARED_FILE:
        header = "tool.hplint"
        data = data.get("tool", {}).get("hplint", {})
        if not isinstance(data, dict):
            raise ConfigError("`tool.hplint` must be a table", path)
    elif isinstance(data.get("tool"), dict) and "hplint" in data["tool"]:
        raise ConfigError("`[tool.hplint]` belongs into pyproject.toml", path, hint="here the keys stand at the top")
    table = Table(path, text, header, data)
    table.refuse_unknown("config", ("plans",))
    return Config(
        path=path,
        base=base,
        defaults=_settings(table, base),
        plans=tuple(_rule(t, base) for t in table.tables("plans")),
        seq_len=table.get("seq-len"),
        select=table.get("select") or (),
        ignore=table.get("ignore") or (),
        extend_select=table.get("extend-select") or (),
        planner=table.get("planner") or "built-in",
        boundaries=_joined(base, table.get("boundaries")),
        families=table.get("families") or {},
        build_timeout=table.get("build-timeout"),
    )


def _settings(table: Any, base: str) -> PlanSettings:
    return PlanSettings(
        model=table.get("model"),
        mesh=table.get("mesh") or (),
        ep=table.get("ep"),
        sequence_parallel=table.get("sequence-parallel"),
        loss_parallel=table.get("loss-parallel"),
        derive=table.get("derive"),
        src=tuple(os.path.join(base, folder) for folder in table.get("src") or ()),
    )


def _rule(table: Any, base: str) -> PlanRule:
    table.refuse_unknown("plans", ("files",))
    files = table.texts("files")
    if not files:
        raise ConfigError("a `plans` table needs `files`", table.path, table.line(), 'such as files = "plans/*.yaml"')
    return PlanRule(files, _settings(table, base))


def _joined(base: str, path: str | None) -> str | None:
    return None if path is None else os.path.join(base, path)


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", path) from None


def _text(path: str) -> str:
    data = _bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError("not UTF-8", path, data.count(b"\n", 0, error.start) + 1) from None


def _parse(path: str, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, line = _reason(str(error), text)
        raise ConfigError(f"not TOML: {reason}", path, line) from None
    except RecursionError:
        raise ConfigError("not TOML: nested too deep", path) from None


def _reason(message: str, text: str) -> tuple[str, int | None]:
    """The parser ends its message with ``(at line 3, column 5)`` or ``(at end of document)``."""
    reason, _, place = message.partition(" (at ")
    reason = reason[:1].lower() + reason[1:]
    if place.startswith("line "):
        return reason, int(place[5:].partition(",")[0])
    return reason, text.count("\n", 0, len(text.rstrip())) + 1 if place else None


def _has_table(path: str) -> bool:
    tool: Mapping[str, Any] | Any = _parse(path, _text(path)).get("tool")
    return isinstance(tool, dict) and "hplint" in tool
