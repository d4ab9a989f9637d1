"""How PyTorch's ``parallelize_module`` finds the modules of a plan's keys: segment by segment among the children of one
level, each segment an fnmatch pattern, so that ``*`` never crosses a dot. An empty key is the module itself."""

from fnmatch import fnmatchcase

from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan


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


def descend(tree: ModuleTree, roots: tuple[str, ...], steps: tuple[str, ...]) -> tuple[str, ...]:
    """The modules that patterns of segments lead to, in module order, each once."""
    here = dict.fromkeys(roots)
    for step in steps:
        there: dict[str, None] = {}
        for fqn in here:
            below = children(tree, fqn)
            if step in below:
                there[below[step]] = None
            elif any(mark in step for mark in "*?["):
                there.update(dict.fromkeys(full for name, full in below.items() if fnmatchcase(name, step)))
        here = there
    return tuple(here)


def segments(key: str) -> tuple[str, ...]:
    """The segments of a key; none for the module itself."""
    return tuple(key.split(".")) if key else ()


def match_torch(
    plan: Plan, tree: ModuleTree
) -> tuple[dict[int, tuple[str, ...]], dict[int, tuple[str, ...]], frozenset[int]]:
    """Hits and roots by entry, and the entries whose root is guessed."""
    hits: dict[int, tuple[str, ...]] = {}
    roots: dict[int, tuple[str, ...]] = {}
    for entry in plan.styles:
        if entry.key is not None:
            roots[entry.index] = descend(tree, ("",), entry.applied.steps if entry.applied else ())
            hits[entry.index] = descend(tree, roots[entry.index], segments(entry.key.value))
    return hits, roots, frozenset()
