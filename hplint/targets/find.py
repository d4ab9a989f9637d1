"""Finding injected functions: dotted path -> file -> definition, without importing anything."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from hplint.targets.definition import Definition, SourceFile
    from hplint.targets.lookup import Lookup
    from hplint.targets.reading import Reading
    from hplint.text.source import Source


_NO_NAME = frozenset("/\\:\0 ")


@dataclass(frozen=True, slots=True)
class Found:
    """A dotted path that names something. ``definitions`` has one item for each branch that may have made it (if,
    try); opaque ones are there but cannot be read."""

    dotted: str
    definitions: "tuple[Definition, ...]"

    @property
    def unreadable(self) -> str:
        """Why nothing can be said of it (or of one branch), "" where all of it was read."""
        return next((d.reason for d in self.definitions if d.kind == "opaque"), "")

    @property
    def callable(self) -> bool | None:
        """Whether it can be called; None where that cannot be told."""
        kinds = {d.kind for d in self.definitions}
        if kinds <= {"module", "value"}:
            return False
        return None if kinds & {"opaque", "module", "value"} else True


@dataclass(frozen=True, slots=True)
class Missing:
    """A dotted path that names nothing here.

    ``part`` is the part that failed, ``parent`` the dotted path before it ("" for the top-level package). ``certain``
    tells that the parent's source was read and surely has no such name. ``near`` are names at that level, nearest
    first.
    """

    dotted: str
    part: str
    parent: str = ""
    certain: bool = False
    near: tuple[str, ...] = ()

    @property
    def package_found(self) -> bool:
        return bool(self.parent)


class TargetFinder:
    """Finds and reads targets through ``roots`` in order; with ``environment``, then through the packages installed
    beside hplint. Nothing is imported or run. Results are kept: one finder serves one run."""

    def __init__(self, roots: "Sequence[Path]" = (), environment: bool = True) -> None:
        self.roots = tuple(roots)
        self.environment = environment
        self._found: dict[str, Found | Missing] = {}
        self._readings: dict[tuple[str, int | None], Reading] = {}

    @cached_property
    def lookup(self) -> "Lookup":
        """The machinery below; made when the first target is looked up."""
        from hplint.targets.lookup import Lookup
        from hplint.targets.modules import Locator

        return Lookup(Locator(self.roots, self.environment))

    def find(self, dotted: str) -> Found | Missing:
        """What a dotted path names. Never raises."""
        if dotted not in self._found:
            try:
                self._found[dotted] = self._find(dotted)
            except RecursionError:
                self._found[dotted] = self._opaque(dotted, "its source is nested too deeply to be read")
        return self._found[dotted]

    def read(self, dotted: str, source: "Source | None" = None) -> "Reading":
        """Everything that the rules ask about a target. ``source`` is the plan's own file where that is Python: its
        names come first."""
        from hplint.targets.reading import Reading

        key = (dotted, hash((source.path, source.text)) if source else None)
        if key not in self._readings:
            self._readings[key] = Reading(self, dotted, source)
        return self._readings[key]

    def find_in(self, source: "Source", dotted: str) -> Found | Missing:
        """What a name means in a Python file that is at hand as text. A function that is defined just once, inside
        another one, is found too."""
        from pathlib import Path

        from hplint.targets.definition import Definition, parse_file
        from hplint.targets.modules import Located

        path = Path(source.path)
        located = Located(path.stem, "module", path)
        file = parse_file(located, source.text.encode("utf-8", "replace"))
        first, *rest = dotted.split(".")
        definitions = self.lookup.name(file, first)
        try:
            if isinstance(definitions, tuple) and definitions and isinstance(definitions[0], Definition):
                return self._descend(definitions, rest, dotted, first)
            nested = () if rest else self._nested(file, first)
            return Found(dotted, nested) if nested else Missing(dotted, first)
        except RecursionError:
            return self._opaque(dotted, "its source is nested too deeply to be read")

    @staticmethod
    def _nested(file: "SourceFile", name: str) -> "tuple[Definition, ...]":
        import ast

        from hplint.targets.definition import Definition

        nodes = ast.walk(file.tree) if file.tree else ()
        found = [n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == name]
        return (Definition("function", name, file, found[0]),) if len(found) == 1 else ()

    def _find(self, dotted: str) -> Found | Missing:
        first, *rest = dotted.split(".")
        bad = next((p for p in (first, *rest) if not p or _NO_NAME.intersection(p)), None)
        if bad is not None:
            return Missing(dotted, bad)
        module = self.lookup.module(first)
        if module is None:
            return Missing(dotted, first, near=_near(first, self.lookup.locator.below(None)))
        return self._descend((module,), rest, dotted, first)

    def _descend(
        self, definitions: "tuple[Definition, ...]", parts: Sequence[str], dotted: str, walked: str
    ) -> Found | Missing:
        from hplint.targets.lookup import Absent

        for part in parts:
            results = [self.lookup.attribute(d, part) for d in definitions]
            found = tuple(d for r in results if not isinstance(r, Absent) for d in r)
            absent = [r for r in results if isinstance(r, Absent)]
            if not found:
                names = [n for r in absent for n in r.names]
                return Missing(dotted, part, walked, all(r.certain for r in absent), _near(part, names))
            if absent:
                found = (*found, self._opaque(dotted, "it is not there in every branch").definitions[0])
            definitions, walked = found, f"{walked}.{part}".strip(".")
        return Found(dotted, definitions)

    @staticmethod
    def _opaque(dotted: str, reason: str) -> Found:
        from hplint.targets.definition import Definition

        return Found(dotted, (Definition("opaque", dotted, reason=reason),))


def _near(word: str, names: Iterable[str]) -> tuple[str, ...]:
    from hplint.text.near import near

    return tuple(near(word, names))
