"""Templates: the contract that each type of boundary gets. Tables as data; layouts here are shared, never changed."""

from functools import lru_cache
from typing import NamedTuple

from hplint.derive import roles
from hplint.plan.layout import OUTPUT, Layout, Layouts
from hplint.plan.placement import PARTIAL, REPLICATE, Placement, shard

S0, S1, LAST = shard(0), shard(1), shard(-1)
_Pair = tuple[Placement, Placement]
"""Placements on (tp, cp)."""


class Activations(NamedTuple):
    """Layouts of a boundary's one input and one output, as (tp, cp) pairs."""

    input: str
    in_src: _Pair
    in_dst: _Pair
    out_src: _Pair
    out_dst: _Pair


_SHARDED, _GATHERED, _SUMMED = (S1, S1), (REPLICATE, S1), (PARTIAL, S1)
_NOWHERE = (REPLICATE, REPLICATE)
_REGION = (_SHARDED, _GATHERED, _SUMMED, _SHARDED)
_REGION_WHOLE = (_GATHERED, _GATHERED, _SUMMED, _GATHERED)

SEQUENCE_PARALLEL = {
    "attention": Activations("hidden_states", *_REGION),
    "mlp": Activations("hidden_states", *_REGION),
    "moe_mlp": Activations("x_BLD", *_REGION),
    "norm": Activations("hidden_states", _SHARDED, _SHARDED, _SHARDED, _SHARDED),
    "embed": Activations("input", _GATHERED, _GATHERED, _SUMMED, _SHARDED),
    "moe_gate": Activations("hidden_states", _SHARDED, _NOWHERE, _NOWHERE, _NOWHERE),
}
WITHOUT_SEQUENCE_PARALLEL = {
    "attention": Activations("hidden_states", *_REGION_WHOLE),
    "mlp": Activations("hidden_states", *_REGION_WHOLE),
    "moe_mlp": Activations("x_BLD", *_REGION_WHOLE),
    "norm": Activations("hidden_states", _GATHERED, _GATHERED, _GATHERED, _GATHERED),
    "embed": Activations("input", _GATHERED, _GATHERED, _SUMMED, _GATHERED),
    "moe_gate": Activations("hidden_states", _GATHERED, _NOWHERE, _NOWHERE, _NOWHERE),
}


class Flags(NamedTuple):
    """What of a topology the templates depend on."""

    sequence_parallel: bool
    loss_parallel: bool
    cp_active: bool
    ep_axis: bool


@lru_cache(maxsize=256)
def activations(kind: str, flags: Flags) -> tuple[Layouts, Layouts, Layouts, Layouts]:
    """in_src, in_dst, out_src and out_dst of a type of boundary."""
    if kind == "lm_head":
        return _lm_head(flags)
    table = SEQUENCE_PARALLEL if flags.sequence_parallel else WITHOUT_SEQUENCE_PARALLEL
    name, in_src, in_dst, out_src, out_dst = table[kind]
    to_experts = S0 if kind == "moe_gate" else REPLICATE
    return (
        {name: _layout(in_src)},
        {name: _layout(in_dst)},
        {OUTPUT: _layout(out_src)},
        {OUTPUT: _layout(out_dst, to_experts)},
    )


def _lm_head(flags: Flags) -> tuple[Layouts, Layouts, Layouts, Layouts]:
    cp = S1 if flags.cp_active else REPLICATE
    whole = (REPLICATE, cp)
    in_src = (S1, cp) if flags.sequence_parallel else whole
    out_src = (LAST, cp)
    out_dst = out_src if flags.loss_parallel else whole
    return (
        {"hidden_states": _layout(in_src)},
        {"hidden_states": _layout(whole)},
        {OUTPUT: _layout(out_src)},
        {OUTPUT: _layout(out_dst)},
    )


def _layout(pair: _Pair, ep: Placement = REPLICATE) -> Layout:
    return Layout({"tp": pair[0], "cp": pair[1], "ep": ep})


def parameter(role: str, path: str, dims: int, ep_axis: bool) -> Layout | None:
    """Layout of a parameter by role; ``path`` in lower case, ``dims`` its number of dims. None: left out."""
    if role in (roles.SPECIAL, roles.SKIP):
        return None
    if role in roles.COLWISE_LIKE or role in (roles.EMBED, roles.LM_HEAD):
        return _PLAIN[S0]
    if role == roles.ROWWISE:
        return _PLAIN[S1]
    if role in (roles.SHARED_EXPERT, roles.EXPERT):
        dim = 1 if any(p in path for p in ("w2", "down_proj", "down.")) else 0
        if role == roles.SHARED_EXPERT:
            return _PLAIN[shard(dim)]
        return _EXPERT[dim + (dims >= 3), ep_axis]
    return _PLAIN[REPLICATE]


_PLAIN = {p: Layout({"tp": p, "cp": REPLICATE, "ep": REPLICATE}) for p in (REPLICATE, S0, S1)}
_EXPERT = {
    (dim, ep_axis): Layout({"tp": shard(dim), "cp": REPLICATE, **({"ep": S0} if ep_axis else {})})
    for dim in (0, 1, 2)
    for ep_axis in (False, True)
}
MARKED_EXPERT = Layout({"cp": REPLICATE, "ep": S0})
"""Layout of experts that go to the (edp, ep) mesh."""
