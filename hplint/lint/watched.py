"""What a run reads, as folders to watch: plans, configuration, models, and the source of injected functions."""

import os
from collections.abc import Iterator
from pathlib import Path

from hplint.errors import RequestError
from hplint.lint.collect import SKIPPED, collect
from hplint.lint.pairing import pair
from hplint.lint.request import Request
from hplint.model.failure import SpecError
from hplint.model.spec import parse_spec

SUFFIXES = (".yaml", ".yml", ".py", ".json", ".toml", ".safetensors")
MOST_FOLDERS = 500
"""Folders of source below those that are named; the rest of a very large tree is not watched."""
State = dict[str, tuple[int, int]]
"""Path -> time of the last change in ns, and size."""


def watched_folders(request: Request) -> tuple[str, ...]:
    """The folders in which a change may change what a run finds. Raises RequestError for a path that is not there."""
    found: dict[str, None] = {}
    for path in request.paths:
        found.update(dict.fromkeys(_below(path) if Path(path).is_dir() else [str(Path(path).parent)]))
    config = request.config
    for file in (
        config and config.path,
        config and config.boundaries,
        request.baseline or (config and config.baseline),
    ):
        if file:
            found[str(Path(file).parent)] = None
    source: dict[str, None] = {}
    for document in collect(request.paths, None, None, request.skip_planless).documents:
        for plan in document.plans:
            pairing = pair(document, plan, request)
            source.update(dict.fromkeys(pairing.src))
            if pairing.model:
                found.update(dict.fromkeys(_of_model(pairing.model.spec, pairing.model.base)))
    for folder in source:
        found.update(dict.fromkeys(_below(folder)))
    return tuple(folder for folder in found if Path(folder).is_dir())


def state(folders: tuple[str, ...], without: frozenset[str] = frozenset()) -> State:
    """The files in these folders that a run may read, with what tells that they changed. ``without`` are absolute
    paths that do not count: what the run itself writes."""
    found: State = {}
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(SUFFIXES) and os.path.abspath(entry.path) not in without:  # noqa: PTH100
                        told = entry.stat()
                        found[entry.path] = (told.st_mtime_ns, told.st_size)
        except OSError:  # It went away between two looks: that is a change as well.
            continue
    return found


def _of_model(spec: str, base: str) -> Iterator[str]:
    try:
        path = parse_spec(spec, base).path
    except (SpecError, RequestError):
        return
    if path:
        yield path if Path(path).is_dir() else str(Path(path).parent)


def _below(folder: str) -> Iterator[str]:
    """A folder and those below it in which anything could be."""
    stack, count = [folder], 0
    while stack and count < MOST_FOLDERS:
        here = stack.pop()
        count += 1
        yield here
        try:
            with os.scandir(here) as entries:
                stack += [e.path for e in entries if e.is_dir(follow_symlinks=False) and _enters(e.name)]
        except OSError:
            continue


def _enters(name: str) -> bool:
    return name not in SKIPPED and not name.startswith(".")
