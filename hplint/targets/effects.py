"""Whether an injected function communicates or calls custom kernels: what decides its ``region_dispatch``."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from hplint.targets.definition import Definition, SourceFile
from hplint.targets.lookup import Absent, Lookup

FOLLOWED = 2
"""Calls are followed through this many functions of the same file."""
COMMUNICATES = (
    "torch.distributed", "torch.ops.c10d", "torch.ops._c10d_functional", "torch.ops.c10d_functional",
    "hyper_parallel.core.collective", "hyper_parallel.distributed.collectives", "hyper_parallel.collectives",
    "deepspeed.comm", "mpi4py",
)  # fmt: skip
ASKS = frozenset((
    "get_rank", "get_world_size", "is_initialized", "is_available", "get_backend", "get_process_group_ranks",
    "get_global_rank", "get_group_rank", "get_node_local_rank", "is_nccl_available", "get_local_rank",
    "init_device_mesh", "DeviceMesh", "Shard", "Replicate", "Partial", "ReduceOp",
))  # fmt: skip
"""Names of torch.distributed that move no data."""
KERNELS = ("triton", "flash_attn", "flash_attn_interface", "xformers", "torch_npu", "transformer_engine", "apex",
           "mindspeed", "flashinfer", "deep_gemm", "deep_ep", "grouped_gemm", "liger_kernel", "fla")  # fmt: skip
ATEN = ("torch.ops.aten", "torch.ops.prims", "torch.ops.load_library", "torch.ops.higher_order")
PLAIN = frozenset((
    "torch", "math", "functools", "itertools", "operator", "typing", "collections", "dataclasses", "einops", "warnings",
    "logging", "os", "sys", "contextlib", "numbers", "copy",
))  # fmt: skip
"""Packages whose functions neither communicate nor are custom kernels, torch.distributed and torch.ops apart."""


class Effect(NamedTuple):
    """``answer`` is yes, no or unknown; ``what`` the call that decides it, ``kind`` communication or kernel, ``place``
    where it stands (``kernels.py:12``)."""

    answer: str
    kind: str = ""
    what: str = ""
    place: str = ""


def effect_of(definition: Definition, lookup: Lookup) -> Effect:
    """What the source says: "yes" with the first place, "no" where every call is understood, else "unknown"."""
    if definition.kind not in ("function", "class") or definition.home is None or definition.node is None:
        return Effect("unknown")
    found = _Walk(lookup, definition.home)
    found.body(definition.node, 0)
    return found.yes or found.unknown or Effect("no")


class _Walk:
    def __init__(self, lookup: Lookup, file: SourceFile) -> None:
        self.lookup = lookup
        self.file = file
        self.seen: set[int] = set()
        self.yes: Effect | None = None
        self.unknown: Effect | None = None

    def body(self, node: ast.AST, depth: int) -> None:
        """Walk one function, decorators and annotations left out; nested functions belong to it."""
        if id(node) in self.seen:
            return
        self.seen.add(id(node))
        local = {a.arg for n in ast.walk(node) if isinstance(n, ast.arguments) for a in
                 (*n.posonlyargs, *n.args, *n.kwonlyargs)}  # fmt: skip
        local |= {n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n is not node}
        local |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        imports = _local_imports(node)
        decorators = {id(d) for n in ast.walk(node) for d in getattr(n, "decorator_list", ())}
        calls = [n for n in ast.walk(node) if isinstance(n, ast.Call) and id(n) not in decorators]
        for call in sorted(calls, key=lambda c: (c.lineno, c.col_offset)):
            self._call(call, local - imports.keys(), imports, depth)
        called = {id(_without_subscripts(c.func)) for c in calls}
        for mention in _mentions(node, decorators, called):
            self._mention(mention, local - imports.keys(), imports)

    def _mention(self, node: ast.expr, local: set[str], imports: dict[str, str]) -> None:
        """A collective or a kernel that is named but not called here may be called under another name."""
        dotted = self._dotted(node, local, imports)
        if self.unknown is None and dotted and classify(dotted) in ("communication", "kernel"):
            name = self.file.path.rpartition("/")[2]
            self.unknown = Effect("unknown", "", dotted, f"{name}:{node.lineno}")

    def _dotted(self, node: ast.expr, local: set[str], imports: dict[str, str]) -> str:
        """The path that an expression names; "" for local names and for what is no path."""
        dotted = self.lookup.dotted(node, self.file)
        first, _, rest = dotted.partition(".")
        if first in imports:
            return f"{imports[first]}.{rest}".strip(".")
        return "" if first in local else dotted

    def _call(self, call: ast.Call, local: set[str], imports: dict[str, str], depth: int) -> None:
        func = _without_subscripts(call.func)
        dotted = self._dotted(func, local, imports)
        if not dotted:
            return
        kind = classify(dotted)
        if kind in ("communication", "kernel"):
            self._say_yes(kind, dotted, call.lineno)
        elif kind == "unknown":
            self._follow(func, dotted, call.lineno, depth)

    def _say_yes(self, kind: str, what: str, line: int) -> None:
        name = self.file.path.rpartition("/")[2]
        self.yes = self.yes or Effect("yes", kind, what, f"{name}:{line}")

    def _follow(self, func: ast.expr, dotted: str, line: int, depth: int) -> None:
        found = self.lookup.expression(func, self.file)
        if isinstance(found, Absent):
            found = ()
        for definition in found:
            if definition.reason == "it is built into Python" and definition.home is None and "." not in dotted:
                return
            if definition.kind in ("function", "class") and definition.home and definition.node:
                if any(_is_kernel(d, self.lookup, definition.home) for d in _decorators(definition.node)):
                    self._say_yes("kernel", dotted, line)
                    return
                if definition.home is self.file and depth < FOLLOWED:
                    self.body(definition.node, depth + 1)
                    return
        if self.unknown is None:
            name = self.file.path.rpartition("/")[2]
            self.unknown = Effect("unknown", "", dotted, f"{name}:{line}")


def classify(dotted: str) -> str:
    """What calling that path does: communication, kernel, plain or unknown."""
    top, _, _ = dotted.partition(".")
    if any(dotted == p or dotted.startswith(p + ".") for p in COMMUNICATES):
        return "plain" if not ASKS.isdisjoint(dotted.split(".")) else "communication"
    if top in KERNELS:
        return "kernel"
    if dotted.startswith("torch.ops."):
        return "plain" if dotted.startswith(ATEN) else "kernel"
    return "plain" if top in PLAIN and dotted != top else "unknown"


def _without_subscripts(func: ast.expr) -> ast.expr:
    while isinstance(func, ast.Subscript):  # kernel[grid](…)
        func = func.value
    return func


def _mentions(node: ast.AST, decorators: set[int], called: set[int]) -> Iterator[ast.expr]:
    """The names and dotted names of a function's body, but those that are called, decorators and annotations."""
    stack = [node]
    while stack:
        here = stack.pop()
        if isinstance(here, ast.Name | ast.Attribute):
            if id(here) not in called:
                yield here
            while isinstance(here, ast.Attribute):
                here = here.value
            if isinstance(here, ast.Name):
                continue
        hidden = {id(getattr(here, name, None)) for name in ("annotation", "returns")} | decorators
        stack += [child for child in ast.iter_child_nodes(here) if id(child) not in hidden]


def _decorators(node: ast.AST) -> list[ast.expr]:
    return list(getattr(node, "decorator_list", ()))


def _is_kernel(decorator: ast.expr, lookup: Lookup, file: SourceFile) -> bool:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    dotted = lookup.dotted(node, file)
    return dotted.startswith("triton.") or dotted in ("torch.library.custom_op", "torch.library.triton_op")


def _local_imports(node: ast.AST) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in ast.walk(node):
        if isinstance(item, ast.Import):
            for alias in item.names:
                top = alias.name.partition(".")[0]
                found[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(item, ast.ImportFrom) and item.level == 0 and item.module:
            for alias in item.names:
                found[alias.asname or alias.name] = f"{item.module}.{alias.name}"
    return found
