"""Whether a plan fits a live model and its meshes: everything that is looked at before anything is changed."""

from collections.abc import Iterator, Mapping

from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from hplint.apply.errors import CannotApply
from hplint.apply.mesh.meshes import Meshes
from hplint.apply.mesh.moves import Move, input_moves, output_moves
from hplint.apply.plan import ApplyBoundary, ApplyPlan, AxisLayout
from hplint.plan.placement import PARTIAL, REPLICATE
from hplint.text.near import near
from hplint.text.wording import quote

_MOST = 8


def check_fit(model: nn.Module, plan: ApplyPlan, meshes: Meshes, laid: Mapping[str, AxisLayout]) -> None:
    """Raise CannotApply that lists what does not fit. ``laid`` are the layouts of parameters by full name (those that
    stacking makes among them)."""
    found = [
        *_modules(model, plan),
        *_parameters(model, plan, meshes, laid),
        *_ties(model, plan, laid),
        *_attributes(model, plan, meshes),
        *_moves(plan),
        *_owners(plan),
    ]
    if found:
        shown = [*found[:_MOST], *([f"and {len(found) - _MOST} more"] if len(found) > _MOST else [])]
        raise CannotApply("the plan does not fit the model: " + "; ".join(shown), "nothing was changed")


def _modules(model: nn.Module, plan: ApplyPlan) -> Iterator[str]:
    known = dict(model.named_modules(remove_duplicate=False))
    for boundary in plan.boundaries:
        if boundary.fqn not in known:
            close = near(boundary.fqn, list(known))
            yield f"there is no module {quote(boundary.fqn)}" + (f" ({quote(close[0])} is near)" if close else "")


def _parameters(model: nn.Module, plan: ApplyPlan, meshes: Meshes, laid: Mapping[str, AxisLayout]) -> Iterator[str]:
    known = dict(model.named_parameters(remove_duplicate=False))
    stacks = {
        f"{b.fqn}.{name}" if b.fqn else name: [f"{b.fqn}.{s}" if b.fqn else s for s in sources]
        for b in plan.boundaries
        for name, sources in b.ep_stack.items()
    }
    for name, layout in laid.items():
        if name in stacks:
            missing = [s for s in stacks[name] if s not in known]
            if missing:
                yield f"{quote(name)} is stacked of {quote(missing[0])}, which is no parameter"
                continue
            shapes = {tuple(known[s].shape) for s in stacks[name]}
            if len(shapes) > 1:
                yield f"{quote(name)} is stacked of weights of unequal shapes"
                continue
            shape: tuple[int, ...] = (len(stacks[name]), *shapes.pop())
        elif name not in known:
            close = near(name, list(known))
            yield f"there is no parameter {quote(name)}" + (f" ({quote(close[0])} is near)" if close else "")
            continue
        elif isinstance(known[name], DTensor):
            yield f"{quote(name)} is a DTensor already"
            continue
        else:
            shape = tuple(known[name].shape)
        yield from _layout(name, shape, layout, meshes)


def _layout(name: str, shape: tuple[int, ...], layout: AxisLayout, meshes: Meshes) -> Iterator[str]:
    lengths = list(shape)
    for axis, placement in layout.items():
        size = meshes.axis(axis).size
        if placement == PARTIAL:
            yield f"{quote(name)} is partial on {axis}, which a parameter cannot be"
        if placement.dim is None:
            continue
        if not -len(shape) <= placement.dim < len(shape):
            yield f"{quote(name)} of shape {list(shape)} is cut on dim {placement.dim}"
        elif lengths[placement.dim] % size:
            length = shape[placement.dim]
            yield f"dim {placement.dim} of {quote(name)} has {length}, which {axis}={size} does not divide"
        else:
            lengths[placement.dim] //= size


def _ties(model: nn.Module, plan: ApplyPlan, laid: Mapping[str, AxisLayout]) -> Iterator[str]:
    known: dict[str, Tensor] = dict(model.named_parameters(remove_duplicate=False))
    groups: dict[int, list[str]] = {}
    for name, parameter in known.items():
        groups.setdefault(id(parameter), []).append(name)
    pairs = dict.fromkeys(plan.tied)
    pairs.update(dict.fromkeys((g[0], other) for g in groups.values() for other in g[1:]))
    for one, other in pairs:
        if one not in known or other not in known:
            continue
        if known[one].shape != known[other].shape:
            yield f"{quote(one)} and {quote(other)} are tied but differ in shape"
        elif _cut(laid.get(one, {})) != _cut(laid.get(other, {})):
            bare = next((n for n in (one, other) if n not in laid), None)
            advice = f": write an entry for {quote(bare.rpartition('.')[0])}, which no boundary covers" if bare else ""
            yield f"{quote(one)} and {quote(other)} are one parameter but are laid out differently{advice}"


def _cut(layout: AxisLayout) -> dict[str, object]:
    return {axis: p for axis, p in layout.items() if p != REPLICATE}


def _attributes(model: nn.Module, plan: ApplyPlan, meshes: Meshes) -> Iterator[str]:
    tp = meshes.axis("tp").size
    modules = dict(model.named_modules(remove_duplicate=False))
    for boundary in plan.boundaries:
        for name in boundary.tp_divide_attrs:
            value = getattr(modules.get(boundary.fqn), name, None)
            if type(value) is not int:
                yield f"`{boundary.title}` has no number {quote(name)} to divide by tp"
            elif value % tp:
                yield f"{quote(name)} of `{boundary.title}` is {value}, which tp={tp} does not divide"
        table = modules.get(boundary.fqn)
        if isinstance(table, nn.Embedding) and table.max_norm is not None:
            yield f"`{boundary.title}` rescales its rows while looking them up (max_norm), which a cut table cannot do"


def _moves(plan: ApplyPlan) -> Iterator[str]:
    for boundary in plan.boundaries:
        for move in (*input_moves(boundary, plan.axes), *output_moves(boundary, plan.axes)):
            yield from _move(boundary, move)


def _move(boundary: ApplyBoundary, move: Move) -> Iterator[str]:
    for axis, target in move.target.items():
        source = move.source.get(axis, REPLICATE)
        if target == PARTIAL and source != PARTIAL:
            yield f"`{move.name}` of `{boundary.title}` cannot go from {source} to partial on {axis}"


def _owners(plan: ApplyPlan) -> Iterator[str]:
    owners: dict[str, str] = {}
    for boundary in plan.boundaries:
        for path in boundary.params:
            name = f"{boundary.fqn}.{path}" if boundary.fqn else path
            if name in owners:
                yield f"{quote(name)} is laid out by two boundaries, `{owners[name]}` and `{boundary.title}`"
            owners[name] = boundary.title
