"""HPL307 uncovered-parameter: a trainable parameter that no boundary declares (R141)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hplint.rule import (
    WHOLE,
    Boundary,
    Case,
    Coverage,
    Entry,
    Finding,
    Layout,
    Proposal,
    ResolvedPlan,
    Span,
    add_params,
    biased_weights,
    listing,
    on_plan,
    shard,
)

RULE = on_plan("HPL307", "uncovered-parameter")

_Layouts = Mapping[str, Mapping[str, Layout]]
"""Module -> the derived layouts that the entry has dropped there."""


@dataclass
class _Left:
    """What nobody declares in a module: a boundary, or the owner of parameters with none above it."""

    module: str
    names: list[str] = field(default_factory=list)
    span: Span | None = None
    entry: Entry | None = None
    """The entry whose params left them out."""

    @property
    def key(self) -> tuple[object, ...]:
        """What the findings that are told as one have alike."""
        return (self.entry.index if self.entry else None, *self.names)


def check(case: Case) -> Iterator[Finding]:
    coverage, resolved = case.coverage, case.resolved
    if not coverage or not resolved or not (case.plan.derive and case.topology.derive):
        return
    left = _left(case, coverage, resolved)
    alike: dict[tuple[object, ...], list[_Left]] = {}
    for one in left:
        alike.setdefault(one.key, []).append(one)
    dropped = {f.module or "": f.data["layouts"] for f in case.faults("dropped-parameters")}
    fixes = {key: _fixes(case, group, dropped) for key, group in alike.items()}
    tolerated = case.plan.allow_uncovered_params
    effect = "a warning at planning" if tolerated else "planning stops here"
    for one in left:
        verb, them = ("is", "it") if len(one.names) == 1 else ("are", "them")
        yield Finding(
            one.span or case.plan.anchor,
            f"{listing(one.names, most=6)} {verb} trainable, but no boundary declares {them}: {effect}",
            _help(one),
            one.entry,
            one.module,
            "params" if one.entry else None,
            fixes=fixes[one.key],
            severity="warning" if tolerated else None,
        )


def _left(case: Case, coverage: Coverage, resolved: ResolvedPlan) -> list[_Left]:
    """What is left, by module."""
    groups: dict[str, _Left] = {}
    # HPL308 tells of the biases that must follow a weight: the runtime stops there first.
    told = {w.bias_name for w in biased_weights(coverage) if w.bias is None and not w.is_rowwise}
    for name, nearest in coverage.uncovered(resolved):
        if name in told:
            continue
        module = name.rpartition(".")[0] if nearest is None else nearest
        group = groups.setdefault(module, _Left(module))
        group.names.append(name[len(module) + 1 :] if module else name)
        boundary = resolved.boundaries.get(nearest) if nearest is not None else None
        if boundary and "params" in boundary.origin and group.span is None:
            group.span, group.entry = case.place(boundary, "params")
    return list(groups.values())


def _help(one: _Left) -> str:
    if one.entry:
        names = listing(one.names) if len(one.names) == 1 else "these"
        return (
            f"params replaces everything that was derived for this boundary: declare {names} too, with `replicate` "
            "where nothing should be cut"
        )
    return "add an entry for the module whose params declare every parameter, with `replicate` where nothing is cut"


def _fixes(case: Case, group: list[_Left], dropped: _Layouts) -> tuple[Proposal, ...]:
    """Beside parameters that stay cut, those that were dropped get back what was derived; else all is replicated."""
    first = group[0]
    items = dropped.get(first.module, {})
    how = "as derived"
    if not all(name in items for name in first.names):
        boundary = case.resolved.boundaries.get(first.module) if case.resolved else None
        items = {name: _whole(boundary, name) for name in first.names}
        how = "with `replicate`" if all(layout is WHOLE for layout in items.values()) else "with its own experts a rank"
    changes = add_params(case, (one.module for one in group), {name: items[name] for name in first.names}, first.entry)
    return (Proposal(f"declare {listing(first.names, most=6)} {how}", changes),) if changes else ()


def _whole(boundary: Boundary | None, path: str) -> Layout:
    """Replicated, but for experts that the compute function takes to be those of its rank alone (S9)."""
    marked = boundary is not None and boundary.ep_size is not None and path.startswith("experts.")
    return Layout({"ep": shard(0)}) if marked else WHOLE
