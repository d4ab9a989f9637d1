"""What a callable declares: parameters, decorators, and the functions that a factory returns."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hplint.targets.definition import Definition
from hplint.targets.lookup import Absent, Lookup, Result

MARKS = ("local_compute", "inner_wrapper", "module_replacement")
"""The decorators that register an injected function."""
MARK_ROOTS = ("hyper_parallel", "hyper_models", "hplint")
"""Packages whose decorators of those names count."""
TRANSPARENT = frozenset((
    "functools.wraps", "functools.lru_cache", "functools.cache", "torch.no_grad", "torch.inference_mode",
    "torch.enable_grad", "torch.compile", "torch.compiler.disable", "torch.jit.ignore", "torch.jit.unused",
    "torch._dynamo.disable", "typing.no_type_check", "typing_extensions.deprecated", "warnings.deprecated",
    "staticmethod", "contextlib.contextmanager", "typing.overload",
))  # fmt: skip
"""Decorators that keep the signature and register nothing."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """``kind`` is positional_only, positional (or keyword), keyword (only), var_positional or var_keyword."""

    name: str
    kind: str
    required: bool
    annotation: ast.expr | None = None
    none_default: bool = False

    @property
    def named(self) -> bool:
        """Whether a keyword can set it."""
        return self.kind in ("positional", "keyword")


@dataclass(frozen=True, slots=True)
class Signature:
    """One callable. ``marks`` are its registering decorators, None where they cannot be told. ``definition`` is None
    for functions known from the shipped tables alone."""

    name: str
    parameters: tuple[Parameter, ...]
    marks: frozenset[str] | None = frozenset()
    definition: Definition | None = None

    @property
    def shipped(self) -> bool:
        """Whether only the table of shipped functions knows it: other versions may declare more."""
        return self.definition is None

    @property
    def place(self) -> str:
        """``kernels.py:12``, for people; "" for shipped functions."""
        return self.definition.place if self.definition else ""

    def parameter(self, name: str) -> Parameter | None:
        """The parameter that a keyword of that name sets."""
        return next((p for p in self.parameters if p.named and p.name == name), None)

    def requires(self, name: str) -> bool:
        """Whether a call must give that keyword."""
        parameter = self.parameter(name)
        return parameter is not None and parameter.required

    @property
    def names(self) -> tuple[str, ...]:
        """What can be set by keyword."""
        return tuple(p.name for p in self.parameters if p.named)

    def of_kind(self, kind: str) -> Parameter | None:
        """The ``*args`` (var_positional) or ``**kwargs`` (var_keyword) parameter."""
        return next((p for p in self.parameters if p.kind == kind), None)


def signature_of(definition: Definition, lookup: Lookup) -> Signature | None:
    """The signature by which a definition is called; None where it cannot be told."""
    marks, known = marks_of(definition, lookup)
    if not known:
        return None
    match definition.kind:
        case "function":
            parameters = list(_parameters(definition.node))
            if definition.owner and not _decorated_with(definition, "staticmethod"):
                parameters = parameters[1:] if _decorated_with(definition, "classmethod") else parameters
            return Signature(definition.name, tuple(parameters), marks, definition)
        case "class":
            return _of_class(definition, lookup, marks)
        case "partial" if definition.inner and isinstance(definition.node, ast.Call):
            inner = signature_of(definition.inner, lookup)
            parameters_left = bind(inner.parameters, definition.node) if inner else None
            if parameters_left is not None:
                return Signature(definition.name, parameters_left, None, definition)
    return None


def marks_of(definition: Definition, lookup: Lookup) -> tuple[frozenset[str] | None, bool]:
    """The registering decorators (None: cannot be told), and whether the signature is as the source says."""
    found: set[str] = set()
    known = True
    wrappers = list(definition.wrappers)
    if definition.home:
        wrappers += [(d, definition.home) for d in getattr(definition.node, "decorator_list", ())]
    for node, file in wrappers:
        called = node.func if isinstance(node, ast.Call) else node
        dotted = lookup.dotted(called, file)
        if dotted in TRANSPARENT or dotted in ("classmethod", "staticmethod"):
            continue
        mark = _mark(called, dotted, file, lookup)
        if mark:
            found.add(mark)
        else:
            known = False
    return (frozenset(found) if known or found else None), known


def _mark(node: ast.expr, dotted: str, file: object, lookup: Lookup) -> str:
    last = dotted.rpartition(".")[2]
    origins = {dotted}
    result: Result = lookup.expression(node, file) if dotted else Absent(False)  # type: ignore[arg-type]
    if not isinstance(result, Absent):
        origins |= {d.dotted for d in result}
    for origin in origins:
        if origin.partition(".")[0] in MARK_ROOTS and origin.rpartition(".")[2] in MARKS:
            return origin.rpartition(".")[2]
    # A star import that cannot be followed, or a name that nothing binds: the name is all there is to go by.
    unbound = isinstance(result, Absent) or all(d.kind == "opaque" for d in result)
    return last if unbound and last in MARKS else ""


def _decorated_with(definition: Definition, name: str) -> bool:
    decorators = getattr(definition.node, "decorator_list", ())
    return any(isinstance(d, ast.Name) and d.id == name for d in decorators)


def _parameters(node: ast.AST | None) -> Iterator[Parameter]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return
    given = node.args
    positional = [(a, "positional_only") for a in given.posonlyargs] + [(a, "positional") for a in given.args]
    first_default = len(positional) - len(given.defaults)
    for i, (arg, kind) in enumerate(positional):
        default = given.defaults[i - first_default] if i >= first_default else None
        yield Parameter(arg.arg, kind, default is None, arg.annotation, _is_none(default))
    if given.vararg:
        yield Parameter(given.vararg.arg, "var_positional", False, given.vararg.annotation)
    for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield Parameter(arg.arg, "keyword", default is None, arg.annotation, _is_none(default))
    if given.kwarg:
        yield Parameter(given.kwarg.arg, "var_keyword", False, given.kwarg.annotation)


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _of_class(definition: Definition, lookup: Lookup, marks: frozenset[str] | None) -> Signature | None:
    node = definition.node
    if not isinstance(node, ast.ClassDef) or node.keywords:
        return None
    if node.bases:  # A base class may carry the mark.
        marks = marks or None
    if not isinstance(lookup.attribute(definition, "__new__"), Absent):
        return None
    made = lookup.attribute(definition, "__init__")
    if isinstance(made, Absent):
        return Signature(definition.name, (), marks, definition)
    if len(made) != 1 or made[0].kind != "function":
        return None
    of_init = signature_of(made[0], lookup)
    return replace(of_init, name=definition.name, parameters=of_init.parameters[1:], marks=marks,
                   definition=definition) if of_init else None  # fmt: skip


def bind(parameters: tuple[Parameter, ...], call: ast.Call) -> tuple[Parameter, ...] | None:
    """What ``functools.partial(f, …)`` leaves: positional ones go, named ones and all behind them become keyword-only.
    None where the call has ``*`` or ``**``."""
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return None
    positional = len(call.args) - 1
    taken = {k.arg for k in call.keywords}
    left: list[Parameter] = []
    named = False
    for p in parameters:
        if p.kind in ("positional_only", "positional") and positional > 0:
            positional -= 1
            continue
        named = named or p.name in taken
        if named and p.kind == "positional":
            p = replace(p, kind="keyword")
        left.append(replace(p, required=False) if p.name in taken else p)
    return tuple(left)
