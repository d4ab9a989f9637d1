"""From the options of a command to a Request."""

import sys
from pathlib import Path
from typing import Any

from hplint.config.config import Config
from hplint.config.load import load_config, read_config
from hplint.config.mesh import MeshError, parse_mesh
from hplint.errors import RequestError
from hplint.lint.collect import LARGEST_FILE
from hplint.lint.request import Request
from hplint.text.near import near
from hplint.text.wording import listing, quote


def request(paths: tuple[str, ...], given: dict[str, Any], stdin_filename: str | None = None) -> Request:
    """The request that the options of :func:`~hplint.cli.options.run_options` make. Raises RequestError."""
    if stdin_filename is not None and "-" not in paths:
        raise RequestError("--stdin-filename names the text that `-` reads, but `-` is not among the paths")
    if "" in paths:
        # Path("") is the current folder: an unset variable in a script must not lint something else.
        raise RequestError("one of the paths is empty")
    for folder in given["src"]:
        _must_be_folder(folder)
    return Request(
        paths=paths,
        stdin=_read_stdin() if "-" in paths else None,
        stdin_filename=stdin_filename,
        model=given.get("model"),
        meshes=tuple(_mesh(text) for text in given.get("mesh", ())),
        ep=given.get("ep"),
        sequence_parallel=given.get("sequence_parallel"),
        loss_parallel=given.get("loss_parallel"),
        derive=given.get("derive"),
        seq_len=given.get("seq_len"),
        src=given["src"],
        reader=given.get("reader"),
        select=given.get("select", ()),
        ignore=given.get("ignore", ()),
        extend_select=given.get("extend_select", ()),
        per_file_ignores=given.get("per_file_ignores", ()),
        severity=given.get("severity", ()),
        baseline=_baseline(given),
        skip_planless=bool(given.get("skip_planless")),
        shipped=given.get("tp_plan") is not None,
        config=_config(paths, given, stdin_filename),
        use_cache=not given["no_cache"],
        build_timeout=given["build_timeout"],
        progress=None if given.get("quiet") or not sys.stderr or not sys.stderr.isatty() else _progress,
    )


def _baseline(given: dict[str, Any]) -> str | None:
    if given.get("baseline") == "":
        raise RequestError("--baseline names no file")
    baseline: str | None = given.get("baseline")
    return baseline


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise RequestError("`-` reads the standard input, which is closed")
    return sys.stdin.buffer.read(LARGEST_FILE + 1)


def _config(paths: tuple[str, ...], given: dict[str, Any], stdin_filename: str | None) -> Config:
    if given["isolated"] and given["config"]:
        raise RequestError("--isolated and --config exclude each other")
    if given["isolated"]:
        return Config()
    if given["config"]:
        return read_config(Path(given["config"]))
    named = [Path(stdin_filename or ".") if path == "-" else Path(path) for path in paths]
    return load_config(common_folder(named))


def common_folder(paths: list[Path]) -> Path:
    """The deepest folder that holds all paths; where configuration is looked for first."""
    folders = [p if p.is_dir() else p.parent for p in (path.absolute() for path in paths)]
    shared = folders[0] if folders else Path.cwd()
    for folder in folders[1:]:
        while not folder.is_relative_to(shared):
            shared = shared.parent
    return shared


def _mesh(text: str) -> dict[str, int]:
    try:
        return parse_mesh(text)
    except MeshError as error:
        raise RequestError(f"--mesh: {error}", error.hint) from None


def _must_be_folder(folder: str) -> None:
    path = Path(folder)
    if path.is_dir():
        return
    if path.exists():
        raise RequestError(f"--src: {quote(folder)} is not a folder")
    here = path.parent
    names = near(path.name, (p.name for p in here.iterdir() if p.is_dir())) if here.is_dir() else []
    hint = f"did you mean {listing(((here / n).as_posix() for n in names), 'or')}?" if names else ""
    raise RequestError(f"--src: no such folder: {quote(folder)}", hint)


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
