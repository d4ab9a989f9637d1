"""HPL611 wrong-mesh: a mesh that parallelize_module cannot take, or weights that lie on another one (M1, O1)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Related, Span, listing, near, quote, rename_to_near
from hplint.style_rule import KNOWN, Application, StyleEntry, on_styles

RULE = on_styles("HPL611", "wrong-mesh", "error", "torch")


def check(case: Case) -> Iterator[Finding]:
    told: set[int] = set()
    earlier: set[Span] = set()
    for entry in case.plan.styles:
        if entry.applied is None:
            continue
        if id(entry.applied) not in told:
            for finding in _mesh(entry, entry.applied):
                told.add(id(entry.applied))
                yield finding
        yield from _sharded(entry, entry.applied, earlier)


def _mesh(entry: StyleEntry, applied: Application) -> Iterator[Finding]:
    mesh = applied.mesh
    if mesh is None:
        return
    if mesh.picked and mesh.whole and mesh.picked.value not in mesh.whole:
        names = near(mesh.picked.value, mesh.whole)
        yield Finding(
            mesh.picked.span,
            f"the mesh has no axis {quote(mesh.picked.value)}: picking it fails",
            f"did you mean {listing(names, 'or')}?" if names else f"its axes are {listing(mesh.whole)}",
            entry,
            fixes=rename_to_near(mesh.picked.span, mesh.picked.value, mesh.whole),
        )
    elif mesh.size is not None and mesh.size > 1 and _is_torchs(entry):
        axes = f", {listing(mesh.axes)}," if mesh.axes else ""
        yield Finding(
            mesh.span,
            f"the mesh has {mesh.size} axes{axes} and `parallelize_module` takes one: placements and axes do not fit, "
            "and the call fails",
            f"pick one: `mesh[{(mesh.axes or ('tp',))[-1]!r}]`",
            entry,
        )


def _is_torchs(entry: StyleEntry) -> bool:
    """Whether the style is one of torch's. Those of trainers (experts cut twice) may take more axes."""
    return entry.style is not None and entry.style.kind in KNOWN


def _sharded(entry: StyleEntry, applied: Application, told: set[Span]) -> Iterator[Finding]:
    """Modules that FSDP has cut before the plan comes, told once for each call."""
    if entry.key is None:
        return
    steps = (*applied.steps, *(entry.key.value.split(".") if entry.key.value else ()))
    for earlier in applied.before:
        if earlier.kind == "fully_shard" and earlier.span not in told and _is_around(earlier.steps, steps):
            told.add(earlier.span)
            yield Finding(
                applied.span,
                f"`fully_shard` came before this plan: the weights of {quote(entry.key.value or 'the module')}, say, "
                "lie on another mesh already, and the call fails",
                "apply the plan first, then `fully_shard`",
                entry,
                related=(Related("sharded here", earlier.span),),
            )


def _is_around(outer: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    """Whether a module holds another one or is it."""
    return len(outer) <= len(steps) and all(a == b or "*" in (a, b) for a, b in zip(outer, steps, strict=False))
