"""check --watch: check again whenever something changes that the check has read."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hplint.errors import HplintError, RequestError
from hplint.lint.request import Request
from hplint.report.errors import error_lines
from hplint.report.writer import Writer

BEGINS = "hplint: checking"
ENDS = "hplint: waiting for changes (Ctrl-C ends)"
"""What tasks of editors look for; hplint/ide/matchers.py has their expressions."""
LOOK_MS = 1_000
"""How often files are compared where the system tells no changes: in network folders, and while a check runs."""
_ONCE = ("apply", "diff", "add_ignore", "write_baseline", "show_files")
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"


def watch(paths: tuple[str, ...], stdin_filename: str | None, given: dict[str, Any]) -> int:
    """Check, and check again after each change, until Ctrl-C.

    Raises RequestError where the first request is wrong, where it cannot be repeated, and where watchfiles is missing.
    """
    from hplint.cli.check import check
    from hplint.cli.request import request

    if "-" in paths:
        raise RequestError("--watch needs files: the standard input cannot change")
    if alone := next((name for name in _ONCE if given.get(name)), None):
        raise RequestError(f"--{alone.replace('_', '-')} is done once: it does not go with --watch")
    changes = _watchfiles()
    err = Writer(sys.stderr, given["color"])
    out = Writer(sys.stdout, given["color"])
    written = frozenset(str(Path(path).absolute()) for path in _outputs(given))
    folders = _folders(request(paths, given, stdin_filename))
    first = True
    try:
        while True:
            _begin(out, err)
            before = _state(folders, written)
            try:
                folders = _folders(request(paths, given, stdin_filename))
                # Taken before the check reads anything: what changes meanwhile counts as a change.
                before = _state(folders, written)
                check.callback(paths, stdin_filename, watch=False, **given)  # type: ignore[misc]
            except HplintError as error:
                if first:
                    raise
                # A file that is half written is no reason to stop.
                err.lines(error_lines(error, err.style))
            first = False
            err.lines([ENDS])
            err.flush()
            for _ in changes(*folders, recursive=False, watch_filter=None, rust_timeout=LOOK_MS, yield_on_timeout=True):
                if _state(folders, written) != before:
                    break
    except KeyboardInterrupt:
        return 0


def _begin(out: Writer, err: Writer) -> None:
    if out.is_terminal:
        out.text(_CLEAR)
        out.flush()
    err.lines([BEGINS])
    err.flush()


def _watchfiles() -> Callable[..., Any]:
    try:
        from watchfiles import watch as changes
    except ImportError:
        raise RequestError("--watch needs the package watchfiles", "pip install 'hplint[watch]'") from None
    return changes


def _folders(request: Request) -> tuple[str, ...]:
    from hplint.lint.watched import watched_folders

    return watched_folders(request)


def _state(folders: tuple[str, ...], written: frozenset[str]) -> Any:
    from hplint.lint.watched import state

    return state(folders, written)


def _outputs(given: dict[str, Any]) -> list[str]:
    """The files that the check itself writes."""
    named = [word.partition(":")[2] for word in given.get("output_format") or () if ":" in word]
    return [*named, *([given["output_file"]] if given.get("output_file") else [])]
