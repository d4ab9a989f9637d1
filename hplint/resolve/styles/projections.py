"""Which layers feed one another, told by the names that models give them: what rules on pairs, heads and packed weights
go by. Nothing but names and shapes, so that whoever uses it has to be careful where a name may mean something else."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hplint.model.tree import Module, ModuleTree
from hplint.resolve.torch.layouts import is_linear

PAIRS = (
    (("q_proj", "k_proj", "v_proj", "q_b_proj", "kv_b_proj"), ("o_proj", "out_proj", "dense")),
    (("wq", "wk", "wv"), ("wo",)),
    (("to_q", "to_k", "to_v"), ("to_out", "to_o")),
    (("qkv_proj",), ("o_proj", "out_proj")),
    (("query_key_value",), ("dense",)),
    (("gate_proj", "up_proj"), ("down_proj",)),
    (("gate_up_proj",), ("down_proj",)),
    (("w1", "w3"), ("w2",)),
    (("fc1",), ("fc2",)),
    (("fc_in",), ("fc_out",)),
    (("c_fc",), ("c_proj",)),
    (("dense_h_to_4h",), ("dense_4h_to_h",)),
)
"""Names of the layers that read one input, and of the one that reads what they make."""
QUERIES = ("q_proj", "wq", "query", "to_q", "q")
KEYS = ("k_proj", "v_proj", "wk", "wv", "key", "value", "to_k", "to_v", "k", "v")
PACKED = {
    "qkv_proj": "queries, keys and values", "qkv": "queries, keys and values", "wqkv": "queries, keys and values",
    "Wqkv": "queries, keys and values", "c_attn": "queries, keys and values", "in_proj": "several projections",
    "kv_proj": "keys and values", "gate_up_proj": "gate and up", "gate_up": "gate and up", "w13": "gate and up",
}  # fmt: skip
"""Names of layers whose weight holds several projections one after the other, and which."""
_HEAD_SIZES = ("head_dim", "head_size", "attention_head_size", "d_kv")
_HEAD_COUNTS = ("n_heads", "num_heads", "n_head", "num_attention_heads", "nheads", "heads", "h")


class Group(NamedTuple):
    """Layers of one parent under their FQNs: ``firsts`` read one input, ``then`` reads what they make."""

    parent: str
    firsts: tuple[str, ...]
    then: str


def groups_in(tree: ModuleTree, parent: str) -> Iterator[Group]:
    """The layers below a module that feed one another; all of them linear."""
    prefix = f"{parent}." if parent else ""
    for sources, readers in PAIRS:
        then = next((prefix + r for r in readers if prefix + r in tree.modules), None)
        firsts = tuple(prefix + s for s in sources if prefix + s in tree.modules)
        if then is not None and firsts and all(looks_linear(tree.modules[m]) for m in (then, *firsts)):
            yield Group(parent, firsts, then)


def looks_linear(module: Module) -> bool:
    """Whether it is an nn.Linear, or, where classes are unknown (trees of checkpoints), has the weight of one."""
    weight = module.parameters.get("weight")
    return is_linear(module) or (module.cls is None and weight is not None and len(weight.shape) == 2)


def head_size(tree: ModuleTree, attention: str) -> int | None:
    """Features of one head: what the attention module says, else the configuration of the model that it is part of."""
    if attention in tree.modules:
        ints = tree.modules[attention].ints
        for name in _HEAD_SIZES:
            if ints.get(name, 0) > 0:
                return ints[name]
    config = config_of(tree, attention)
    head, hidden, heads = (config.get(n) for n in ("head_dim", "hidden_size", "num_attention_heads"))
    if isinstance(head, int) and head > 0:
        return head
    if isinstance(hidden, int) and isinstance(heads, int) and heads > 0 and hidden % heads == 0:
        return hidden // heads
    return _counted(tree, attention)


def _counted(tree: ModuleTree, attention: str) -> int | None:
    """Features of one head by the number of heads that the attention keeps and the width of its queries."""
    if attention not in tree.modules:
        return None
    ints = tree.modules[attention].ints
    heads = next((ints[name] for name in _HEAD_COUNTS if ints.get(name, 0) > 0), None)
    for name in QUERIES if heads else ():
        query = tree.modules.get(f"{attention}.{name}" if attention else name)
        weight = query.parameters.get("weight") if query else None
        if weight is not None and heads and weight.shape[0] % heads == 0:
            return weight.shape[0] // heads
    return None


def config_of(tree: ModuleTree, fqn: str) -> Mapping[str, Any]:
    """The configuration of the innermost model of the library that a module is part of; the whole one where that cannot
    be told."""
    inside = [o for o in tree.owners if not o.fqn or fqn == o.fqn or fqn.startswith(f"{o.fqn}.")]
    kind = max(inside, key=lambda o: len(o.fqn)).model_type if inside else None
    return next(_configs(tree.config, kind), tree.config) if kind else tree.config


def _configs(config: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    if config.get("model_type") == kind:
        yield config
    for value in config.values():
        if isinstance(value, Mapping):
            yield from _configs(value, kind)
