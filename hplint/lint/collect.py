"""From the paths of a request to documents: files are read, folders walked."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from hplint.errors import RequestError
from hplint.front.plan_shape import is_about_plans
from hplint.front.read import may_hold_plan, read_document
from hplint.plan.fault import Fault
from hplint.plan.plan import Document
from hplint.text.near import near
from hplint.text.source import Source
from hplint.text.wording import listing, quote

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SUFFIXES = (".yaml", ".yml", ".py", ".json")
SKIPPED = frozenset((
    ".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox", ".mypy_cache",
    ".ruff_cache", ".pytest_cache", "site-packages", "build", "dist",
))  # fmt: skip
"""Folders that a walk does not enter: nobody keeps plans there."""


LARGEST_FILE = 64 * 1024 * 1024
"""Bytes of a file that are read at most; no plan is that large, and /dev/zero has no end."""


@dataclass(slots=True)
class Collected:
    """Documents that count (they hold a plan, a directive or a fault), and the named paths that hold no plan."""

    documents: list[Document]
    without_plan: list[str]


def collect(
    paths: tuple[str, ...], stdin: bytes | None, stdin_filename: str | None, skip_planless: bool = False
) -> Collected:  # fmt: skip
    """Read every path once, in the order given, folders in name order. Raises RequestError for a missing path.

    With ``skip_planless`` a file that is named counts like one that is met on a walk: only if it is about plans.
    """
    documents: list[Document] = []
    empty: list[str] = []
    counts: dict[str, bool] = {}
    for path in paths:
        read, files = _reader(path, stdin, stdin_filename)
        if skip_planless and read is _read:
            read = _read_walked
        for file in files:
            name = _identity(file)
            if name not in counts:
                document = read(file)
                counts[name] = document is not None and bool(document.plans or document.faults)
                if document and counts[name]:
                    documents.append(document)
        if not skip_planless and not any(counts[_identity(f)] for f in files):
            empty.append(path)
    return Collected(documents, empty)


def _reader(
    path: str, stdin: bytes | None, stdin_filename: str | None
) -> tuple[Callable[[str], Document | None], list[str]]:
    """How the files that a path stands for are read, and which files these are."""
    if path == "-":
        return lambda _: _document(stdin_filename or "-", stdin or b""), ["-"]
    if Path(path).is_dir():
        return _read_walked, list(_walk(path))
    if Path(path).exists():
        return _read, [_spelled(path)]
    raise RequestError(f"no such file or folder: {quote(path)}", _near_paths(path))


def _identity(file: str) -> str:
    """One name for all spellings of a path; links are files of their own."""
    return file if file == "-" else os.path.abspath(file)  # noqa: PTH100 - Path.absolute keeps `..`


def _spelled(path: str) -> str:
    return PurePath(path).as_posix()


def _read(path: str) -> Document:
    try:
        return _document(path, _bytes(path))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        fault = Fault("syntax-error", data={"message": f"the file cannot be read: {reason}"})
        return Document(Source(path, ""), faults=(fault,))


def _bytes(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(LARGEST_FILE + 1)


def _document(path: str, data: bytes) -> Document:
    if len(data) <= LARGEST_FILE:
        return read_document(path, data)
    fault = Fault("syntax-error", data={"message": f"the file is larger than {LARGEST_FILE:,} bytes"})
    return Document(Source(path, ""), faults=(fault,))


def _read_walked(path: str) -> Document | None:
    """A file met on a walk counts only when it holds a plan; broken files count when they look like one."""
    try:
        data = _bytes(path)
    except OSError:
        return _read(path)
    if not may_hold_plan(data):
        return None
    document = read_document(path, data)
    if document.plans:
        return document
    # A file that cannot be read at all counts only when it talks of plans: repositories hold templates and fragments.
    return document if document.faults and is_about_plans(document.source.text) else None


def _walk(folder: str) -> Iterator[str]:
    ignored = _Ignored(folder)
    stack = [(_spelled(folder), Path(folder).resolve())]
    while stack:
        here, real = stack.pop()
        ignored.enter(real)
        try:
            with os.scandir(here) as listed:
                items = sorted(listed, key=lambda i: i.name)
        except OSError:  # The folder vanished, or may not be read: nothing below it was named by the user.
            continue
        folders = []
        for item in items:
            path = item.name if here == "." else f"{here.rstrip('/')}/{item.name}"
            if item.is_dir(follow_symlinks=False):
                if item.name not in SKIPPED and not ignored(real / item.name, True):
                    folders.append((path, real / item.name))
            elif item.name.endswith(SUFFIXES) and item.is_file() and not ignored(real / item.name, False):
                yield path
        stack.extend(reversed(folders))


class _Ignored:
    """Which paths the .gitignore files of a tree leave out. pathspec is imported only where such a file exists."""

    def __init__(self, folder: str) -> None:
        here = Path(folder).resolve()
        above = [here, *here.parents]
        top = next((i for i, f in enumerate(above) if (f / ".git").exists()), 0)
        self.roots = [(f, spec) for f in above[: top + 1] if (spec := _ignore_file(f))]
        self.known = {here}

    def enter(self, folder: Path) -> None:
        """Read the .gitignore of a folder below the first one."""
        if folder not in self.known:
            self.known.add(folder)
            if spec := _ignore_file(folder):
                self.roots.append((folder, spec))

    def __call__(self, path: Path, is_folder: bool) -> bool:
        for root, spec in self.roots:
            if path.is_relative_to(root):
                name = path.relative_to(root).as_posix() + ("/" if is_folder else "")
                if spec.match_file(name):
                    return True
        return False


def _ignore_file(folder: Path) -> "GitIgnoreSpec | None":
    try:
        lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


def _near_paths(path: str) -> str:
    parent = Path(path).parent
    try:
        names = near(Path(path).name, (i.name for i in os.scandir(parent)))
    except OSError:
        return f"the folder {quote(parent.as_posix())} does not exist"
    return f"did you mean {listing(((parent / n).as_posix() for n in names), 'or')}?" if names else ""
