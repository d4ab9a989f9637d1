"""HPL201 unknown-axis: an axis that no mesh of this kind has (R117), or a misspelt one in inner_out_src (S30)."""

from collections.abc import Iterator

from hplint.rule import (
    CANONICAL_AXES,
    OUTPUT,
    Case,
    Finding,
    Layout,
    Proposal,
    Written,
    listing,
    near,
    on_plan,
    one_near,
    quote,
    remove_axis,
    rename_to_one,
    rewrite,
)

RULE = on_plan("HPL201", "unknown-axis")


def check(case: Case) -> Iterator[Finding]:
    allowed = dict.fromkeys((*CANONICAL_AXES, *case.topology.mesh))
    for w in case.written:
        if w.axis not in allowed:
            message = f"{quote(w.axis)} is no mesh axis: planning stops here"
            advice = _help(w.axis, allowed, _level(w))
            yield Finding(w.axis_span, message, advice, w.entry, field=w.field, fixes=_fixes(w, allowed))
    for entry in case.plan.entries:
        if entry.inner_out_src and entry.inner_out_src.layouts:
            for layout in entry.inner_out_src.layouts.values():
                for axis in layout.placements:
                    if axis not in allowed:
                        yield Finding(
                            layout.axis_spans.get(axis) or layout.name_span or entry.inner_out_src.span,
                            f"{quote(axis)} is no mesh axis: it is ignored, and the output counts as replicated",
                            _help(axis, allowed),
                            entry,
                            field="inner_out_src",
                            fixes=_renamed(layout, axis, allowed, safe=False),
                            severity="warning",
                        )


def _level(w: Written) -> str:
    """What to write where the axis level seems to be forgotten: ``{output: shard(0)}`` reads as an axis ``output``."""
    if w.placement is None or w.name != OUTPUT or not w.entry.contract[w.field].shorthand:
        return ""
    return f"; an output of that name needs an axis level: {quote(f'{w.axis}: {{tp: {w.placement}}}')}"


def _help(axis: str, allowed: dict[str, None], more: str = "") -> str:
    if names := _meant(axis, allowed):
        return f"did you mean {listing(names, 'or')}? Axes are {listing(allowed, most=12)}"
    return f"axes are {listing(allowed, most=12)}{more}"


def _meant(axis: str, allowed: dict[str, None]) -> list[str]:
    bare = axis.strip()
    one = bare if bare in allowed else one_near(bare, allowed)
    return [one] if one else near(bare, allowed)


def _renamed(layout: Layout, axis: str, allowed: dict[str, None], safe: bool) -> tuple[Proposal, ...]:
    span = layout.axis_spans.get(axis)
    names = [name for name in _meant(axis, allowed) if name not in layout.placements]
    return rename_to_one([span], axis, names, safe) if span else ()


def _fixes(w: Written, allowed: dict[str, None]) -> tuple[Proposal, ...]:
    if renamed := _renamed(w.layout, w.axis, allowed, safe=True):
        return renamed
    span = w.layout.placement_spans.get(w.axis)
    if not _level(w) or span is None:
        return remove_axis(w)
    return (rewrite(span, str(w.placement), {"tp": w.placement}), *remove_axis(w))
