"""What a dotted path can lead to."""

import ast
from dataclasses import dataclass, field
from pathlib import Path

from hplint.targets.modules import Located
from hplint.targets.scope import Scope

LARGEST = 4_000_000
"""Files above this many bytes are not read."""


@dataclass(slots=True, eq=False)
class SourceFile:
    """One module's source. ``tree`` and ``scope`` are None where it could not be read; ``error`` says why."""

    module: Located
    tree: ast.Module | None = None
    scope: Scope | None = None
    error: str = ""

    @property
    def path(self) -> str:
        return self.module.file.as_posix() if self.module.file else self.module.name


@dataclass(slots=True, eq=False)
class Definition:
    """One thing that a dotted path can lead to.

    ``kind`` is function (``node`` is a def or a lambda), class, value (an expression that is certainly no callable),
    partial (``node`` is the call, ``inner`` the wrapped definition), module, or opaque (there, but not to be read:
    ``reason`` finishes the sentence "it cannot be read: …"). ``wrappers`` are calls around it
    (``f = decorate(g)``), outermost first. ``owner`` is the class that a method stands in.
    """

    kind: str
    name: str
    home: SourceFile | None = None
    node: ast.AST | None = None
    reason: str = ""
    module: Located | None = None
    inner: "Definition | None" = None
    owner: "Definition | None" = None
    wrappers: tuple[tuple[ast.expr, SourceFile], ...] = ()
    outer: tuple[ast.AST, ...] = field(default=())
    """Functions that a nested one stands in, innermost last."""

    @property
    def line(self) -> int:
        return getattr(self.node, "lineno", 1)

    @property
    def place(self) -> str:
        """``kernels.py:12``, for people."""
        name = self.home.path.rpartition("/")[2] if self.home else self.name
        return f"{name}:{self.line}" if self.home and self.node is not None else name

    @property
    def dotted(self) -> str:
        """Where it is really defined."""
        return f"{self.home.module.name}.{self.name}" if self.home else self.name


def read_file(located: Located) -> SourceFile:
    """Parse a module's file. Never raises: what cannot be read has an ``error``."""
    if located.file is None:
        reason = "it is a compiled module" if located.kind == "compiled" else "it is built into Python"
        return SourceFile(located, error=reason)
    data, error = _bytes(located.file)
    return SourceFile(located, error=error) if error else parse_file(located, data)


def parse_file(located: Located, data: bytes) -> SourceFile:
    """Parse a file's bytes. Never raises."""
    import warnings

    file = SourceFile(located)
    name = located.file.name if located.file else located.name
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file.tree = ast.parse(data)
        package = located.name if located.kind == "package" else located.name.rpartition(".")[0]
        file.scope = Scope(file.tree.body, package)
    except SyntaxError as error:
        file.error = f"{name} has a syntax error in line {error.lineno or 1} ({error.msg})"
    except (ValueError, LookupError) as error:
        file.error = f"{name} is no Python source ({error})"
    except (RecursionError, MemoryError, OverflowError):
        file.error = f"{name} is nested too deeply to be read"
    if file.error:
        file.tree = file.scope = None
    return file


def _bytes(path: Path) -> tuple[bytes, str]:
    try:
        if path.stat().st_size > LARGEST:
            return b"", f"{path.name} is too large to be read"
        return path.read_bytes(), ""
    except OSError as error:
        return b"", f"{path.name} cannot be read ({error.strerror or type(error).__name__})"
