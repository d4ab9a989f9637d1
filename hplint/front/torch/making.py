"""Calls of torch that plans of styles are written with: the styles, parallelize_module, meshes, and wrappers."""

from typing import TYPE_CHECKING

from hplint.front.python.values import (
    NO_DEFAULT,
    Arguments,
    ClassValue,
    Const,
    Items,
    MeshValue,
    Reference,
    StyleValue,
    Table,
    Unknown,
    Value,
)
from hplint.front.torch import paths as torch_paths
from hplint.text.span import Span

if TYPE_CHECKING:
    from hplint.front.python.machine import Machine

STYLES = (
    "ColwiseParallel", "RowwiseParallel", "SequenceParallel", "PrepareModuleInput", "PrepareModuleOutput",
    "PrepareModuleInputOutput",
)  # fmt: skip
"""Styles of torch.distributed.tensor.parallel. All their arguments are keywords."""
WORDS = (*STYLES, "parallelize_module", "init_device_mesh", "fully_shard", "checkpoint_wrapper")
"""Names that are known by themselves, where a star import may have brought them."""
_DATA = ("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel")
_HOME = "torch.distributed.tensor.parallel."
_COMPILE = "torch.compile"
_SHARDING = ("fully_shard", "FullyShardedDataParallel", "FSDP")


def is_style(word: str) -> bool:
    """Whether a class of another module is most likely a style: called like those of torch."""
    if word in _DATA or not word[:1].isupper():
        return False
    return word in STYLES or word.endswith("Parallel") or (word.startswith("Prepare") and "Module" in word)


def base_of(word: str) -> str | None:
    """The style that a class of another package is by its name: the float8 ones of torchao are those of torch."""
    if word in STYLES or "Float8" not in word:
        return None
    plain = word.replace("Float8", "")
    return plain if plain in STYLES else None


def base_style(bases: list[Value]) -> str | None:
    """The known style that a class with these bases derives from; "" for ParallelStyle alone, None for no style."""
    for base in bases:
        match base:
            case Reference() if base.word in STYLES:
                return base.word
            case Reference() if base.word == "ParallelStyle":
                return ""
            case ClassValue(style=str() as style):
                return style
    return None


def styled(m: "Machine", name: str, arguments: Arguments, span: Span, base: str | None = None) -> Value:
    """A style object. Arguments by position have their place for a name: the styles of torch take none."""
    given = {n: (arguments.names.get(n, v.span), v) for n, v in arguments.keywords.items()}
    given |= {str(place): (v.span, v) for place, v in enumerate(arguments.positional)}
    known = name if name in STYLES else base
    strange = bool(arguments.strange) or (bool(arguments.positional) and not known)
    return StyleValue(span, name, base or None, given, strange)


def call(m: "Machine", function: Reference, arguments: Arguments, span: Span) -> Value | None:
    """What a call of something imported gives where it matters to plans of styles; None for any other."""
    word = function.word
    if word == "parallelize_module":
        return _parallelize(m, arguments, span)
    if is_style(word) or (function.path.startswith(_HOME) and word[:1].isupper()):
        return styled(m, word, arguments, span, base_of(word))
    if word in ("init_device_mesh", "DeviceMesh"):
        return _mesh(arguments, span, 1 if word == "init_device_mesh" else None)
    if word in _SHARDING:
        return _shard(m, arguments, span)
    if function.path == _COMPILE or word == "checkpoint_wrapper":
        return _wrap("compile" if function.path == _COMPILE else word, arguments, span)
    return None


def _parallelize(m: "Machine", arguments: Arguments, span: Span) -> Value:
    from hplint.front.python.machine import Applied

    module, mesh, plan = (
        arguments.get(0, "module"),
        arguments.get(1, "device_mesh"),
        arguments.get(2, "parallelize_plan"),
    )
    items: list[tuple[Value, Value]] = []
    match plan:
        case Table():
            plan.applied = True
            if plan.name is None:
                plan.name = "parallelize_module"
            items = list(plan.entries.values())
        case StyleValue():
            items = [(Const("", plan.span), plan)]
        # What is reached from a parameter (an attribute of a configuration) stands in another file, as the parameter.
        case Unknown(parameter=False) if not plan.reason.endswith(NO_DEFAULT):
            m.unread.append(plan)
    m.run.applied.append(
        Applied(module, mesh, plan if isinstance(plan, Table) else None, items, span, len(m.run.events))
    )
    return module if module is not None else Unknown(span, "there is no module")


def _mesh(arguments: Arguments, span: Span, shape_at: int | None) -> MeshValue:
    names = arguments.keywords.get("mesh_dim_names") or arguments.get(2, "mesh_dim_names")
    shape = arguments.get(shape_at, "mesh_shape") if shape_at is not None else None
    axes: tuple[str, ...] | None = None
    if isinstance(names, Items) and names.rest is None and all(isinstance(i, Const) for i in names.items):
        axes = tuple(str(i.value) for i in names.items if isinstance(i, Const))
    size = len(shape.items) if isinstance(shape, Items) and shape.rest is None else None
    return MeshValue(span, axes, size if size is not None else len(axes) if axes else None)


def _shard(m: "Machine", arguments: Arguments, span: Span) -> Value | None:
    module = arguments.get(0, "module")
    if origin := torch_paths.origin_of(module):
        m.run.events.append(("fully_shard", origin, span))
        return module
    return None


def _wrap(kind: str, arguments: Arguments, span: Span) -> Value | None:
    module = arguments.get(0, "module" if kind != "compile" else "model")
    if origin := torch_paths.origin_of(module):
        wrapped = origin._replace(wrapped=(*origin.wrapped, (kind, span)))
        return Unknown(span, "what wraps a module is known only at run time", origin=wrapped)
    return None
