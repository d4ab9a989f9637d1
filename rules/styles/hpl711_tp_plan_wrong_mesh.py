"""HPL711 tp-plan-wrong-mesh: sizes under which the library refuses a plan, or does not apply it (M1)."""

import math
from collections.abc import Iterator

from hplint.rule import Case, Finding, Span, quote
from hplint.style_rule import WORDS, on_styles, shipped_plan

RULE = on_styles("HPL711", "tp-plan-wrong-mesh", "error", "tp_plan")

DISPATCH = "ep_dispatch_experts"
REFUSED = "moe_tp_experts"
"""A word that the library refuses in an ep_plan: HPL713."""
_NO_FSDP = ("tp", "cp", "ep", "pp", "dp_replicate")
"""Axes over which the library does not cut parameters for data parallelism."""


def check(case: Case) -> Iterator[Finding]:
    carrier = case.plan.carrier
    if carrier is None or carrier.section == "pp":
        return
    size = case.topology.size(carrier.section)
    if size == 1 and carrier.kind in ("argument", "builtin"):
        if case.plan.styles:
            yield _unused(case, carrier.section)
    elif size is not None and size > 1:
        if not case.plan.styles and carrier.kind == "argument":
            yield from _empty(case, carrier.section, size)
        if carrier.section == "ep":
            yield from _experts(case, size)
        yield from _stages(case)


def _place(case: Case, axis: str) -> Span:
    """Where the file says a size, else the name of the plan."""
    written = case.plan.accelerator
    return written.sizes[axis].span if written and axis in written.sizes else case.plan.anchor


def _unused(case: Case, section: str) -> Finding:
    missing = case.topology.mesh and section not in case.topology.mesh and section == "tp"
    why = "the mesh has no tp axis" if missing else f"{section} is 1"
    return Finding(
        _place(case, section),
        f"the {section}_plan is not applied: {why}, so that every rank holds all weights",
        f"give {quote(section)} a size above 1, or leave the plan out",
        severity="info",
    )


def _empty(case: Case, section: str, size: int) -> Iterator[Finding]:
    if section == "ep" and (case.tree is None or shipped_plan(case.tree, "ep")):
        return  # An empty ep_plan takes nothing away from the shipped one.
    does = "takes the shipped plan away" if section == "tp" else "adds nothing to a model that ships none"
    yield Finding(
        case.plan.anchor,
        f"an empty {section}_plan {does}, and {section}={size} without a plan makes the library stop with ValueError",
        f'write `{section}_plan="auto"` or leave it out for the shipped plan' if section == "tp"
        else "give rules for the experts, or set `ep_size=1`",
    )  # fmt: skip


def _experts(case: Case, ep: int) -> Iterator[Finding]:
    tp, mesh = case.topology.tp, case.topology.mesh
    place = _place(case, "ep")
    if tp and ep % tp:
        yield Finding(
            place,
            f"ep={ep} is no multiple of tp={tp}: the library stops with ValueError when it reads the sizes",
            f"sizes of ep that work: {tp}, {2 * tp}, {4 * tp}, each dividing fsdp_size * tp_size",
        )
    elif tp and mesh:
        shards = math.prod(n for axis, n in mesh.items() if axis not in _NO_FSDP)
        if (shards * tp) % ep:
            fits = ", ".join(str(n) for n in range(tp, shards * tp + 1, tp) if (shards * tp) % n == 0)
            yield Finding(
                place,
                f"ep={ep} does not divide fsdp_size * tp_size, {shards * tp} on this mesh: the library stops with "
                "ValueError when it reads the sizes",
                f"sizes of ep that work here: {fits}",
            )
    words = _words(case)
    if words and DISPATCH not in words:
        yield Finding(
            case.plan.anchor,
            f"no rule of the ep_plan says {quote(DISPATCH)}: without it the library applies none of them, and rules of "
            "the tp_plan for the same modules are dropped all the same",
            f"give the module of the experts {quote(DISPATCH)}, and its weights `grouped_gemm`",
            severity="warning",
        )


def _words(case: Case) -> set[str]:
    """The words of the plan and of what the model ships beside it; none where one cannot be read."""
    if case.styles is None or any(e.style is None or e.key is None for e in case.plan.styles):
        return set()
    if case.plan.carrier and case.plan.carrier.kind == "config" and case.styles.guessed:
        return set()
    found = {e.style.kind for e in (*case.plan.styles, *case.styles.beside) if e.style}
    return set() if REFUSED in found or not found <= WORDS.keys() else found


def _stages(case: Case) -> Iterator[Finding]:
    """What the library does not combine with stages."""
    pp, carrier = case.topology.pp or 1, case.plan.carrier
    if pp < 2 or carrier is None:
        return
    if carrier.section == "ep" and DISPATCH in _words(case):
        yield Finding(
            _place(case, "pp"),
            f"{quote(DISPATCH)} with pp={pp}: the library stops with ValueError, as it does not combine the two",
            "set `pp_size=1`, or `ep_size=1`",
        )
    elif carrier.section == "tp" and (case.topology.dp or 1) > 1:
        yield Finding(
            _place(case, "pp"),
            f"pp={pp} beside dp={case.topology.dp}: the library combines stages with tp alone, and stops with "
            "ValueError where the data axis is its own fsdp_size or dp_replicate_size",
            "set `pp_size=1`, or leave data parallelism to another tool",
            severity="warning",
        )
