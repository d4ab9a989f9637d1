"""Where module trees come from: the cache, else a build, a checkpoint or a file."""

import os
import sys
from collections.abc import Callable

from hplint.model.build import TIMEOUT, Built, ModelError, build
from hplint.model.cache import cache_folder, digest, read_cached, write_cached
from hplint.model.spec import ModelSpec
from hplint.model.tree import ModuleTree
from hplint.model.versions import installed_version, package_folder
from hplint.text.wording import quote

__all__ = ["ModelError", "cache_folder", "load_cached", "load_tree"]

_MAX_TREE = 500_000_000
"""Bytes of a tree file."""


def load_tree(
    spec: ModelSpec,
    *,
    src: tuple[str, ...] = (),
    use_cache: bool = True,
    timeout: float = TIMEOUT,
    progress: Callable[[str], None] | None = None,
) -> ModuleTree:
    """The module tree of a model. Raises ModelError with the cause when it cannot be had.

    ``src`` are folders that a ``py`` factory and its imports are looked up in; ``timeout`` (seconds) and ``progress``
    (called with a line after a second) concern builds. Without ``use_cache`` nothing is read from disk or kept there.
    """
    if spec.kind == "tree":
        tree = _read_file(spec)
    else:
        tree = _cached(spec, src, use_cache, timeout, progress)
    tree.spec = spec.text
    return tree


def load_cached(spec: ModelSpec, src: tuple[str, ...] = ()) -> ModuleTree | None:
    """The tree of a model that was built before and has not changed since; None where it would have to be built.

    Nothing of the user's runs. Raises ModelError where files that the spec names cannot be read.
    """
    tree = read_cached(_key(spec, src))
    if tree is not None:
        tree.spec = spec.text
    return tree


def _cached(
    spec: ModelSpec, src: tuple[str, ...], use_cache: bool, timeout: float, progress: Callable[[str], None] | None
) -> ModuleTree:
    key = _key(spec, src)
    if use_cache and (tree := read_cached(key)):
        return tree
    if spec.kind == "safetensors":
        from hplint.model.checkpoint import read_checkpoint

        built = Built(read_checkpoint(spec.path), {})
    else:
        built = build(spec, src=src, timeout=timeout, progress=progress)
    # A configuration that changed while it was read must not be kept under the key of the old one.
    if use_cache and _key(spec, src) == key:
        write_cached(key, built.tree, built.files)
    return built.tree


def _read_file(spec: ModelSpec) -> ModuleTree:
    import json

    name = quote(os.path.basename(spec.path))
    try:
        if os.path.getsize(spec.path) > _MAX_TREE:
            raise ModelError(f"{name} is larger than {_MAX_TREE:,} bytes")
        with open(spec.path, "rb") as file:
            return ModuleTree.from_json(json.loads(file.read()))
    except OSError as error:
        raise ModelError(f"{name} cannot be read: {error.strerror}") from None
    except RecursionError:
        raise ModelError(f"{name} is nested too deeply to be a module tree") from None
    except ValueError as error:
        raise ModelError(f"{name} is no module tree: {error}", "write one: hplint model build SPEC -o FILE") from None


def _key(spec: ModelSpec, src: tuple[str, ...]) -> str:
    """Names all that a tree depends on, but for the files that a ``py`` factory reads (the cache checks these)."""
    if spec.kind == "safetensors":
        return digest("safetensors", *_states(spec.path))
    if spec.kind == "hf":
        config = _config_bytes(spec)
        return digest("hf", config, *_environment(), *_model_code(config))
    return digest(
        "py",
        spec.path or spec.name,
        spec.factory,
        repr(spec.arguments),
        *filter(_importable, dict.fromkeys(os.path.abspath(s) for s in (*src, spec.base))),
        *_environment(),
        b"\0",
        _bytes(spec.path or _module_file(spec, src)),
    )


def _importable(folder: str) -> bool:
    """Whether an import could find something there: a folder of plans alone makes no difference to a model."""
    try:
        with os.scandir(folder) as entries:
            return any(e.name.endswith(".py") or (e.is_dir() and e.name.isidentifier()) for e in entries)
    except OSError:
        return False


def _environment() -> tuple[str, ...]:
    python = ".".join(map(str, sys.version_info[:2]))
    return python, installed_version("torch"), installed_version("transformers")


def _config_bytes(spec: ModelSpec) -> bytes:
    if not spec.path:
        raise ModelError(
            "it is neither a folder here nor in the local hub cache, and hplint never uses the network",
            f"fetch its configuration once: hf download {spec.name} config.json; or name a folder: hf:DIR",
        )
    try:
        with open(os.path.join(spec.path, "config.json"), "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise ModelError(f"{quote(spec.text)} has no config.json") from None
    except OSError as error:
        raise ModelError(f"config.json cannot be read: {error.strerror}") from None


def _model_code(config: bytes) -> list[str]:
    """States of transformers' own files for that model type: somebody may be at work on them."""
    import re

    found = re.search(rb'"model_type"\s*:\s*"(\w+)"', config)
    folder = package_folder("transformers")
    return _states(os.path.join(folder, "models", found[1].decode())) if found and folder else []


def _states(path: str) -> list[str]:
    """Name, size and mtime of a file, or of the files in a folder (not below it)."""
    try:
        if os.path.isfile(path):
            found = os.stat(path)
            return [path, str(found.st_size), str(found.st_mtime_ns)]
        states = []
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_file() and entry.name.endswith((".py", ".json", ".safetensors")):
                    found = entry.stat()
                    states.append(f"{entry.name} {found.st_size} {found.st_mtime_ns}")
        return [path, *sorted(states)]
    except OSError:
        return [path]


def _module_file(spec: ModelSpec, src: tuple[str, ...]) -> str:
    parts = spec.name.split(".")
    for root in (*src, spec.base, *sys.path):
        stem = os.path.join(root, *parts)
        for path in (os.path.join(stem, "__init__.py"), stem + ".py"):
            if os.path.isfile(path):
                return path
    return ""


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
