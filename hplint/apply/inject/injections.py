"""Injected functions of a boundary: called once with the meshes, their results checked and put in place (2.8, 2.9)."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from hplint.apply.errors import BoundaryError, CannotApply
from hplint.apply.inject.decorators import context_names, mark_of
from hplint.apply.inject.replaceable import compute_fault, forward_fault
from hplint.apply.inject.shipped import implementation
from hplint.apply.inject.target_import import TargetError, import_target
from hplint.apply.inject.wrapped_forward import Undo, put_in_place
from hplint.apply.plan import ApplyBoundary, ApplyPlan, Call
from hplint.apply.region.boxes import Box
from hplint.apply.region.region import Region
from hplint.targets.context import MARK
from hplint.text.near import near
from hplint.text.wording import quote

Compute = Callable[..., Any]
COMPUTE, WRAPPER = "local_compute_fn", "inner_wrapper"
NOTE = "note"
"""What functions of our own may take besides: how their communication is recorded."""


class InjectionError(CannotApply):
    """An injected function that cannot be used, or that its module does not fit. ``boundary`` is the FQN."""

    def __init__(self, boundary: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.boundary = boundary


@dataclass(frozen=True, slots=True)
class Found:
    """An injected function, imported and checked for its decorator and its keywords."""

    call: Call
    field: str
    function: Callable[..., Any]


def find_injections(plan: ApplyPlan, model: nn.Module) -> dict[tuple[str, str], Found]:
    """The injected functions of a plan, by FQN and field of the boundary. Calls none of them and changes nothing.

    Raises InjectionError (R17-R24, R81-R84, R95-R97).
    """
    found: dict[tuple[str, str], Found] = {}
    for boundary in plan.boundaries:
        if (call := boundary.local_compute_fn) is not None:
            found[boundary.fqn, COMPUTE] = _find(boundary, call, COMPUTE, plan.src)
        if (name := boundary.inner_wrapper) is not None:
            call = Call(name) if isinstance(name, str) else name
            found[boundary.fqn, WRAPPER] = _find(boundary, call, WRAPPER, plan.src)
            inner_target(boundary, model.get_submodule(boundary.fqn))
    return found


def build_compute(region: Region, module: nn.Module, found: Found) -> Compute:
    """What runs in the region instead of the module's forward, with the same arguments.

    Calls the factory, once, and checks what it returns against the forward (R85-R90). Raises InjectionError.
    """
    boundary, call = region.boundary, found.call
    compute = _called(region, found, module, module)
    if not callable(compute):
        raise _error(boundary, call, f"returns {_kind(compute)}, which is no function", "return `compute(module, …)`")
    if fault := compute_fault(compute, module.forward):
        raise _error(boundary, call, f"returns a function that {fault}")
    signature = inspect.signature(compute)

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            signature.bind(module, *args, **kwargs)
        except TypeError as error:
            raise BoundaryError(
                f"a call of `{boundary.title}` does not fit what {quote(call.target)} computes: {error}",
                boundary.fqn,
                "let the compute function take what the module's forward takes",
            ) from None
        return compute(module, *args, **kwargs)

    return run


def install_wrapper(region: Region, module: nn.Module, found: Found, box: Box | None = None) -> Undo:
    """Put the boundary's inner wrapper in place, and return what takes it away again.

    ``box`` is the boundary's in validate mode, None in local mode. Raises InjectionError (R91-R93, R97) with the target
    as it was.
    """
    boundary, call = region.boundary, found.call
    target = inner_target(boundary, module)
    before = dict(vars(target))
    original = target.forward
    try:
        result = _called(region, found, target, module)
        if result is not None and not callable(result):
            raise _error(boundary, call, f"returns {_kind(result)}; it may return None or a forward")
        replaced = result if result is not None else vars(target).get("forward")
        if replaced is not None and replaced is not before.get("forward"):
            if fault := forward_fault(replaced, original):
                raise _error(boundary, call, f"makes a forward that {fault}")
            put_in_place(region, target, module, replaced, original, box)
    except BaseException:
        _restore(target, before)
        raise
    return lambda: _restore(target, before)


def inner_target(boundary: ApplyBoundary, module: nn.Module) -> nn.Module:
    """The module that a boundary's ``inner_target`` names: itself, or one attribute with a forward (R97)."""
    name = boundary.inner_target or "self"
    if name == "self":
        return module
    found = getattr(module, name, None) if "." not in name else None
    if callable(getattr(found, "forward", None)):
        return found  # type: ignore[return-value]
    close = near(name, ["self", *(n for n, _ in module.named_children())])
    hint = f"{quote(close[0])} is near" if close else "name `self` or one attribute of the module"
    raise InjectionError(boundary.fqn, f"`{boundary.title}` has no attribute {quote(name)} with a forward", hint)


def _find(boundary: ApplyBoundary, call: Call, field: str, src: Sequence[str]) -> Found:
    function: Callable[..., Any] | None
    try:
        function = implementation(call.target, field, src)
        if function is None:
            function = import_target(call.target, src)
    except TargetError as error:
        raise _error(boundary, call, error.message, error.hint) from error.__cause__
    mark = mark_of(function)
    if mark != field:
        carries = f"is decorated with `{MARK[mark]}`" if mark else "has no decorator"
        raise _error(boundary, call, f"{carries}; {field} needs `hplint.apply.{MARK[field]}`")
    parameters = inspect.signature(function).parameters
    reserved = {*context_names(field), *([NOTE] if _is_ours(function) else [])}
    for keyword in call.keywords:
        if keyword in reserved:
            raise _error(boundary, call, f"is configured with {quote(keyword)}, which is always filled in", "drop it")
        if keyword not in parameters:
            close = near(keyword, [p for p in parameters if p not in context_names(field)])
            hint = f"{quote(close[0])} is near" if close else ""
            raise _error(boundary, call, f"takes no keyword {quote(keyword)}", hint)
    filled = {*reserved, *call.keywords}
    needed = [n for n, p in parameters.items() if p.default is inspect.Parameter.empty and n not in filled]
    if needed:
        raise _error(boundary, call, f"needs the keyword {quote(needed[0])}", "configure it beside `_target_`")
    return Found(call, field, function)


def _called(region: Region, found: Found, target: nn.Module, module: nn.Module) -> Any:
    meshes, function = region.meshes, found.function
    context: dict[str, Any] = {
        "target_module": target,
        "module": module,
        "mesh": meshes.world,
        "tp_mesh": meshes.submesh("tp"),
        "cp_mesh": meshes.submesh("cp"),
        "ep_mesh": meshes.submesh("ep"),
    }
    if _is_ours(function):
        context[NOTE] = region.note("attention" if found.field == WRAPPER else "tokens")
    parameters = inspect.signature(function).parameters
    try:
        return function(**{n: v for n, v in context.items() if n in parameters}, **found.call.keywords)
    except CannotApply as error:
        raise _error(region.boundary, found.call, error.message, error.hint) from None
    except Exception as error:
        raise _error(region.boundary, found.call, f"fails: {type(error).__name__}: {error}") from error


def _is_ours(function: Callable[..., Any]) -> bool:
    return (getattr(function, "__module__", None) or "").startswith("hplint.apply.")


def _restore(target: nn.Module, before: Mapping[str, Any]) -> None:
    """Put a module's own attributes back, companions of its forward among them."""
    now = vars(target)
    for name in [n for n in now if n not in before]:
        del now[name]
    now.update(before)


def _kind(value: object) -> str:
    return f"a value of type `{type(value).__name__}`" if value is not None else "None"


def _error(boundary: ApplyBoundary, call: Call, message: str, hint: str = "") -> InjectionError:
    place = f" ({boundary.place})" if boundary.place else ""
    return InjectionError(boundary.fqn, f"{quote(call.target)} at `{boundary.title}`{place} {message}", hint)
