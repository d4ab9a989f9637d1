"""Class names in the wrap policies of FSDP that a Python file writes: which modules become units of their own.

Read from the syntax alone: classes by their names, through aliases of imports and names that are given once.
"""

import ast
from collections.abc import Iterator

from hplint.front.python.places import Places
from hplint.plan.entry import Text
from hplint.plan.style import WrapPolicy

_BY_CLASS = frozenset(("transformer_layer_cls", "module_classes"))
"""Keywords that take classes."""
_BY_NAME = frozenset((
    "fsdp_transformer_layer_cls_to_wrap", "transformer_layer_cls_to_wrap", "transformer_cls_names_to_wrap",
))  # fmt: skip
"""Keywords and keys that take names of classes: of the transformers library and of accelerate."""
_POLICY = "ModuleWrapPolicy"
_NO_SPLIT = "_no_split_modules"
_DEPTH = 4


def wrap_policies(tree: ast.Module, places: Places) -> tuple[WrapPolicy, ...]:
    """The policies of a file in reading order."""
    reader = _Reader(tree, places)
    found = [p for node in ast.walk(tree) for p in reader.policies(node) if p.classes]
    return tuple(sorted(found, key=lambda p: p.classes[0].span))


class _Reader:
    """Reads what policies are given."""

    def __init__(self, tree: ast.Module, places: Places) -> None:
        self.places = places
        self.aliases: dict[str, str] = {}
        self.given: dict[str, list[ast.expr]] = {}
        for node in ast.walk(tree):
            match node:
                case ast.ImportFrom():
                    self.aliases.update({a.asname: a.name for a in node.names if a.asname})
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.given.setdefault(name, []).append(value)

    def policies(self, node: ast.AST) -> Iterator[WrapPolicy]:
        """The policies that a node itself gives."""
        match node:
            case ast.Call():
                if _word(node.func) == _POLICY and node.args:
                    yield self._policy(_POLICY, node.args[0], by_name=False)
                for keyword in node.keywords:
                    yield from self._item(keyword.arg, keyword.value, _word(node.func))
            case ast.Dict():
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value in _BY_NAME:
                        yield from self._item(str(key.value), value)
            case ast.ClassDef():
                for statement in node.body:
                    match statement:
                        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == _NO_SPLIT:
                            yield self._policy(_NO_SPLIT, value, by_name=True)._replace(owner=node.name)

    def _item(self, name: str | None, value: ast.expr, function: str = "") -> Iterator[WrapPolicy]:
        if name in _BY_NAME:
            yield self._policy(name, value, by_name=True)
        elif name == "transformer_layer_cls" or (name in _BY_CLASS and function == _POLICY):
            assert name is not None
            yield self._policy(name, value, by_name=False)

    def _policy(self, name: str, value: ast.expr, by_name: bool) -> WrapPolicy:
        classes, whole = self._classes(value, by_name)
        return WrapPolicy(name, tuple(classes), by_name, whole)

    def _classes(self, value: ast.expr, by_name: bool, depth: int = 0) -> tuple[list[Text], bool]:
        """The classes that an expression names, and whether these are all of them."""
        match value:
            case ast.Set() | ast.List() | ast.Tuple():
                parts = [self._classes(v, by_name, depth + 1) for v in value.elts]
                return [t for found, _ in parts for t in found], all(whole for _, whole in parts)
            case ast.Call(args=[only], keywords=[]) if _word(value.func) in ("set", "list", "tuple", "frozenset"):
                return self._classes(only, by_name, depth)
            case ast.Constant(value=str() as text) if by_name:
                names = [n.strip() for n in text.split(",") if n.strip()]
                return [Text(n, self.places.span(value)) for n in names], True
            case ast.Name(id=name) if len(self.given.get(name, ())) == 1 and depth < _DEPTH:
                return self._classes(self.given[name][0], by_name, depth + 1)
            case ast.Name() | ast.Attribute() if not by_name:
                word = _word(value)
                if isinstance(value, ast.Name) and (word in self.given or not word[:1].isupper()):
                    return [], False  # A variable.
                return [Text(self.aliases.get(word, word), self.places.span(value))], True
        return [], False


def _word(node: ast.expr) -> str:
    """The last part of a name; "" for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name
    return ""
