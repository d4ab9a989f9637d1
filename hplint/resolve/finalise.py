"""What is settled after the last override: empty fields, attributes to divide, row-wise biases, tied and special
parameters."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hplint.derive.boundary import Boundary
from hplint.derive.families import family_of, rules_of
from hplint.derive.roles import SPECIAL, SPECIAL_NAMES, role_of
from hplint.model.tree import Module, ModuleTree
from hplint.plan.layout import Layouts
from hplint.plan.placement import shard
from hplint.resolve.topology import Topology

if TYPE_CHECKING:
    from hplint.resolve.merge import Merger

HEAD_WEIGHTS = tuple(
    f"{name}.weight" for name in ("q_proj", "q_b_proj", "k_proj", "v_proj", "qkv_proj", "linear_qkv", "qkv")
)
HEAD_COUNTS = (
    "num_heads", "num_attention_heads", "n_heads", "num_attn_heads", "n_head", "heads", "num_head",
    "num_key_value_heads", "num_kv_heads", "kv_heads",
)  # fmt: skip
LINEAR = "torch.nn.modules.linear.Linear"

_Settled = tuple[tuple[str, ...], tuple[str, ...]]


def finalise(merger: "Merger", topology: Topology) -> None:
    """Settle every boundary. Equal layers share contracts and nodes, so each kind is worked out once."""
    tree = merger.tree
    tp = topology.size("tp")
    divides = tp is not None and tp > 1
    memory: dict[tuple[int, int, int], _Settled] = {}
    for fqn, boundary in list(merger.boundaries.items()):
        if boundary.params is None or boundary.in_src is None or boundary.in_dst is None:
            boundary = merger.own(fqn)
            for name in ("params", "in_src", "in_dst"):
                if getattr(boundary, name) is None:
                    setattr(boundary, name, {})
        module = tree.modules.get(fqn)
        if not divides or module is None or not boundary.params:
            continue
        key = (id(boundary.params), id(boundary.out_src), id(module.node))
        settled = memory.get(key)
        if settled is None:
            settled = memory[key] = (_auto_divided(boundary.params, module), _deferred(boundary, module, tree))
        if settled[0] or settled[1]:
            boundary = merger.own(fqn)
            boundary.auto_divided, boundary.deferred_biases = settled


def _auto_divided(params: Layouts, module: Module) -> tuple[str, ...]:
    cut = any(
        path.endswith(HEAD_WEIGHTS) and layout.placements.get("tp") == shard(0) for path, layout in params.items()
    )
    if not cut:
        return ()
    return tuple(name for name in HEAD_COUNTS if type(module.node.ints.get(name)) is int)


def _deferred(boundary: Boundary, module: Module, tree: ModuleTree) -> tuple[str, ...]:
    """Biases of row-wise linear layers that are added after the output communication (2.7)."""
    outputs = boundary.out_src or {}
    if not any((p := layout.placements.get("tp")) and p.kind == "partial" for layout in outputs.values()):
        return ()
    return tuple(_rowwise_biases(boundary.params or {}, module, tree))


def _rowwise_biases(params: Layouts, module: Module, tree: ModuleTree) -> Iterator[str]:
    for path, layout in params.items():
        cut = layout.placements.get("tp")
        owner_path, _, name = path.rpartition(".")
        if name != "weight" or cut is None or not cut.is_shard:
            continue
        lead = f"{module.fqn}." if module.fqn and owner_path else module.fqn
        owner = tree.modules.get(lead + owner_path)
        if owner is None or "weight" not in owner.parameters or "bias" not in owner.parameters:
            continue
        bias = f"{owner_path}.bias" if owner_path else "bias"
        declared = params[bias].placements.get("tp") if bias in params else None
        replicated = declared is None or declared.kind == "replicate"
        dims = len(owner.parameters["weight"].shape)
        is_linear = owner.cls is None or owner.cls.is_a(LINEAR)
        if cut.dim in (dims - 1, -1) and replicated and is_linear:
            yield bias


def special_parameters(tree: ModuleTree) -> dict[str, str]:
    """Full names of parameters that a special handler lays out, with the handler's name."""
    segments = {name for node in tree.nodes for name in node.parameters}
    segments |= {name for node in tree.nodes for name, _ in node.children}
    if not any(part in segment.lower() for segment in segments for part in SPECIAL_NAMES):
        return {}
    family = rules_of(family_of(tree.config, tree.class_name), {})
    return {
        name: next(part for part in SPECIAL_NAMES if part in name.lower())
        for name in tree.parameters
        if role_of(name.lower(), family) == SPECIAL
    }


def tied_parameters(tree: ModuleTree) -> tuple[tuple[str, str], ...]:
    """The pair of embedding and output weight where the configuration ties them."""
    if not tree.config.get("tie_word_embeddings"):
        return ()
    pair = tuple(_weight_of(tree, name) for name in ("embed_tokens", "lm_head"))
    return ((pair[0], pair[1]),) if pair[0] and pair[1] else ()


def _weight_of(tree: ModuleTree, name: str) -> str:
    """Full name of the weight of the first module of that name, "" without one."""
    for fqn, module in tree.modules.items():
        if fqn.endswith(name) and fqn.rpartition(".")[2] == name and "weight" in module.parameters:
            return f"{fqn}.weight"
    return ""
