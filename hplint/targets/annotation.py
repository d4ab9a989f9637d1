"""Whether a configured value fits a parameter's annotation, as strictly as the runtime compares them (R29)."""

import ast
from typing import Any

from hplint.plan.entry import UNKNOWN
from hplint.targets.definition import SourceFile
from hplint.targets.lookup import DEEPEST, Lookup

_SIMPLE = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str,)}
_NO_BOOL = ("int", "float")
_SEQUENCES = ("list", "typing.List")
_TUPLES = ("tuple", "typing.Tuple")
_DICTS = ("dict", "typing.Dict")
_TYPING = ("typing", "typing_extensions")
_ONE_OF_EACH: tuple[Any, ...] = (1, False, "", [], {})


def examples(annotation: ast.expr | None) -> list[Any]:
    """Values that may fit an annotation: those that it spells out itself, then one of each type."""
    if annotation is None:
        return []
    spelled = [n.value for n in ast.walk(annotation) if isinstance(n, ast.Constant)]
    return [*(v for v in spelled if isinstance(v, bool | int | str)), *_ONE_OF_EACH]


class Annotations:
    """Compares values with the annotations of one file. bool and int are strict, an int is accepted for a float, a str
    is never coerced; what is not understood is None: unchecked."""

    def __init__(self, file: SourceFile | None, lookup: Lookup) -> None:
        self.file = file
        self.lookup = lookup
        self._left = 1000
        """Parts that are still compared: aliases of unions of aliases may be many."""

    def fits(self, value: Any, annotation: ast.expr | None, depth: int = 0) -> bool | None:
        """True, False, or None where nothing can be said."""
        self._left -= 1
        if value is UNKNOWN or annotation is None or depth > DEEPEST or self._left < 0:
            return None
        match annotation:
            case ast.Constant(value=str() as text):
                try:
                    return self.fits(value, ast.parse(text.strip(), mode="eval").body, depth + 1)
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    return None
            case ast.Constant(value=None):
                return value is None
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._any(value, [left, right], depth)
            case ast.Subscript(value=base, slice=inner):
                return self._generic(value, self._name(base), inner, depth)
            case ast.Name() | ast.Attribute():
                return self._named(value, annotation, depth)
        return None

    def _any(self, value: Any, options: list[ast.expr], depth: int) -> bool | None:
        results = [self.fits(value, o, depth + 1) for o in options]
        if any(r is True for r in results):
            return True
        return None if any(r is None for r in results) else False

    def _all(self, results: list[bool | None]) -> bool | None:
        if any(r is False for r in results):
            return False
        return None if any(r is None for r in results) else True

    def _name(self, node: ast.expr) -> str:
        """The dotted name, ``typing.`` kept for what comes from there; "" where a name may mean something else."""
        dotted = self.lookup.dotted(node, self.file) if self.file else ""
        head, _, last = dotted.rpartition(".")
        return f"typing.{last}" if head in _TYPING else dotted.removeprefix("builtins.")

    def _named(self, value: Any, node: ast.expr, depth: int) -> bool | None:
        name = self._name(node)
        bound = self.file.scope.names.get(name) if self.file and self.file.scope and "." not in name else None
        if bound:
            alias = bound[0].node if len(bound) == 1 and bound[0].kind == "value" else None
            return self.fits(value, alias, depth + 1) if isinstance(alias, ast.expr) else None
        if name in _SIMPLE:
            if isinstance(value, bool) and name in _NO_BOOL:
                return False
            return isinstance(value, _SIMPLE[name])
        if name in _SEQUENCES:
            return isinstance(value, list)
        if name in _TUPLES:
            return isinstance(value, list | tuple)
        if name in _DICTS:
            return isinstance(value, dict)
        return None

    def _generic(self, value: Any, base: str, inner: ast.expr, depth: int) -> bool | None:
        parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
        match base:
            case "typing.Optional":
                return True if value is None else self.fits(value, inner, depth + 1)
            case "typing.Union":
                return self._any(value, parts, depth)
            case "typing.Literal":
                return self._literal(value, parts)
            case "typing.Annotated" if parts:
                return self.fits(value, parts[0], depth + 1)
        if base in _SEQUENCES and len(parts) == 1:
            if not isinstance(value, list):
                return False
            return self._all([self.fits(v, parts[0], depth + 1) for v in value])
        if base in _TUPLES:
            return self._tuple(value, parts, depth)
        if base in _DICTS and len(parts) == 2:
            if not isinstance(value, dict):
                return False
            keys = [self.fits(k, parts[0], depth + 1) for k in value]
            return self._all([*keys, *(self.fits(v, parts[1], depth + 1) for v in value.values())])
        return None

    def _tuple(self, value: Any, parts: list[ast.expr], depth: int) -> bool | None:
        if not isinstance(value, list | tuple):
            return False
        if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is ...:
            return self._all([self.fits(v, parts[0], depth + 1) for v in value])
        if len(parts) != len(value):
            return False
        return self._all([self.fits(v, p, depth + 1) for v, p in zip(value, parts, strict=True)])

    def _literal(self, value: Any, parts: list[ast.expr]) -> bool | None:
        if not all(isinstance(p, ast.Constant) for p in parts):
            return None
        allowed = [p.value for p in parts if isinstance(p, ast.Constant)]
        return any(type(a) is type(value) and a == value for a in allowed)
