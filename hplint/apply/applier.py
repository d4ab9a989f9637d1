"""Turn a model into its sharded form, as a plan says (facts 2.1)."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Literal

from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor

from hplint.apply.applied import Applied, applied_of, mark
from hplint.apply.errors import ApplyFailed, CannotApply
from hplint.apply.mesh.layouts import to_torch
from hplint.apply.mesh.ledger import Recorder
from hplint.apply.mesh.meshes import Meshes, meshes_of
from hplint.apply.mesh.shares import Owners, gradient_axes, layouts_of, region_shares
from hplint.apply.plan import ApplyBoundary, ApplyPlan, AxisLayout
from hplint.apply.region.biases import DeferredBiases
from hplint.apply.region.boxes import Box, Slots
from hplint.apply.region.embedding import install_masked_lookup
from hplint.apply.region.fit import check_fit
from hplint.apply.region.heads import divide, divided
from hplint.apply.region.local import Finish, LocalForward
from hplint.apply.region.parameters import axes_of, named_slots
from hplint.apply.region.placer import Placer
from hplint.apply.region.region import Region
from hplint.apply.region.special import special_layouts
from hplint.apply.region.validate import BlackBoxForward, SilentForward, ValidateForward
from hplint.errors import HplintError
from hplint.plan.placement import REPLICATE

if TYPE_CHECKING:
    from hplint.apply.inject.injections import Found

Mode = Literal["local", "validate"]
Forward = Callable[..., Any]


def apply_plan(
    model: nn.Module,
    plan: ApplyPlan,
    mesh: DeviceMesh | Meshes,
    *,
    mode: Mode = "local",
    recorder: Recorder | None = None,
) -> Applied:
    """Shard ``model`` in place: its parameters are cut, and its boundaries change layouts at their entry and exit.

    Every rank calls it, with equal weights. In mode ``local`` regions see plain tensors, this rank's parts; in mode
    ``validate`` DTensors flow through them, and what comes out has to be laid out as ``out_src`` declares. In both,
    plain tensors flow between boundaries and come out of the model, but for the logits of a loss-parallel head, which
    are a DTensor. ``recorder`` is told of what is communicated (local mode). A plan of styles is applied by its own
    library, without a mode and without a recorder.

    Raises CannotApply, with the model untouched, where plan, model and mesh do not fit or a plan was applied before;
    ApplyFailed where applying stops half-way.
    """
    if mode not in ("local", "validate"):
        raise CannotApply(f"there is no mode `{mode}`", "local or validate")
    if applied_of(model) is not None:
        raise CannotApply("a plan was applied to this model already", "build the model anew")
    meshes = mesh if isinstance(mesh, Meshes) else meshes_of(mesh, plan.topology)
    if plan.styles is not None:
        from hplint.apply.styles.applied import apply_styles

        if mode != "local":
            raise CannotApply("a plan of styles is applied by its own library, which has no modes", "leave mode out")
        return apply_styles(model, plan, meshes, recorder)
    return _Application(model, plan, meshes, mode, recorder).run()


class _Application:
    """One application: what its steps share."""

    def __init__(
        self, model: nn.Module, plan: ApplyPlan, meshes: Meshes, mode: Mode, recorder: Recorder | None
    ) -> None:
        self.model, self.plan, self.meshes, self.recorder = model, plan, meshes, recorder
        # Without an active axis there is nothing that a DTensor could be laid out over.
        self.mode: Mode = mode if meshes.main is not None else "local"
        lengths = {name: p.shape[0] for name, p in model.named_parameters(remove_duplicate=False) if p.dim()}
        self.laid: dict[str, AxisLayout] = {**layouts_of(plan), **special_layouts(plan, lengths)}
        self.owners = Owners(plan)
        self.shares = region_shares(plan, self.laid)
        self.terminal = ""
        self.injected: Mapping[tuple[str, str], Found] = {}

    def run(self) -> Applied:
        check_fit(self.model, self.plan, self.meshes, self.laid)
        if any(b.local_compute_fn or b.inner_wrapper for b in self.plan.boundaries):
            from hplint.apply.inject.injections import find_injections

            self.injected = find_injections(self.plan, self.model)
        known = {b.fqn for b in self.plan.boundaries}
        self.terminal = next((fqn for fqn in reversed([n for n, _ in self.model.named_modules()]) if fqn in known), "")
        applied = Applied(self.plan, self.meshes, self.mode, self.laid, {}, self.recorder)
        mark(self.model, applied)
        placer = Placer(self.model, self.plan, self.meshes, self.mode, self.laid, self.owners)
        for boundary in self.plan.boundaries:
            with _naming(boundary):
                placer.stack(boundary)
        for boundary in self.plan.boundaries:
            with _naming(boundary):
                placer.place(boundary)
        placer.place_rest()
        placer.tie()
        names = [name for name, *_ in named_slots(self.model)]
        applied.layouts = {name: layout for name, layout in self.laid.items() if name in set(names)}
        applied.gradient_axes = gradient_axes(self.plan, names, self.laid, self.shares)
        self._mask_embeddings()
        for boundary in self.plan.boundaries:
            with _naming(boundary):
                self._install(boundary)
        return applied

    def _mask_embeddings(self) -> None:
        done: set[int] = set()
        for name, owner, leaf, _ in named_slots(self.model):
            layout = self.laid.get(name, {})
            cut = any(p.dim == 0 and self.meshes.axis(a).size > 1 for a, p in layout.items())
            if cut and leaf == "weight" and isinstance(owner, nn.Embedding) and id(owner) not in done:
                done.add(id(owner))
                install_masked_lookup(owner, layout, axes_of(layout, self.meshes))

    def _install(self, boundary: ApplyBoundary) -> None:
        module = self.model.get_submodule(boundary.fqn)
        region = self._region(boundary)
        signature = module.forward
        counts = divided(module, boundary, self.meshes.axis("tp").size)
        if self.mode == "local":
            divide(module, counts)
        box = Box(module, self._slots(boundary), region.shares, counts)
        if boundary.inner_wrapper is not None:
            from hplint.apply.inject.injections import install_wrapper

            found = self.injected[boundary.fqn, "inner_wrapper"]
            of_its_own = self.mode == "validate" and not boundary.is_black_box
            install_wrapper(region, module, found, box if of_its_own else None)
        inner: Forward = module.forward
        if boundary.local_compute_fn is not None:
            from hplint.apply.inject.injections import build_compute

            inner = build_compute(region, module, self.injected[boundary.fqn, "local_compute_fn"])
        wrapped = self._wrapped(region, module, inner, signature, box)
        if wrapped is not None:
            wrapped.__wrapped__ = signature  # so that callers find the parameters of the forward
            module.forward = wrapped

    def _region(self, boundary: ApplyBoundary) -> Region:
        above = self.owners.above(boundary.fqn)
        outer = self.shares[above] if above is not None else frozenset[str]()
        shares = self.shares[boundary.fqn]
        return Region(boundary, self.plan.axes, self.meshes, shares, outer, self.recorder)

    def _wrapped(self, region: Region, module: nn.Module, inner: Forward, signature: Forward, box: Box) -> Any:
        boundary = region.boundary
        biases = DeferredBiases(region, module) if boundary.deferred_biases else None
        keeps = self._keeps(region)
        finish = _finish(region, biases, bool(keeps))
        if self.mode == "local":
            if boundary.is_silent and inner == signature:
                return None
            return LocalForward(region, inner, signature, *_during(biases), finish=finish)
        if boundary.is_silent:
            return SilentForward(region, inner, signature, box.opened)
        if boundary.is_black_box:
            return BlackBoxForward(region, inner, signature, *_during(biases, box), finish=finish)
        still = all(m.source == m.target for m in (*region.inputs, *region.outputs))
        inside = self.owners.above(boundary.fqn) is not None
        return ValidateForward(region, inner, signature, keeps, box.opened if still and inside else None)

    def _keeps(self, region: Region) -> frozenset[int]:
        """The output of a loss-parallel head stays a DTensor (2.6)."""
        if not self.plan.topology.loss_parallel or region.boundary.fqn != self.terminal or self.meshes.main is None:
            return frozenset()
        return frozenset(m.position for m in region.outputs if m.target.get("tp", REPLICATE).dim in (-1, 2))

    def _slots(self, boundary: ApplyBoundary) -> Slots:
        """The parameters of a boundary's own region."""
        if self.mode == "local":
            return ()
        whole: AxisLayout = dict.fromkeys(self.plan.axes, REPLICATE)
        return tuple(
            (owner, leaf, self.laid.get(name, whole))
            for name, owner, leaf, _ in named_slots(self.model)
            if self.owners.of(name) == boundary.fqn
        )


def _during(biases: DeferredBiases | None, box: Box | None = None) -> tuple[Callable[[], AbstractContextManager[Any]]]:
    @contextmanager
    def meanwhile() -> Iterator[None]:
        with ExitStack() as stack:
            if box is not None:
                stack.enter_context(box.opened())
            if biases is not None:
                stack.enter_context(biases.hidden())
            yield

    return (meanwhile,)


def _finish(region: Region, biases: DeferredBiases | None, keep: bool) -> Finish | None:
    if not keep:
        return biases.add if biases else None
    target = region.outputs[0].target

    def finish(output: Tensor) -> Tensor:
        added = biases.add(output) if biases else output
        found: Tensor = DTensor.from_local(added, region.meshes.main, to_torch(target), run_check=False)
        return found

    return finish


@contextmanager
def _naming(boundary: ApplyBoundary) -> Iterator[None]:
    """Errors name the boundary."""
    try:
        yield
    except Exception as error:
        reason = error.message if isinstance(error, HplintError) else f"{type(error).__name__}: {error}"
        place = f" ({boundary.place})" if boundary.place else ""
        hint = error.hint if isinstance(error, HplintError) else ""
        raise ApplyFailed(
            f"applying the plan stopped at `{boundary.title}`{place}: {reason}",
            boundary.fqn,
            hint or "the model is changed in part: build it anew",
        ) from error
