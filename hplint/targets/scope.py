"""What names mean in one file or class body, read from its syntax tree."""

import ast
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Binding(NamedTuple):
    """One thing that a name was bound to. ``kind`` is function, class, value (``node`` is the expression), module
    (``import a.b as c``: ``module`` names it), from (``from module import name``) or opaque (a loop variable, say).
    ``order`` counts statements, so that later star imports can hide it."""

    kind: str
    node: ast.AST | None
    order: int
    module: str = ""
    name: str = ""


class Star(NamedTuple):
    """``from module import *``."""

    module: str
    order: int


Names = dict[str, tuple[Binding, ...]]
_OUTER = Binding("outer", None, 0)
"""Stands in a branch for whatever the name meant before it."""


class Scope:
    """The names of one body. Where branches differ (if, try, loops), a name has one binding for each branch.

    ``package`` is the dotted package that relative imports count from. ``exports`` is ``__all__`` where it can be read.
    """

    def __init__(self, body: list[ast.stmt], package: str = "") -> None:
        self.package = package
        self.stars: list[Star] = []
        self.exports: list[str] | None = None
        self._order = 0
        bound = self._run(body, {})
        self.names: Names = {n: left for n, b in bound.items() if (left := tuple(x for x in b if x is not _OUTER))}

    def _run(self, body: Iterable[ast.stmt], names: Names) -> Names:
        for statement in body:
            self._order += 1
            handler = self._HANDLERS.get(type(statement))
            if handler:
                names = handler(self, statement, names)
        return names

    def _bind(self, names: Names, name: str, kind: str, node: ast.AST | None, module: str = "", of: str = "") -> None:
        names[name] = (Binding(kind, node, self._order, module, of),)

    def _function(self, s: ast.FunctionDef | ast.AsyncFunctionDef, names: Names) -> Names:
        self._bind(names, s.name, "function", s)
        return names

    def _class(self, s: ast.ClassDef, names: Names) -> Names:
        self._bind(names, s.name, "class", s)
        return names

    def _assign(self, s: ast.Assign, names: Names) -> Names:
        for target in s.targets:
            self._assign_to(target, s.value, names)
        return names

    def _assign_to(self, target: ast.expr, value: ast.expr | None, names: Names) -> None:
        if isinstance(target, ast.Name):
            if target.id == "__all__":
                self.exports = _strings(value)
            self._bind(names, target.id, "value" if value is not None else "opaque", value)
        elif isinstance(target, ast.Tuple | ast.List):
            pairs = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
            starred = any(isinstance(t, ast.Starred) for t in target.elts)
            for i, item in enumerate(target.elts):
                part = value.elts[i] if pairs and not starred else None  # type: ignore[union-attr]
                self._assign_to(item, part, names)
        elif isinstance(target, ast.Starred):
            self._assign_to(target.value, None, names)

    def _annotated(self, s: ast.AnnAssign, names: Names) -> Names:
        if s.value is not None:
            self._assign_to(s.target, s.value, names)
        return names

    def _augmented(self, s: ast.AugAssign, names: Names) -> Names:
        if isinstance(s.target, ast.Name):
            if s.target.id == "__all__":
                more = _strings(s.value)
                self.exports = None if self.exports is None or more is None else self.exports + more
            self._bind(names, s.target.id, "opaque", None)
        return names

    def _import(self, s: ast.Import, names: Names) -> Names:
        for alias in s.names:
            if alias.asname:
                self._bind(names, alias.asname, "module", s, alias.name)
            else:
                top = alias.name.partition(".")[0]
                self._bind(names, top, "module", s, top)
        return names

    def _import_from(self, s: ast.ImportFrom, names: Names) -> Names:
        module = absolute(self.package, s.module, s.level)
        for alias in s.names:
            if alias.name == "*":
                self.stars.append(Star(module, self._order))
            else:
                self._bind(names, alias.asname or alias.name, "from", s, module, alias.name)
        return names

    def _if(self, s: ast.If, names: Names) -> Names:
        branches = []
        while True:  # A loop, for chains of hundreds of elif.
            if not _is_type_checking(s.test):
                branches.append(self._run(s.body, {}))
            if len(s.orelse) == 1 and isinstance(s.orelse[0], ast.If):
                s = s.orelse[0]
                continue
            branches.append(self._run(s.orelse, {}))
            return _join(names, branches)

    def _try(self, s: ast.Try, names: Names) -> Names:
        tried = self._run(s.body, {})
        half_way = _join({}, [{}, tried])
        branches = [self._run(h.body, dict(half_way)) for h in s.handlers]
        branches.insert(0, self._run(s.orelse, tried))
        return self._run(s.finalbody, _join(names, branches))

    def _loop(self, s: ast.For | ast.AsyncFor | ast.While, names: Names) -> Names:
        inside: Names = {}
        if not isinstance(s, ast.While):
            self._assign_to(s.target, None, inside)
        return self._run(s.orelse, _join(names, [{}, self._run(s.body, inside)]))

    def _with(self, s: ast.With | ast.AsyncWith, names: Names) -> Names:
        for item in s.items:
            if item.optional_vars is not None:
                self._assign_to(item.optional_vars, None, names)
        return self._run(s.body, names)

    def _match(self, s: ast.Match, names: Names) -> Names:
        return _join(names, [{}, *(self._run(c.body, {}) for c in s.cases)])

    def _delete(self, s: ast.Delete, names: Names) -> Names:
        for target in s.targets:
            if isinstance(target, ast.Name):
                names[target.id] = ()
        return names

    def _expression(self, s: ast.Expr, names: Names) -> Names:
        match s.value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="__all__"), attr=attr), args=args):
                added = [_strings(a if attr == "extend" else ast.List([a], ast.Load())) for a in args]
                known = self.exports is not None and all(a is not None for a in added)
                self.exports = [*(self.exports or ()), *(n for a in added for n in a or ())] if known else None
        return names

    _HANDLERS: dict[type, Callable[..., Names]] = {  # noqa: RUF012 - a table, never changed
        ast.FunctionDef: _function, ast.AsyncFunctionDef: _function, ast.ClassDef: _class, ast.Assign: _assign,
        ast.AnnAssign: _annotated, ast.AugAssign: _augmented, ast.Import: _import, ast.ImportFrom: _import_from,
        ast.If: _if, ast.Try: _try, ast.TryStar: _try, ast.For: _loop, ast.AsyncFor: _loop, ast.While: _loop,
        ast.With: _with, ast.AsyncWith: _with, ast.Match: _match, ast.Delete: _delete, ast.Expr: _expression,
    }  # fmt: skip


def absolute(package: str, module: str | None, level: int) -> str:
    """The absolute name of what an import names; "" where it leads out of the top-level package."""
    if level == 0:
        return module or ""
    parts = package.split(".") if package else []
    if level - 1 > len(parts) or not parts:
        return ""
    base = parts[: len(parts) - (level - 1)]
    return ".".join([*base, *([module] if module else [])])


def may_appear(tree: ast.Module, name: str) -> bool:
    """Whether a file may bind ``name`` in ways that its statements do not show."""
    for node in ast.walk(tree):
        match node:
            case ast.Global(names=names) if name in names:
                return True
            case ast.Name(id="globals" | "exec"):
                return True
            case ast.Attribute(value=ast.Name(id="sys"), attr="modules"):
                return True
    return False


def _strings(node: ast.expr | None) -> list[str] | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _strings(node.left), _strings(node.right)
        return None if left is None or right is None else left + right
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    found = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    return found if len(found) == len(node.elts) else None


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _join(names: Names, branches: list[Names]) -> Names:
    """``names`` after one of the branches ran. Each branch holds its own changes only, so that a file with thousands of
    branches costs its length."""
    for name in {n: None for branch in branches for n in branch}:
        before = names.get(name, (_OUTER,))
        joined: dict[Binding, None] = {}
        for branch in branches:
            for binding in branch.get(name, before):
                joined.update(dict.fromkeys(before if binding is _OUTER else (binding,)))
        names[name] = tuple(joined)
    return names
