"""The inputs and outputs of a drafted boundary: their names, and the layouts in which hidden states come and go."""

from collections.abc import Iterator

from hplint.derive.boundary import Boundary
from hplint.fix.draft_setting import Placements, Setting
from hplint.model.tree import Module
from hplint.plan.layout import Layouts
from hplint.plan.placement import REPLICATE, shard

HIDDEN = "hidden_states"
IDS = "input_ids"
MAIN_INPUTS = (HIDDEN, IDS, "inputs_embeds", "x", "input")
"""Names by which a forward takes what it works on; the first that it has is the one input to lay out."""
COMPANIONS = frozenset((
    "position_embeddings", "position_ids", "attention_mask", "mask", "cache", "past_key_value", "past_key_values",
    "cache_position", "use_cache", "labels", "logits_to_keep", "cu_seqlens", "max_seqlen", "grid_thw", "image_grid_thw",
    "output_attentions", "output_hidden_states", "output_router_logits", "encoder_attention_mask", "head_mask",
))  # fmt: skip
"""Inputs that are no tensor to lay out: tuples, caches and flags, or tensors over other dims."""
STREAM_DIMS = (REPLICATE, shard(1))
"""How hidden states between boundaries lie along an axis: whole, or cut along the sequence."""


def input_names(module: Module) -> tuple[str, ...]:
    """The inputs to lay out, as callers may pass them: by the forward's own names. () where it has no forward."""
    if module.forward is None:
        return () if module.cls else (HIDDEN,)
    named = [p for p in module.forward if not p.kind.startswith("var_")]
    names = [p.name for p in named]
    if main := [n for n in MAIN_INPUTS if n in names]:
        return (main[0],)
    if required := tuple(p.name for p in named if p.required and p.name not in COMPANIONS):
        return required
    if names:
        return (names[0],) if names[0] not in COMPANIONS else ()
    # Anything may be passed, so only the name that layers call each other with can be meant.
    return (HIDDEN,) if any(p.kind == "var_keyword" for p in module.forward) else ()


def gathered(placements: Placements) -> Placements:
    """The same tensor whole along tp; its cut along cp stays."""
    return {axis: REPLICATE if axis == "tp" else p for axis, p in placements.items()}


def by_flags(setting: Setting) -> Placements:
    """Hidden states between boundaries as the run flags have them: cut along the sequence by cp, and by tp too with
    sequence parallelism."""
    cut = {"tp": setting.topologies[0].sequence_parallel, "cp": True}
    return {axis: shard(1) if cut.get(axis) else REPLICATE for axis in setting.axes}


def token_ids(setting: Setting) -> Placements:
    """Token ids: whole along tp, cut along the sequence by cp."""
    return gathered(by_flags(setting))


def stream(setting: Setting, fqn: str) -> Placements:
    """The layout in which hidden states reach a module and leave it: as the nearest boundary before it hands them on,
    else as the next one takes them, else by the run flags."""
    for around in (*setting.above(fqn), ""):
        for boundary in _before(setting, fqn, around):
            if boundary.kind != "lm_head" and (found := _stream_of(setting, boundary.out_dst)):
                return found
        for boundary in _after(setting, fqn, around):
            if boundary.kind != "embed" and (found := _stream_of(setting, boundary.in_src)):
                return found
    return by_flags(setting)


def inner_streams(setting: Setting, fqn: str) -> tuple[Placements, Placements] | None:
    """The layouts in which the first boundary inside a module takes hidden states and the last one hands them on; None
    where there is no boundary inside."""
    start, end = setting.around(fqn)
    if start == end:
        return None
    names = setting.ranks[0]
    first, last = (_outermost(setting, names[i], fqn) for i in (start, end - 1))
    default = stream(setting, fqn)
    entering = token_ids(setting) if first.kind == "embed" else _stream_of(setting, first.in_src) or default
    return entering, _stream_of(setting, last.out_dst) or default


def _stream_of(setting: Setting, layouts: Layouts | None) -> Placements | None:
    """The layout of a boundary's first input or output, where it is one of hidden states between boundaries."""
    for layout in (layouts or {}).values():
        found = setting.placements(layout)
        if not found or any(p not in STREAM_DIMS for p in found.values()):
            return None
        # A cut along cp is never given up between boundaries, so one that lacks it was forgotten.
        return None if found.get("cp") == REPLICATE else found
    return None


def _before(setting: Setting, fqn: str, around: str) -> Iterator[Boundary]:
    """The outermost boundaries inside ``around`` that come before a module, nearest first."""
    names, lead = setting.ranks[0], f"{around}." if around else ""
    for i in range(setting.around(fqn)[0] - 1, -1, -1):
        if not names[i].startswith(lead):
            break
        if names[i] != fqn and not fqn.startswith(f"{names[i]}."):
            yield _outermost(setting, names[i], around)


def _after(setting: Setting, fqn: str, around: str) -> Iterator[Boundary]:
    names, lead = setting.ranks[0], f"{around}." if around else ""
    for i in range(setting.around(fqn)[1], len(names)):
        if not names[i].startswith(lead):
            break
        yield _outermost(setting, names[i], around)


def _outermost(setting: Setting, fqn: str, around: str) -> Boundary:
    """The boundary strictly inside ``around`` that holds the boundary at ``fqn``; itself where none does."""
    boundaries = setting.resolved.boundaries
    found = fqn
    for above in setting.above(fqn):
        if above == around:
            break
        if above in boundaries and above not in setting.drafted:
            found = above
    return boundaries[found]
