"""How PyTorch's ``parallelize_module`` finds the modules of a plan's keys: segment by segment among the children of one
level, each segment an fnmatch pattern, so that ``*`` never crosses a dot. An empty key is the module itself.

Keys count from the module that the call is given. Where the file follows it from the model, that is where they count
from. Where it does not (a function that is given a block, a dict that is returned), they count from the modules that
most of them fit.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan
from hplint.plan.style import ANY, Application, StyleEntry

_MARKS = "*?["
MODELS = frozenset(("model", "net", "network", "llm", "model_part", "base_model", "ddp_model", "parallel_model"))
"""Names that a whole model goes by."""
_MOST = 5_000
"""Modules that are tried as the place of a plan."""


class Matched(NamedTuple):
    """Hits and roots by entry, and the entries whose root is a guess."""

    hits: dict[int, tuple[str, ...]]
    roots: dict[int, tuple[str, ...]]
    guessed: frozenset[int]


class Miss(NamedTuple):
    """Where a key leads nowhere: the modules that its first segments reach, the segment that fits none of their
    children, and the names of these."""

    reached: tuple[str, ...]
    segment: str
    names: tuple[str, ...]


def children(tree: ModuleTree, fqn: str) -> dict[str, str]:
    """Name -> FQN of the modules that ``named_children()`` gives: one that a parent holds twice only by its first
    name; one that stands elsewhere already under the name that it has there."""
    prefix = f"{fqn}." if fqn else ""
    found: dict[str, str] = {name: prefix + name for name, _ in tree.modules[fqn].node.children}
    for alias, target in tree.aliases.items() if tree.aliases else ():
        name = alias.removeprefix(prefix)
        if alias.startswith(prefix) and "." not in name and target in tree.modules and target not in found.values():
            found[name] = target
    return found


def segments(key: str) -> tuple[str, ...]:
    """The segments of a key; none for the module itself. torch overlooks one dot at the end."""
    parts = tuple(key.split(".")) if key else ()
    return parts[:-1] if len(parts) > 1 and not parts[-1] else parts


def descend(tree: ModuleTree, roots: Iterable[str], steps: Sequence[str]) -> tuple[str, ...]:
    """The modules that patterns of segments lead to, each once."""
    here = dict.fromkeys(roots)
    for step in steps:
        here = dict.fromkeys(full for fqn in here for full in _below(tree, fqn, step))
    return tuple(here)


def _below(tree: ModuleTree, fqn: str, step: str) -> list[str]:
    below = children(tree, fqn)
    if step == ANY:
        prefix = f"{fqn}." if fqn else ""
        return [fqn, *(name for name in tree.modules if name.startswith(prefix) and name != fqn)]
    if not any(mark in step for mark in _MARKS):
        return [below[step]] if step in below else []
    return [full for name, full in below.items() if fnmatchcase(name, step)]


def miss(tree: ModuleTree, roots: tuple[str, ...], key: str) -> Miss | None:
    """Where a key that hits nothing goes wrong; None where it hits something."""
    here = roots
    for segment in segments(key):
        there = descend(tree, here, (segment,))
        if not there:
            return Miss(here, segment, tuple(dict.fromkeys(n for fqn in here for n in children(tree, fqn))))
        here = there
    return None


def match_torch(plan: Plan, tree: ModuleTree) -> Matched:
    """Match every entry of a plan."""
    found = Matched({}, {}, frozenset())
    groups: dict[int, tuple[Application | None, list[StyleEntry]]] = {}
    for entry in (*plan.styles, *plan.other_styles):
        if entry.key is not None:
            groups.setdefault(id(entry.applied), (entry.applied, []))[1].append(entry)
    guessed: set[int] = set()
    for applied, entries in groups.values():
        roots, sure = _roots(tree, applied, entries)
        for entry in entries:
            assert entry.key is not None
            found.roots[entry.index] = roots
            found.hits[entry.index] = () if _some(entry) else descend(tree, roots, segments(entry.key.value))
            if not sure:
                guessed.add(entry.index)
    return found._replace(guessed=frozenset(guessed))


def _some(entry: StyleEntry) -> bool:
    """Whether a style is for some modules of a loop, nobody knows which."""
    applied = entry.applied
    return bool(applied and applied.narrowed and applied.steps[-1:] in (("*",), (ANY,)) and not segments(_key(entry)))


def _key(entry: StyleEntry) -> str:
    return entry.key.value if entry.key else ""


def _roots(tree: ModuleTree, applied: Application | None, entries: list[StyleEntry]) -> tuple[tuple[str, ...], bool]:
    """The modules that keys count from, and whether the file says so."""
    keys = [segments(e.key.value) for e in entries if e.key is not None]
    steps = applied.steps if applied else ()
    for start in range(len(steps)):
        # `self.model.layers` may begin at anything: what leads nowhere is no part of the model.
        rest = steps[start:]
        if roots := descend(tree, ("",), rest):
            return roots, True
        if roots := _fitting(tree, [(*rest, *key) for key in keys], rest):
            return roots, False
    if steps:
        return (), False
    if applied and applied.variable in MODELS:
        at_root = any(descend(tree, ("",), key) for key in keys)
        fitting = () if at_root else _fitting(tree, keys, ())
        return (fitting, False) if fitting else (("",), True)
    return _fitting(tree, keys, ()), False


def _fitting(tree: ModuleTree, keys: list[tuple[str, ...]], steps: tuple[str, ...]) -> tuple[str, ...]:
    """The modules, equal but for their numbers, from which most keys hit something, led on by ``steps``. Of several
    that are as good the one nearest to the root."""
    keys = [k for k in keys if k]
    if not keys:
        return ()
    firsts = {k[0] for k in keys}
    groups: dict[str, list[str]] = {"": [""]}
    for fqn, module in tree.modules.items():
        if any(_fits(name, firsts) for name, _ in module.node.children):
            generic = ".".join("*" if p.isdecimal() else p for p in fqn.split("."))
            groups.setdefault(generic, [])
            if len(groups) < _MOST:
                groups[generic].append(fqn)
    best, score = "", 0
    for generic, fqns in sorted(groups.items(), key=lambda g: (g[0].count("."), len(g[0]))):
        hit = sum(1 for key in keys if descend(tree, fqns, key))
        if hit > score:
            best, score = generic, hit
    return descend(tree, dict.fromkeys(groups[best]), steps) if score else ()


def _fits(name: str, firsts: set[str]) -> bool:
    return name in firsts or any(mark in f for f in firsts for mark in _MARKS if fnmatchcase(name, f))
