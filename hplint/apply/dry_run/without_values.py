"""Regions that cannot run without values: what takes their place in a dry run, told in plain words."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor, nn

from hplint.apply.dry_run.equal_layers import shapes_of, stand_in
from hplint.apply.errors import ApplyFailed, BoundaryError
from hplint.apply.inject.injections import InjectionError, find_injections
from hplint.apply.mesh.moves import output_names
from hplint.apply.plan import ApplyBoundary, ApplyPlan, Call
from hplint.apply.verify.probe import local
from hplint.errors import HplintError
from hplint.model.meta_device import needs_data
from hplint.text.wording import quote

OWN_EXCHANGE = "hplint.apply.experts.expert_parallel"
OWN_FORWARD, OWN_EXPERTS, FIRST_INPUT, NOTHING = (
    "own forward",
    "own exchange of tokens",
    "shape of the input",
    "nothing",
)
_STYLES_FIT = "the unsharded model runs there: see whether the styles fit what its forward does with sizes and heads"
_FIT = "the unsharded model runs there: see whether params and tp_divide_attrs fit what its forward does with them"


@dataclass(slots=True)
class Omission:
    """Something that did not run. ``function`` is the injected function, None for a module's own forward; ``modules``
    are FQNs, none for the whole step; ``instead`` is one of OWN_FORWARD, OWN_EXPERTS, FIRST_INPUT and NOTHING."""

    function: str | None
    modules: list[str]
    reason: str
    instead: str

    def to_json(self) -> dict[str, Any]:
        """One row of ``not_counted``."""
        return {"function": self.function, "modules": self.modules, "reason": self.reason, "instead": self.instead}


@dataclass(slots=True)
class WithoutValues:
    """A plan as far as it can run on the meta device; what cannot is taken out of it, step by step."""

    plan: ApplyPlan
    omissions: list[Omission] = field(default_factory=list)
    shaped: set[str] = field(default_factory=set)
    """Boundaries (FQNs) whose region is a :class:`ShapedLikeInput`."""

    def leave_out_missing(self, model: nn.Module) -> None:
        """Take out injected functions that cannot be imported here."""
        while True:
            try:
                find_injections(self.plan, model)
                return
            except InjectionError as error:
                if not self._drop_injection(error.boundary, error.message):
                    raise

    def prepare(self, model: nn.Module) -> None:
        """Put stand-ins in their places, before the plan is applied."""
        for boundary in self.plan.boundaries:
            if boundary.fqn in self.shaped:
                module = model.get_submodule(boundary.fqn)
                module.forward = ShapedLikeInput(module, boundary)

    def give_way(self, error: Exception, inside: str | None, runs_whole: bool) -> bool:
        """Take out what raised ``error`` in the boundary ``inside``; False where nothing is left to take out.

        Raises the error where it has nothing to do with missing values: the model itself ``runs_whole`` without them.
        """
        cause = error.__cause__ if isinstance(error, ApplyFailed) and error.__cause__ else error
        if isinstance(cause, InjectionError):
            return self._drop_injection(cause.boundary, cause.message)
        reason = reason_of(error)
        boundary = self.plan.boundary(inside) if inside is not None else None
        injected = self._injected(boundary)
        if injected is not None and not isinstance(error, BoundaryError):
            return self._drop_injection(injected.fqn, reason)
        if isinstance(error, HplintError):
            raise error
        replaced = self._replaced(boundary)
        if runs_whole and replaced is None and not (isinstance(error, NotImplementedError) or needs_data(error)):
            where = f"the forward of `{boundary.title}`" if boundary else "outside of all boundaries the forward"
            raise BoundaryError(f"{where} raised {reason}", boundary.fqn if boundary else "", self._fit) from error
        if boundary is None or boundary.fqn in self.shaped:
            return False
        if replaced is not None:
            # The module's own forward does not fit layouts that its injected function was made for.
            replaced.instead = FIRST_INPUT
            self._shape(replaced.modules)
        else:
            alike = [b.fqn for b in self.plan.boundaries if _kin(b) == _kin(boundary)]
            self.omissions.append(Omission(None, alike, reason, FIRST_INPUT))
            self._shape(alike)
        return True

    @property
    def _fit(self) -> str:
        return _FIT if self.plan.styles is None else _STYLES_FIT

    def give_up(self, reason: str) -> None:
        """Nothing of the step can be counted."""
        if all(o.instead != NOTHING for o in self.omissions):
            self.omissions.append(Omission(None, [], reason, NOTHING))

    def _shape(self, modules: list[str]) -> None:
        self.shaped.update(modules)
        self._change("", modules, lambda b, _: replace(b, local_compute_fn=None, inner_wrapper=None))

    def _replaced(self, boundary: ApplyBoundary | None) -> Omission | None:
        """What was left out of the boundary itself, or of one around it, and has something in its place."""
        fqn = boundary.fqn if boundary else None
        while fqn is not None:
            found = next(
                (o for o in self.omissions if o.instead in (OWN_FORWARD, OWN_EXPERTS) and fqn in o.modules), None
            )
            if found is not None:
                return found
            fqn = fqn.rpartition(".")[0] if fqn else None
        return None

    def _injected(self, boundary: ApplyBoundary | None) -> ApplyBoundary | None:
        """The innermost boundary around (itself included) with an injected function that is not hplint's own."""
        fqn = boundary.fqn if boundary else None
        while fqn is not None:
            found = self.plan.boundary(fqn)
            if found is not None and any(not _is_ours(c) for c in _calls(found)):
                return found
            fqn = fqn.rpartition(".")[0] if fqn else None
        return None

    def _drop_injection(self, fqn: str, reason: str) -> bool:
        """Take an injected function out, wherever it stands; False where there is none but hplint's own."""
        boundary = self.plan.boundary(fqn)
        call = next((c for c in _calls(boundary) if not _is_ours(c)), None) if boundary else None
        if boundary is None:
            return False
        if call is None:
            replaced = self._replaced(boundary)
            if replaced is None or replaced.instead != OWN_EXPERTS:
                return False
            replaced.instead = OWN_FORWARD
            self._change(OWN_EXCHANGE, replaced.modules, _without)
            return True
        modules = [b.fqn for b in self.plan.boundaries if call.target in [c.target for c in _calls(b)]]
        exchanges = boundary.ep_size is not None and boundary.local_compute_fn == call
        self._change(call.target, modules, _exchanging if exchanges else _without)
        place = f" ({boundary.place})" if boundary.place else ""
        reason = reason.removeprefix(f"{quote(call.target)} at `{boundary.title}`{place} ")
        self.omissions.append(Omission(call.target, modules, reason, OWN_EXPERTS if exchanges else OWN_FORWARD))
        return True

    def _change(self, target: str, modules: list[str], change: Callable[[ApplyBoundary, str], ApplyBoundary]) -> None:
        changed = tuple(change(b, target) if b.fqn in modules else b for b in self.plan.boundaries)
        self.plan = replace(self.plan, boundaries=changed)


class ShapedLikeInput:
    """A forward that returns tensors shaped like its first one; gradients reach it and the module's parameters."""

    def __init__(self, module: nn.Module, boundary: ApplyBoundary) -> None:
        self.module, self.count = module, len(output_names(boundary))
        self.__wrapped__: Callable[..., Any] = module.forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = [v for v in (*args, *kwargs.values()) if isinstance(v, Tensor) and v.is_floating_point()]
        parameters = [local(p) for p in self.module.parameters()]
        shapes = shapes_of(tensors[:1] * max(1, self.count), True)
        made = stand_in(shapes, [*tensors[:1], *parameters])
        return tuple(made) if self.count > 1 else made[0]


def _calls(boundary: ApplyBoundary) -> list[Call]:
    wrapper = boundary.inner_wrapper
    wrapped = Call(wrapper) if isinstance(wrapper, str) else wrapper
    return [c for c in (boundary.local_compute_fn, wrapped) if c is not None]


def _is_ours(call: Call) -> bool:
    return call.target == OWN_EXCHANGE or "." not in call.target


def _exchanging(boundary: ApplyBoundary, target: str) -> ApplyBoundary:
    return replace(boundary, local_compute_fn=Call(OWN_EXCHANGE))


def _without(boundary: ApplyBoundary, target: str) -> ApplyBoundary:
    compute = boundary.local_compute_fn
    if compute is not None and compute.target == target:
        boundary = replace(boundary, local_compute_fn=None)
    if any(c.target == target for c in _calls(boundary)):
        boundary = replace(boundary, inner_wrapper=None)
    return boundary


def _kin(boundary: ApplyBoundary) -> tuple[Any, ...]:
    """Boundaries of one kind in different layers."""
    path = tuple(s for s in boundary.fqn.split(".") if not s.isdecimal())
    return path, boundary.kind


def reason_of(error: Exception) -> str:
    """The error's class and its first sentence: torch explains at length."""
    text = str(getattr(error, "message", error)).strip()
    line = text.splitlines()[0].partition(". ")[0] if text else ""
    return f"{type(error).__name__}: {line if len(line) <= 200 else f'{line[:199]}…'}"
