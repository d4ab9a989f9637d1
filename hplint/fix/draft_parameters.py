"""The parameters of a drafted boundary: which ones it declares, and whether they can be cut."""

from collections.abc import Iterable, Iterator, Mapping

from hplint.derive import roles
from hplint.fix.draft_setting import Placements, Setting
from hplint.model.tree import Tensor
from hplint.plan.placement import REPLICATE, Placement, shard
from hplint.resolve.biases import LINEAR
from hplint.resolve.finalise import HEAD_COUNTS, HEAD_WEIGHTS

Params = dict[str, Placements]
"""Path relative to the boundary -> placements."""
HEADS_OF_CONFIG = ("num_attention_heads", "num_key_value_heads")
FUSED = ("gate_up_proj", "gate_and_up_projs", "fused_gate_up", "w13")
"""Expert weights that hold gate and up side by side: a contiguous cut mixes them (R136)."""
COLUMN, ROW = "column", "row"


def own_parameters(setting: Setting, fqn: str) -> dict[str, Tensor]:
    """The parameters that the boundary at ``fqn`` has to declare, by path: those below it that no other boundary owns,
    and that no other drafted module is nearer to."""
    lead = f"{fqn}." if fqn else ""
    found: dict[str, Tensor] = {}
    for path, tensor in _below(setting, fqn):
        name = lead + path
        if name in setting.left_out or setting.owners.get(name, fqn) != fqn:
            continue
        inner = [lead + above for above in _owners(path)]
        if any(setting.owners.get(name) is None and _unreadable(setting, a) for a in (*inner, *setting.above(fqn))):
            continue
        if heir(setting, name) == fqn:
            found[path] = tensor
    return found


def _below(setting: Setting, fqn: str) -> Iterator[tuple[str, Tensor]]:
    """(path, tensor) of all parameters of a module and of what lies below it, modules in order."""
    nodes = setting.tree.nodes
    stack = [("", setting.tree.modules[fqn].node)]
    while stack:
        lead, node = stack.pop()
        yield from ((lead + name, tensor) for name, tensor in node.parameters.items())
        stack.extend((f"{lead}{child}.", nodes[n]) for child, n in reversed(node.children))


def _owners(path: str) -> list[str]:
    """The modules strictly inside the boundary that lie above a path, nearest to the parameter first."""
    parts = path.split(".")[:-1]
    return [".".join(parts[:i]) for i in range(len(parts), 0, -1)]


def _unreadable(setting: Setting, fqn: str) -> bool:
    boundary = setting.resolved.boundaries.get(fqn)
    return boundary is not None and "params" in boundary.broken


def heir(setting: Setting, name: str) -> str | None:
    """Of the drafted modules around a parameter that nobody owns, the one that takes it: as derivation would give it,
    else the nearest one."""
    around = [a for a in (*setting.above(name), "") if a in setting.drafted]
    for fqn in around:
        boundary = setting.derived.get(fqn)
        if boundary and name[len(fqn) + 1 if fqn else 0 :] in (boundary.params or ()):
            return fqn
    return around[0] if around else None


def whole(setting: Setting, paths: Iterable[str]) -> Params:
    """All of these replicated on every axis."""
    return {path: dict.fromkeys(setting.axes, REPLICATE) for path in paths}


def is_cut(params: Mapping[str, Placements]) -> bool:
    """Whether any axis cuts any of the parameters."""
    return any(p.is_shard for placements in params.values() for p in placements.values())


def divides(setting: Setting, tensor: Tensor, placements: Placements) -> bool:
    """Whether every axis divides the dim that it cuts, with all sizes that are known."""
    for axis, placement in placements.items():
        if placement.dim is None:
            continue
        dims = len(tensor.shape)
        if not -dims <= placement.dim < dims:
            return False
        if any(tensor.shape[placement.dim] % size for size in setting.sizes(axis)):
            return False
    return True


def can_be_cut(setting: Setting, fqn: str, params: Params, tensors: Mapping[str, Tensor]) -> bool:
    """Whether a derived boundary's parameters may stay cut: dims and heads divide, no fused expert weight is cut, and
    nothing lies in the region that would have to be cut along."""
    if not all(path in tensors and divides(setting, tensors[path], placements) for path, placements in params.items()):
        return False
    cut = [path for path, placements in params.items() if placements.get("tp", REPLICATE).is_shard]
    if any("experts." in path and path.removesuffix(".weight").endswith(FUSED) for path in cut):
        return False
    if any(path.endswith(HEAD_WEIGHTS) for path in cut) and not _heads_divide(setting, fqn):
        return False
    lead = f"{fqn}." if fqn else ""
    further = (setting.role(lead + path) for path in tensors if path not in params)
    boundary = setting.derived.get(fqn)
    # A shared expert that no boundary of its own sums up would leave partial results beside whole ones.
    return not (boundary and boundary.kind == "moe_mlp" and any(r not in (roles.NORM, roles.SKIP) for r in further))


def _heads_divide(setting: Setting, fqn: str) -> bool:
    ints = setting.tree.modules[fqn].ints
    counts = [ints[name] for name in HEAD_COUNTS if name in ints]
    counts += [n for name in HEADS_OF_CONFIG if type(n := setting.tree.config.get(name)) is int]
    return not any(count % size for count in counts for size in setting.sizes("tp"))


def linear_role(setting: Setting, fqn: str, tp: Placement | None) -> str:
    """``column`` or ``row`` for a linear layer whose weight is laid out so on tp (``tp``, None where nobody says), or
    would be by its role; "" for all other modules."""
    module = setting.tree.modules[fqn]
    weight = module.parameters.get("weight")
    linear = module.cls.is_a(LINEAR) if module.cls else not module.node.children
    if weight is None or not linear or len(weight.shape) != 2 or "tp" not in setting.axes:
        return ""
    if tp is not None:
        return COLUMN if tp == shard(0) else ROW if tp in (shard(1), shard(-1)) else ""
    role = setting.role(f"{fqn}.weight")
    found = COLUMN if role in roles.COLWISE_LIKE else ROW if role == roles.ROWWISE else ""
    return found if found and divides(setting, weight, {"tp": shard(0 if found == COLUMN else 1)}) else ""


def linear_params(setting: Setting, role: str, tensors: Mapping[str, Tensor]) -> Params:
    """The parameters of a linear layer that stands alone; its bias follows the weight's output dim."""
    params = whole(setting, tensors)
    for path in params:
        if path == "weight":
            params[path]["tp"] = shard(0 if role == COLUMN else 1)
        elif path == "bias" and role == COLUMN:
            params[path]["tp"] = shard(0)
    return params
