"""What a match that names no module probably meant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hplint.model.tree import ModuleTree
from hplint.text.near import near

_MOST = 3


@dataclass(slots=True)
class Guess:
    """``problem`` is one of

    - ``alias``: another name of the shared module that ``alias`` names first;
    - ``parameter``: a parameter of the module ``owner``;
    - ``prefix``: ``near`` are the modules with that name behind a missing prefix;
    - ``extra-prefix``: the name without its first segments is a module;
    - ``number``: ``parent`` has no child of that number, but ``children``;
    - ``spelling``: ``near`` are the modules nearest in spelling, segment by segment, maybe none;
      ``parent`` is the deepest module that exists, ``children`` its children, where the rest of the name is unknown.

    ``near`` are the FQNs that may have been meant, best first.
    """

    problem: str
    near: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """As a fault's data."""
        return {"problem": self.problem, "near": self.near, **self.more}


class Nearest:
    """Near names among the modules of one tree."""

    def __init__(self, tree: ModuleTree) -> None:
        self.tree = tree

    def to(self, name: str) -> Guess:
        """The best guess for a name that is no module."""
        tree = self.tree
        if name in tree.aliases:
            return Guess("alias", (tree.aliases[name],), {"alias": tree.aliases[name]})
        owner, _, last = name.rpartition(".")
        owner = tree.aliases.get(owner, owner)
        if owner in tree.modules and last in tree.modules[owner].parameters:
            return Guess("parameter", (owner,), {"owner": owner})
        segments = name.split(".")
        if behind := self._by_last.get(segments[-1]):
            found = tuple(f for f in behind if f.endswith(f".{name}"))
            if found:
                return Guess("prefix", found[:_MOST])
        for start in range(1, len(segments)):
            rest = ".".join(segments[start:])
            if rest in tree.modules:
                return Guess("extra-prefix", (rest,))
        return self._by_spelling(segments)

    @cached_property
    def _by_last(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for fqn in self.tree.modules:
            found.setdefault(fqn.rpartition(".")[2], []).append(fqn)
        return found

    def _by_spelling(self, segments: list[str]) -> Guess:
        starts = ["", *(f for f in self.tree.children("") if f in self.tree.modules)]
        for start in starts:
            if found := self._walk(start, segments):
                return Guess("spelling", tuple(found[:_MOST]))
        parent = unknown = ""
        for unknown in segments:
            child = f"{parent}.{unknown}" if parent else unknown
            if child not in self.tree.modules:
                break
            parent = child
        children = self.tree.children(parent)
        numbered = bool(children) and all(c.isdecimal() for c in children)
        problem = "number" if numbered and unknown.lstrip("-").isdecimal() else "spelling"
        return Guess(problem, (), {"parent": parent, "children": children})

    def _walk(self, start: str, segments: list[str]) -> list[str]:
        """Modules below ``start`` whose names are the segments, each as written or nearly so."""
        paths = [start]
        for segment in segments:
            further: list[str] = []
            for path in paths:
                lead = f"{path}." if path else ""
                children = self.tree.children(path) if path in self.tree.modules else ()
                if segment in children:
                    further.append(lead + segment)
                elif not segment.isdecimal():
                    further.extend(lead + name for name in near(segment, children, _MOST) if not name.isdecimal())
            paths = [p for p in further if p in self.tree.modules][:_MOST]
            if not paths:
                return []
        return paths
