"""HPL205 shard-dim-out-of-range: shard(N) beyond the dims of the parameter (R139)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, on_plan, quote

RULE = on_plan("HPL205", "shard-dim-out-of-range")


def check(case: Case) -> Iterator[Finding]:
    if not (coverage := case.coverage):
        return
    for parameter in coverage.laid:
        if parameter.tensor is None:
            continue
        shape = parameter.tensor.shape
        counted = coverage.axes(parameter)
        for axis, placement in parameter.layout.placements.items():
            if placement is None or placement.dim is None or -len(shape) <= placement.dim < len(shape):
                continue
            written = parameter.layout.placement_spans.get(axis)
            # The dim is wrong in every topology, but where its axis does not count the runtime never looks at it.
            if axis not in counted and (written is None or axis not in ("tp", "cp", "ep")):
                continue
            if written is None and not coverage.settled(parameter.boundary, "params"):
                continue
            span, entry = case.place(parameter.boundary, "params")
            dims = f"dims 0 to {len(shape) - 1}" if len(shape) > 1 else "dim 0 alone" if shape else "no dims"
            effect = "planning stops here" if axis in counted else f"planning stops as soon as {quote(axis)} cuts it"
            yield Finding(
                written or span,
                f"{quote(str(placement))} cuts a dim that {quote(parameter.path)} {list(shape)} does not have: "
                f"{effect}",
                f"{quote(parameter.path)} has {dims}; dims count from 0",
                entry,
                parameter.boundary.fqn,
                "params",
                severity=None if axis in counted else "warning",
            )
