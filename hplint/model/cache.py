"""Module trees on disk. A cache file that is not just what was written counts as absent; failures to write are silent.

One file per key: a header line (JSON: format, key, checksum of the rest, files that the build read) and the tree.
"""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hplint.model.tree import VERSION, ModuleTree

try:  # hashlib would load OpenSSL: some ms on a path that takes few
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

READING = 2
"""To be raised with every change of what is read from a model into its tree."""
_FORMAT = f"hplint-tree-cache {VERSION}.{READING}"
_FOLDER = f"trees-{VERSION}.{READING}"
_UNSURE_NS = 2_000_000_000
"""A file that changed this close to when it was read may have changed again within the clock's grain."""
_OLD_SECONDS = 60 * 86400
_DAY = 86400

FileStates = Mapping[str, tuple[int, int] | None]
"""Path -> (size in bytes, mtime in ns) of the files that a build read, None for files that it did not find."""


def cache_folder() -> Path:
    """$HPLINT_CACHE_DIR, else $XDG_CACHE_HOME/hplint, else ~/.cache/hplint. It need not exist."""
    env = os.environ
    if env.get("HPLINT_CACHE_DIR"):
        return Path(env["HPLINT_CACHE_DIR"])
    return Path(env.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hplint")


def digest(*parts: str | bytes) -> str:
    """A key for these parts in this order, whatever their lengths."""
    state = blake2b(digest_size=20)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def read_cached(key: str) -> ModuleTree | None:
    """The tree of that key, None when there is none, it is damaged, or a file that its build read has changed."""
    path = os.path.join(cache_folder(), _FOLDER, key + ".json")
    try:
        with open(path, "rb") as file:
            header, _, body = file.read().partition(b"\n")
            touched = os.fstat(file.fileno()).st_mtime
        meta = json.loads(header)
        if meta["format"] != _FORMAT or meta["key"] != key or meta["sum"] != digest(body):
            return None
        if not all(_unchanged(p, state) for p, state in meta["files"].items()):
            return None
        tree = ModuleTree.from_json(json.loads(body))
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return None
    if time.time() - touched > _DAY:
        _touch(path)  # so that pruning sees that it is in use
    return tree


def write_cached(key: str, tree: ModuleTree, files: FileStates) -> None:
    """Keep a tree; not when a file that the build read has changed meanwhile, nor in a folder that is unwritable."""
    states: dict[str, Any] = {}
    for path, state in files.items():
        if _state(path) != state:
            return
        states[path] = None if state is None else [*state, _file_digest(path), time.time_ns()]
    body = json.dumps(tree.to_json(), separators=(",", ":")).encode()
    header = json.dumps({"format": _FORMAT, "key": key, "sum": digest(body), "files": states}).encode()
    root = str(cache_folder())
    folder = os.path.join(root, _FOLDER)
    path = os.path.join(folder, key + ".json")
    part = f"{path}.{os.getpid()}.{time.monotonic_ns()}.part"
    try:
        os.makedirs(folder, exist_ok=True)
        _keep_out_of_git(root)
        with open(part, "wb") as file:
            file.write(header + b"\n" + body)
        os.replace(part, path)
    except OSError:
        _remove(part)
        return
    _prune(root)


def _unchanged(path: str, state: Any) -> bool:
    now = _state(path)
    if state is None or now is None:
        return state is None and now is None
    size, mtime, content, read_at = state
    if now == (size, mtime) and mtime < read_at - _UNSURE_NS:
        return True
    return bool(now[0] == size and _file_digest(path) == content)


def _state(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns


def _file_digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return digest(file.read())
    except OSError:
        return ""


def _keep_out_of_git(root: str) -> None:
    ignore = os.path.join(root, ".gitignore")
    if not os.path.exists(ignore):
        with open(ignore, "w", encoding="utf-8") as file:
            file.write("*\n")


def _prune(root: str) -> None:
    """Remove trees of other versions, trees that nobody asked for in two months, and what a killed process left."""
    now = time.time()
    try:
        for folder in [e for e in os.scandir(root) if e.name.startswith("trees-") and e.is_dir()]:
            for entry in os.scandir(folder.path):
                age = now - entry.stat().st_mtime
                limit = _OLD_SECONDS if folder.name == _FOLDER and entry.name.endswith(".json") else _DAY
                if age > limit:
                    _remove(entry.path)
            if folder.name != _FOLDER and not any(os.scandir(folder.path)):
                os.rmdir(folder.path)
    except OSError:
        return


def _touch(path: str) -> None:
    try:
        os.utime(path)
    except OSError:
        return


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
