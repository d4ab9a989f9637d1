"""From dotted paths and expressions to definitions, across files, nothing imported."""

import ast
import builtins
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from hplint.targets.definition import Definition, SourceFile, read_file
from hplint.targets.modules import Located, Locator
from hplint.targets.scope import Binding, Scope, may_appear

DEEPEST = 40
"""Aliases and re-exports are followed this far."""
MOST = 16
"""Definitions under one name, each in its branch, that are kept apart."""


class Absent(NamedTuple):
    """No such name. ``certain`` is false where the name may come from something that cannot be read (a namespace
    package, ``globals()``); ``names`` are those that are there."""

    certain: bool
    names: tuple[str, ...] = ()


Result = tuple[Definition, ...] | Absent
"""All that a name can stand for, depending on the branches that ran, or its absence."""


class Lookup:
    """Resolves names. Parsed files are kept."""

    def __init__(self, locator: Locator) -> None:
        self.locator = locator
        self._files: dict[str, SourceFile] = {}
        self._class_scopes: dict[ast.ClassDef, Scope] = {}
        self._names: dict[tuple[int, str], Result] = {}
        self._under_way: set[tuple[int, str]] = set()

    def file(self, located: Located) -> SourceFile:
        """The parsed file of a module."""
        key = f"{located.name}:{located.file}"
        if key not in self._files:
            self._files[key] = read_file(located)
        return self._files[key]

    def attribute(self, base: Definition, name: str, depth: int = 0) -> Result:
        """What ``base.name`` is."""
        if depth > DEEPEST:
            return (_opaque(name, "its aliases lead too far"),)
        if base.kind == "module" and base.module:
            return self._of_module(base.module, name, depth + 1)
        if base.kind == "class":
            return self._of_class(base, name, depth + 1)
        return (_opaque(f"{base.name}.{name}", base.reason or "it is an attribute that is set at run time"),)

    def module(self, name: str) -> Definition | None:
        """A module as a definition."""
        located = self.locator.locate(name) if name else None
        return Definition("module", name, self.file(located), module=located) if located else None

    def _of_module(self, located: Located, name: str, depth: int) -> Result:
        absent = Absent(False)
        if located.kind != "namespace":
            file = self.file(located)
            if file.scope is None or file.tree is None:
                submodule = self.module(f"{located.name}.{name}")
                return (submodule or _opaque(f"{located.name}.{name}", file.error),)
            found = self.name(file, name, depth)
            if isinstance(found, Absent):
                absent = found
            elif name in file.scope.names or any(d.kind != "opaque" for d in found):
                return found
            else:  # Made on demand, perhaps: a submodule of that name is the better guess.
                return (self.module(f"{located.name}.{name}") or found[0],)
        submodule = self.module(f"{located.name}.{name}")
        if submodule:
            return (submodule,)
        return Absent(absent.certain, (*absent.names, *self.locator.below(located)))

    def name(self, file: SourceFile, name: str, depth: int = 0) -> Result:
        """What a global name of a file stands for once the file has run. Each is worked out once."""
        key = (id(file), name)
        if key in self._names:
            return self._names[key]
        if key in self._under_way:
            return (_opaque(name, "its imports run in a circle"),)
        self._under_way.add(key)
        try:
            found = self._names[key] = self._name(file, name, depth)
        finally:
            self._under_way.discard(key)
        return found

    def _name(self, file: SourceFile, name: str, depth: int) -> Result:
        scope, tree = file.scope, file.tree
        if scope is None or tree is None:
            return (_opaque(name, file.error),)
        bindings = scope.names.get(name, ())
        newest = max((b.order for b in bindings), default=0)
        certain = True
        for star in reversed(scope.stars):
            if star.order > newest:
                found = self._starred(star.module, name, depth)
                if not isinstance(found, Absent):
                    return found
                certain = certain and found.certain
        if bindings:
            found = self._bound(bindings, file, name, depth)
            hidden = () if certain or isinstance(found, Absent) else (_opaque(name, "a star import may replace it"),)
            return found if isinstance(found, Absent) else (*found, *hidden)
        if "__getattr__" in scope.names:
            return (_opaque(name, "its module makes names on demand"),)
        if not certain or may_appear(tree, name):
            return (_opaque(name, "its module makes names that cannot be read"),)
        return Absent(True, (*scope.names, *(n for star in scope.stars for n in self._names_of(star.module))))

    def _names_of(self, module: str) -> tuple[str, ...]:
        located = self.locator.locate(module) if module else None
        scope = self.file(located).scope if located else None
        return tuple(scope.names if scope.exports is None else scope.exports) if scope else ()

    def _starred(self, module: str, name: str, depth: int) -> Result:
        if depth > DEEPEST or name.startswith("__"):
            return Absent(True)
        located = self.locator.locate(module) if module else None
        if located is None or located.kind == "namespace":
            return Absent(False)
        file = self.file(located)
        if file.scope is None:
            return Absent(False)
        if file.scope.exports is not None:
            if name not in file.scope.exports:
                return Absent(True)
        elif name.startswith("_"):
            return Absent(True)
        elif "__all__" in file.scope.names:
            return Absent(False)
        found = self.name(file, name, depth + 1)
        if not isinstance(found, Absent) and all(d.kind == "opaque" for d in found) and name not in file.scope.names:
            return Absent(False)
        return found

    def _bound(self, bindings: Iterable[Binding], file: SourceFile, name: str, depth: int) -> Result:
        found: list[Definition] = []
        for binding in bindings:
            result = self._binding(binding, file, name, depth + 1)
            if isinstance(result, Absent):
                where = f"{binding.module}.{binding.name}".strip(".")
                result = (_opaque(where or name, f"{where or name} is not found here"),)
            found += result
        return _distinct(found)

    def _binding(self, binding: Binding, file: SourceFile, name: str, depth: int) -> Result:
        if depth > DEEPEST:
            return (_opaque(name, "its aliases lead too far"),)
        match binding.kind:
            case "function" | "class":
                return (Definition(binding.kind, name, file, binding.node),)
            case "value" if isinstance(binding.node, ast.expr):
                return self.expression(binding.node, file, depth, name)
            case "module":
                return _one(self.module(binding.module), binding.module)
            case "from":
                base = self.module(binding.module)
                if base is None:
                    return (_opaque(f"{binding.module}.{binding.name}", f"{binding.module} is not found here"),)
                if base.module is file.module and binding.name == name:
                    # ``from . import x`` inside the package itself: the submodule.
                    return _one(self.module(f"{binding.module}.{name}"), name)
                return self.attribute(base, binding.name, depth)
        return (_opaque(name, "it is computed at run time"),)

    def expression(self, node: ast.expr, file: SourceFile, depth: int = 0, name: str = "") -> Result:
        """What an expression at the top level of a file gives."""
        if depth > DEEPEST:
            return (_opaque(name, "its aliases lead too far"),)
        match node:
            case ast.Name(id=of):
                if of == name:
                    return (_opaque(name, "it is computed at run time"),)
                found = self.name(file, of, depth + 1)
                if isinstance(found, Absent) and of in _BUILTINS:
                    return (_opaque(of, "it is built into Python"),)
                return found
            case ast.Attribute(value=base, attr=attr):
                return self._attributes(self.expression(base, file, depth + 1), attr, depth)
            case ast.Lambda():
                return (Definition("function", name or "<lambda>", file, node),)
            case ast.IfExp(body=body, orelse=other):
                results = [self.expression(e, file, depth + 1, name) for e in (body, other)]
                found_in = _distinct(d for r in results if not isinstance(r, Absent) for d in r)
                return found_in or Absent(False)
            case ast.Call():
                return self._call(node, file, depth, name)
            case ast.Constant() | ast.List() | ast.Tuple() | ast.Dict() | ast.Set() | ast.JoinedStr():
                return (Definition("value", name, file, node),)
        return (_opaque(name, "it is computed at run time"),)

    def _attributes(self, bases: Result, name: str, depth: int) -> Result:
        if isinstance(bases, Absent):
            return bases
        results = [self.attribute(b, name, depth + 1) for b in bases]
        found = [d for r in results if not isinstance(r, Absent) for d in r]
        if found and len(results) > 1 and any(isinstance(r, Absent) for r in results):
            found.append(_opaque(name, "it is not there in every branch"))
        return _distinct(found) or (results[0] if results else Absent(False))

    def _call(self, node: ast.Call, file: SourceFile, depth: int, name: str) -> Result:
        called = self.dotted(node.func, file)
        if called == "functools.partial" and node.args:
            inner = self.expression(node.args[0], file, depth + 1, name)
            if not isinstance(inner, Absent):
                return tuple(Definition("partial", name, file, node, inner=d) for d in inner)
        elif len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred):
            # decorate(f): as if the def carried the decorator.
            inner = self.expression(node.args[0], file, depth + 1, name)
            if not isinstance(inner, Absent) and all(d.kind == "function" for d in inner):
                return tuple(replace(d, wrappers=((node.func, file), *d.wrappers)) for d in inner)
        return (_opaque(name, "it is computed at run time"),)

    def _of_class(self, base: Definition, name: str, depth: int) -> Result:
        node = base.node
        if not isinstance(node, ast.ClassDef) or base.home is None:
            return (_opaque(name, "its class cannot be read"),)
        scope = self._class_scopes.setdefault(node, Scope(node.body))
        bindings = scope.names.get(name)
        if bindings:
            found = self._bound(bindings, base.home, f"{base.name}.{name}", depth)
            if isinstance(found, Absent):
                return found
            own = ("function", "class")
            return tuple(replace(d, name=f"{base.name}.{name}", owner=base) if d.kind in own else d for d in found)
        names = list(scope.names)
        if node.keywords or node.decorator_list:
            return (_opaque(f"{base.name}.{name}", "its class is changed at run time"),)
        for expression in node.bases:
            parents = self.expression(expression, base.home, depth + 1)
            if isinstance(parents, Absent) or any(p.kind != "class" for p in parents):
                if not (isinstance(expression, ast.Name) and expression.id == "object"):
                    return (_opaque(f"{base.name}.{name}", "a base class cannot be read"),)
                continue
            inherited = self._attributes(parents, name, depth)
            if not isinstance(inherited, Absent):
                return inherited
            names += inherited.names
        return Absent(True, tuple(names))

    def dotted(self, node: ast.expr, file: SourceFile) -> str:
        """The dotted path that an expression names, import aliases resolved: ``dist.all_reduce`` is
        ``torch.distributed.all_reduce``. "" for other expressions; names of the file itself stay as written."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        first = node.id
        for binding in (file.scope.names.get(first, ()) if file.scope else ())[:1]:
            if binding.kind == "module":
                first = binding.module
            elif binding.kind == "from":
                first = f"{binding.module}.{binding.name}"
        return ".".join([first, *reversed(parts)])


_BUILTINS = frozenset(dir(builtins))


def _distinct(definitions: Iterable[Definition]) -> tuple[Definition, ...]:
    """Each definition once; past MOST of them nothing is said."""
    found = {(d.kind, id(d.node), d.name, d.reason, d.wrappers): d for d in definitions}
    return tuple(found.values()) if len(found) <= MOST else (_opaque("", "too many branches define it"),)


def _opaque(name: str, reason: str) -> Definition:
    return Definition("opaque", name, reason=reason)


def _one(found: Definition | None, name: str) -> Result:
    return (found,) if found else (_opaque(name, f"{name} is not found here"),)
