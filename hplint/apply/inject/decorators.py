"""Decorators for injected functions. They check the parameters at once and change nothing else.

@hplint.apply.local_compute
def grouped_mlp(mesh, tp_mesh, cp_mesh, ep_mesh, *, block_size: int = 128):
    def compute(module, hidden_states): ...
    return compute

@hplint.apply.inner_wrapper
def ring(target_module, mesh, tp_mesh, cp_mesh, ep_mesh): ...
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hplint.targets.context import CONTEXT, MARK, OPTIONAL_CONTEXT

F = TypeVar("F", bound=Callable[..., Any])
_ATTRIBUTE = "__hplint_injection__"
_OPEN = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def local_compute(function: F) -> F:
    """Mark a factory for ``local_compute_fn``: called once a boundary with ``mesh``, ``tp_mesh``, ``cp_mesh`` and
    ``ep_mesh`` (a DeviceMesh each, None where the axis has one rank), on request ``module``, and the configured
    keywords; returns ``compute(module, *args)``. Raises TypeError where the parameters are others (R77-R80)."""
    return _marked(function, "local_compute_fn")


def inner_wrapper(function: F) -> F:
    """Mark a function for ``inner_wrapper``: called once a boundary with ``target_module`` and the meshes, see
    :func:`local_compute`; assigns ``target_module.forward`` itself or returns what takes its place. Raises TypeError
    where the parameters are others (R77-R80)."""
    return _marked(function, "inner_wrapper")


def context_names(field: str) -> tuple[str, ...]:
    """Parameters of an injected function that are filled in, those that it may leave out among them."""
    return (*CONTEXT[field], *OPTIONAL_CONTEXT.get(field, ()))


def mark_of(function: object) -> str | None:
    """The plan's field that a function is decorated for, by these decorators or HyperParallel's; None for none."""
    mark = getattr(function, _ATTRIBUTE, None)
    if isinstance(mark, str):
        return mark
    for field in ("local_compute_fn", "inner_wrapper"):
        if any(MARK[field] in word for word in _words(function)):
            return field
    return None


def _words(function: object) -> Iterable[str]:
    """What another package's decorator may have left: names and values of attributes, and the type of what it made."""
    yield _spelled(type(function).__name__)
    for name, value in getattr(function, "__dict__", {}).items():
        if name == "__wrapped__":
            continue
        yield _spelled(name)
        yield _spelled(value if isinstance(value, str) else type(value).__name__)


def _spelled(name: str) -> str:
    """``LocalComputeSpec`` as ``local_compute_spec``."""
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
    return snake.strip("_")


def _marked(function: F, field: str) -> F:
    if fault := _fault(function, field):
        raise TypeError(f"@{MARK[field]}: `{getattr(function, '__qualname__', function)}` {fault}")
    setattr(function, _ATTRIBUTE, field)
    return function


def _fault(function: Callable[..., Any], field: str) -> str:
    """What is wrong with the parameters, "" where nothing is."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        return f"has no signature that can be read ({error})"
    for parameter in parameters.values():
        if parameter.kind in _OPEN:
            return f"takes `{_OPEN[parameter.kind]}{parameter.name}`: give every parameter its name"
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            return f"takes `{parameter.name}` by position alone; all of them are passed by name"
    missing = [name for name in CONTEXT[field] if name not in parameters]
    if missing:
        return f"lacks the parameter{'s' * (len(missing) > 1)} {', '.join(f'`{n}`' for n in missing)}"
    preset = [n for n in context_names(field) if n in parameters and parameters[n].default is not inspect._empty]
    if preset:
        return f"gives `{preset[0]}` a default value; it is always passed, so leave the default out"
    return ""
