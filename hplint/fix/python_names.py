"""The names under which a Python file knows the words of plans, and the imports that it needs for more of them."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from hplint.fix.edit import CannotRealise
from hplint.fix.python_items import Items, New, items_of
from hplint.fix.python_lines import Lines
from hplint.fix.python_tree import PythonTree
from hplint.front.python.eval import dotted
from hplint.front.python.scope import AXES, MESH_AXIS, PLACEMENTS, PLAN_WORDS, PLANNER, ROOTS, SPEC, TARGET
from hplint.text.span import Span

PLACEMENT_MODULE = "hyper_parallel.core.dtensor.placement_types"
TORCH_PLACEMENTS = "torch.distributed.tensor"
PLAN_MODULE = "hyper_parallel.distributed"
"""Where words are imported from by files that import none of their kind."""
TORCH = "torch.distributed"
_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (PLACEMENT_MODULE, PLACEMENTS),
    (PLAN_MODULE, (SPEC, TARGET, PLANNER, MESH_AXIS, *AXES)),
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Bound:
    """A name that an import binds: the dotted path behind it, and the part of the file that sees it (None: all)."""

    name: str
    path: str
    node: ast.Import | ast.ImportFrom
    alias: ast.alias
    scope: Span | None = None

    def seen_from(self, at: int) -> bool:
        """Whether code at an offset sees the name."""
        return self.scope is None or self.scope.start <= at < self.scope.end


class Names:
    """The names of one file. ``spell`` notes the imports that it takes, those of placements from ``placements``."""

    def __init__(self, tree: PythonTree, lines: Lines, placements: str = PLACEMENT_MODULE) -> None:
        self.placements = placements
        self.tree = tree
        self.lines = lines
        self.imports: list[Bound] = []
        self.stars: list[str] = []
        self.own: set[str] = set()
        """Names that the file itself binds, by assignment or definition."""
        self.loads: list[ast.Name] = []
        self.attributes: list[ast.Attribute] = []
        self.wanted: dict[str, str] = {}
        """Words to import, and from where."""
        self._collect(tree.module, None, False)

    def _collect(self, node: ast.AST, scope: Span | None, typing: bool) -> None:
        waiting: list[tuple[ast.AST, Span | None, bool]] = [(node, scope, typing)]
        while waiting:
            node, scope, typing = waiting.pop()
            match node:
                case ast.ImportFrom() | ast.Import() if not typing:
                    self._import(node, scope)
                case ast.Name(ctx=ast.Load()):
                    self.loads.append(node)
                case ast.Name():
                    self.own.add(node.id)
                case ast.Attribute():
                    self.attributes.append(node)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    self.own.add(node.name)
                case ast.arg():
                    self.own.add(node.arg)
            inner = scope
            if isinstance(node, _FUNCTIONS):
                inner = self.tree.places.span(node)
            only_typing = isinstance(node, ast.If) and (dotted(node.test) or "").endswith("TYPE_CHECKING")
            waiting += [(child, inner, typing or only_typing) for child in ast.iter_child_nodes(node)]

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Span | None) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                head = alias.name.partition(".")[0]
                self.imports.append(
                    Bound(alias.asname or head, alias.name if alias.asname else head, node, alias, scope)
                )
                continue
            module = "." * node.level + (node.module or "")
            if alias.name == "*":
                self.stars.append(module)
            else:
                path = f"{module}{'' if module.endswith('.') else '.'}{alias.name}"
                self.imports.append(Bound(alias.asname or alias.name, path, node, alias, scope))

    def binding(self, name: str, at: int) -> Bound | None:
        """The import that binds a name as code at an offset sees it."""
        found = [b for b in self.imports if b.name == name and b.seen_from(at)]
        return min(found, key=lambda b: b.scope is None, default=None)

    def path(self, text: str, at: int) -> str | None:
        """The dotted path behind a name or attribute; None where no import binds it."""
        head, dot, rest = text.partition(".")
        bound = self.binding(head, at)
        return f"{bound.path}{dot}{rest}" if bound else None

    def axis(self, text: str, at: int) -> str | None:
        """The axis that a name or attribute stands for."""
        path = self.path(text, at) or text
        head, _, word = path.rpartition(".")
        if head.rpartition(".")[2] == MESH_AXIS:
            return word.lower()
        return AXES.get(word)

    def uses(self, name: str) -> int:
        """How often a name, or an attribute of that name, is read in the file."""
        return sum(n.id == name for n in self.loads) + sum(
            a.attr == name and isinstance(a.ctx, ast.Load) for a in self.attributes
        )

    def spell(self, word: str, at: int) -> str:
        """A word of plans (``Shard``, ``Target``, ``TP`` …) as the file says it at an offset; an import is noted where
        it takes one. Raises CannotRealise where the name means something else in the file."""
        if known := self.known(word, at):
            return known
        source, kind = next((m, k) for m, k in _KINDS if word in k)
        if self._uses_unbound(kind):
            return word
        if word in self.own or any(b.name == word for b in self.imports):
            raise CannotRealise(f"`{word}` means something else in this file")
        self.wanted[word] = self.placements if kind is PLACEMENTS else source
        return word

    def beside(self, path: str, word: str, at: int) -> str:
        """Another word of the module that a dotted path leads into, as the file says it. Raises CannotRealise where it
        imports no such word."""
        wanted = f"{path.rpartition('.')[0]}.{word}"
        for bound in self.imports:
            if bound.seen_from(at) and bound.name not in self.own:
                if bound.path == wanted:
                    return bound.name
                if wanted.startswith(f"{bound.path}."):
                    return f"{bound.name}{wanted[len(bound.path) :]}"
        raise CannotRealise(f"the file does not import `{word}`")

    def known(self, word: str, at: int) -> str | None:
        """The same for words that take no further import; None for others."""
        kind = next(k for _, k in _KINDS if word in k)
        for bound in self.imports:
            if bound.seen_from(at) and _is_word(bound.path, word) and bound.name not in self.own:
                return bound.name
        for node in self.attributes:
            prefix = dotted(node.value)
            path = self.path(f"{prefix}.{node.attr}", at) if prefix and node.attr in kind else None
            # A member of the enum stands for no word of the module.
            if path and path.rpartition(".")[0].rpartition(".")[2] != MESH_AXIS and _is_word(path, node.attr):
                return f"{prefix}.{word}"
        if any(
            star.partition(".")[0] in ROOTS or (star.startswith(TORCH) and word in PLACEMENTS) for star in self.stars
        ):
            return None if word in self.own else word
        return None

    def member(self, axis: str, at: int) -> str | None:
        """``MeshAxisName.TP`` for an axis, where the file knows the enum."""
        known = self.known(MESH_AXIS, at)
        return f"{known}.{axis.upper()}" if known else None

    def _uses_unbound(self, kind: tuple[str, ...]) -> bool:
        """Whether the file is a piece of one: it says words of plans that nothing in it binds."""
        bound = self.own | {b.name for b in self.imports}
        return any(n.id in PLAN_WORDS and n.id not in bound for n in self.loads) and not any(
            _is_word(b.path, word) for b in self.imports for word in kind
        )

    # Imports to come

    def needed(self) -> tuple[dict[Items, list[New]], list[str]]:
        """What the imports need: names to put into statements that are there, and lines for new statements."""
        into: dict[Items, list[New]] = {}
        known: dict[int, Items] = {}
        fresh: dict[str, list[str]] = {}
        for word, source in sorted(self.wanted.items()):
            kind = PLACEMENTS if source == self.placements else next(k for m, k in _KINDS if m == source)
            sibling = next(
                (b for b in self.imports if b.scope is None and isinstance(b.node, ast.ImportFrom)
                 and any(_is_word(b.path, w) for w in kind)),
                None,
            )  # fmt: skip
            if sibling is None:
                fresh.setdefault(source, []).append(word)
                continue
            if id(sibling.node) not in known:
                node = self.tree.at(self.tree.places.span(sibling.node))[-1]
                items = items_of(self.tree, node)
                if not items.wraps and any(self.tree.text[i.start : items.end].count("\\") for i in items.items):
                    raise CannotRealise("the import goes on behind a backslash")
                known[id(sibling.node)] = items
            items = known[id(sibling.node)]
            names = [a.name for a in sibling.node.names]
            into.setdefault(items, []).append(New(_writes(word), _place(names, word)))
        return into, [f"from {module} import {', '.join(sorted(words))}" for module, words in fresh.items()]

    def place_of_imports(self) -> int:
        """The offset of the line below the last import at the top of the file, its docstring and ``__future__``
        imports."""
        at = self.lines.start(0)
        for position, node in enumerate(self.tree.module.body):
            docstring = position == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, (ast.Import, ast.ImportFrom)) or docstring:
                at = self.lines.following(self.tree.places.span(node).end)
        return at


def _writes(word: str) -> Callable[[str, int], str]:
    return lambda indent, column: word


def _is_word(path: str, word: str) -> bool:
    """Whether a dotted path is that of a word of plans."""
    head, _, last = path.rpartition(".")
    return last == word and (word not in AXES or path.partition(".")[0] in ROOTS or head.startswith("."))


def _place(names: list[str], word: str) -> int:
    """Behind which name a new one stands: in order where the names are, else behind all of them."""
    keys: tuple[Callable[[str], tuple[int, str]], ...] = (
        _isort,
        lambda name: (0, name.lower()),
        lambda name: (0, name),
    )
    for key in keys:
        if names == sorted(names, key=key):
            return sum(key(n) <= key(word) for n in names) - 1
    return len(names) - 1


def _isort(name: str) -> tuple[int, str]:
    """Constants, classes, other names: as import sorters order them."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2), name
