"""From pyproject.toml or hplint.toml to a Config."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hplint.config.config import Config, PlanRule, PlanSettings
from hplint.errors import ConfigError, RequestError

if TYPE_CHECKING:
    from hplint.config.values import Table

OWN_FILE = "hplint.toml"
SHARED_FILE = "pyproject.toml"


def find_config(folder: Path) -> Path | None:
    """The configuration file that counts for a folder: the nearest hplint.toml, or pyproject.toml with a
    ``[tool.hplint]``, in it or above it. Costs two looks at the disk a level."""
    here = folder.absolute()
    for at in (here, *here.parents):
        own, shared = at / OWN_FILE, at / SHARED_FILE
        if own.is_file():
            return own
        # Most pyproject.toml files are about other things: the word alone saves parsing them.
        if shared.is_file() and b"hplint" in _bytes(shared) and _has_table(shared):
            return shared
    return None


def load_config(folder: Path) -> Config:
    """The settings that count for a folder; ``Config()`` where no file gives any. Raises ConfigError."""
    path = find_config(folder)
    return Config() if path is None else read_config(path)


def read_config(path: Path) -> Config:
    """The settings of one file. Raises ConfigError: see :func:`read_table`; for unknown keys and wrong types, too."""
    table, base = read_table(path), path.absolute().parent
    table.refuse_unknown("config", ("plans",))
    return Config(
        path=str(path),
        base=str(base),
        defaults=_settings(table, base),
        plans=tuple(_rule(t, base) for t in table.tables("plans")),
        seq_len=table.get("seq-len"),
        select=table.get("select") or (),
        ignore=table.get("ignore") or (),
        extend_select=table.get("extend-select") or (),
        per_file_ignores=table.get("per-file-ignores") or {},
        severity=table.get("severity") or {},
        fail_on=table.get("fail-on"),
        baseline=_joined(base, table.get("baseline")),
        wrappers=table.get("wrappers") or (),
        reader=table.get("reader"),
        planner=table.get("planner") or "built-in",
        boundaries=_joined(base, table.get("boundaries")),
        families=_families(table),
        build_timeout=table.get("build-timeout"),
        output_format=table.get("output-format"),
    )


def read_table(path: Path) -> "Table":
    """What one file says, as written: ``[tool.hplint]`` of a pyproject.toml, the whole of any other file.

    Raises ConfigError for a file that cannot be read and for broken TOML.
    """
    from hplint.config.values import Table

    text, name = _text(path), str(path)
    data = _parse(path, text)
    header = ""
    if path.name == SHARED_FILE:
        header = "tool.hplint"
        tool = data.get("tool", {})
        data = tool.get("hplint", {}) if isinstance(tool, dict) else {}
        if not isinstance(data, dict):
            raise ConfigError("`tool.hplint` must be a table", name)
    elif isinstance(data.get("tool"), dict) and "hplint" in data["tool"]:
        raise ConfigError("`[tool.hplint]` belongs into pyproject.toml", name, hint="here the keys stand at the top")
    return Table(name, text, header, data)


def _settings(table: Any, base: Path) -> PlanSettings:
    return PlanSettings(
        model=table.get("model"),
        mesh=table.get("mesh") or (),
        ep=table.get("ep"),
        sequence_parallel=table.get("sequence-parallel"),
        loss_parallel=table.get("loss-parallel"),
        derive=table.get("derive"),
        src=tuple(str(base / folder) for folder in table.get("src") or ()),
    )


def _rule(table: Any, base: Path) -> PlanRule:
    table.refuse_unknown("plans", ("files",))
    files = table.texts("files")
    if not files:
        raise ConfigError("a `plans` table needs `files`", table.path, table.line(), 'such as files = "plans/*.yaml"')
    return PlanRule(files, _settings(table, base))


def _families(table: "Table") -> Mapping[str, Any]:
    added = table.get("families")
    if not added:
        return {}
    from hplint.derive.families import check_families

    try:
        check_families(added)
    except RequestError as error:
        raise ConfigError(error.message, table.path, table.line("families"), error.hint) from None
    return added  # type: ignore[no-any-return]


def _joined(base: Path, path: str | None) -> str | None:
    return None if path is None else str(base / path)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", str(path)) from None


def _text(path: Path) -> str:
    data = _bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError("not UTF-8", str(path), data.count(b"\n", 0, error.start) + 1) from None


def _parse(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, line = _reason(str(error), text)
        raise ConfigError(f"not TOML: {reason}", str(path), line) from None
    except RecursionError:
        raise ConfigError("not TOML: nested too deep", str(path)) from None


def _reason(message: str, text: str) -> tuple[str, int | None]:
    """The parser ends its message with ``(at line 3, column 5)`` or ``(at end of document)``."""
    reason, _, place = message.partition(" (at ")
    reason = reason[:1].lower() + reason[1:]
    if place.startswith("line "):
        return reason, int(place[5:].partition(",")[0])
    return reason, text.count("\n", 0, len(text.rstrip())) + 1 if place else None


def _has_table(path: Path) -> bool:
    tool: Mapping[str, Any] | Any = _parse(path, _text(path)).get("tool")
    return isinstance(tool, dict) and "hplint" in tool
