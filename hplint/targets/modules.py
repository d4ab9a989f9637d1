"""Where modules lie on disk: dotted module names to files, as Python's import system would find them, nothing run."""

import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import NamedTuple


class Located(NamedTuple):
    """A module. ``kind`` is package, module, namespace, compiled or builtin; ``search`` are the folders in which its
    submodules lie; ``file`` is None where there is no source to read."""

    name: str
    kind: str
    file: Path | None = None
    search: tuple[Path, ...] = ()


class Locator:
    """Finds modules through ``roots`` in order; with ``environment``, then on ``sys.path``.

    Regular packages, then compiled modules, then source files, folder by folder; a folder without ``__init__.py`` is a
    namespace package only when no root has anything better.
    """

    def __init__(self, roots: Sequence[Path], environment: bool = True) -> None:
        self.roots = tuple(roots)
        self.environment = environment
        self._located: dict[str, Located | None] = {}
        self._folders: tuple[Path, ...] | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders in which top-level modules are looked for."""
        if self._folders is None:
            there = [Path(p) for p in sys.path if p] if self.environment else []
            self._folders = tuple(dict.fromkeys((*self.roots, *there)))
        return self._folders

    def locate(self, name: str) -> Located | None:
        """The module of that dotted name, None where there is none."""
        if name not in self._located:
            self._located[name] = self._look_up(name)
        return self._located[name]

    def _look_up(self, name: str) -> Located | None:
        parent, _, last = name.rpartition(".")
        if parent:
            package = self.locate(parent)
            return _search(name, last, package.search) if package else None
        found = _search(name, name, self.folders)
        if (found is None or found.kind == "namespace") and self.environment:
            better = _search(name, name, self._editable(name))
            if name in sys.builtin_module_names:
                better = better or Located(name, "builtin")
            found = better or found
        return found

    def _editable(self, name: str) -> tuple[Path, ...]:
        """Folders that editable installs map a top-level package to (they keep a table in site-packages)."""
        import ast

        found = []
        for folder in self.folders:
            try:
                tables = sorted(folder.glob("__editable__*_finder.py")) if folder.name == "site-packages" else []
            except OSError:
                tables = []
            for table in tables:
                for line in _read_lines(table):
                    if line.startswith("MAPPING"):
                        try:
                            mapping = ast.literal_eval(line.partition("=")[2].strip())
                        except (ValueError, SyntaxError):
                            continue
                        if isinstance(mapping, dict) and isinstance(mapping.get(name), str):
                            found.append(Path(mapping[name]).parent)
        return tuple(found)

    def below(self, located: Located | None) -> Iterator[str]:
        """Names of the modules directly below a package; top-level ones of the own roots for None."""
        for folder in located.search if located else self.roots:
            try:
                items = sorted(folder.iterdir())
            except OSError:
                continue
            for item in items:
                name = item.name.partition(".")[0]
                importable = item.suffix in (".py", ".so", ".pyd") or item.is_dir()
                if importable and name.isidentifier() and name != "__init__":
                    yield name


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _search(name: str, last: str, folders: tuple[Path, ...]) -> Located | None:
    portions = []
    for folder in folders:
        here = folder / last
        try:
            if (here / "__init__.py").is_file():
                return Located(name, "package", here / "__init__.py", (here,))
            for suffix in EXTENSION_SUFFIXES:
                if (folder / (last + suffix)).is_file():
                    return Located(name, "compiled")
                if (here / ("__init__" + suffix)).is_file():
                    return Located(name, "compiled", None, (here,))
            source = folder / (last + ".py")
            if source.is_file():
                return Located(name, "module", source)
            if (folder / (last + ".pyc")).is_file():
                return Located(name, "compiled")
            if here.is_dir():
                portions.append(here)
        except (OSError, ValueError):  # No right to look, or a name that no file can have.
            continue
    return Located(name, "namespace", None, tuple(portions)) if portions else None
