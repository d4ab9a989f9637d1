"""What stands between projections: norms over heads, activations with parameters. Found by names and shapes."""

from collections.abc import Iterator

from hplint.model.tree import ModuleTree
from hplint.resolve.styles.projections import config_of, groups_in, head_size

NORMS = {
    "q_norm": ("q_proj", "wq", "q_b_proj"), "k_norm": ("k_proj", "wk"), "v_norm": ("v_proj", "wv"),
    "q_layernorm": ("q_proj",), "k_layernorm": ("k_proj",),
    "query_layernorm": ("q_proj",), "key_layernorm": ("k_proj",),
}  # fmt: skip
"""Names of norms inside attention, and of the projection whose output they get."""
ACTIVATIONS = ("act_fn", "act", "activation", "activation_fn")


def norms_behind(tree: ModuleTree, parent: str, whole: bool = False) -> Iterator[tuple[str, str]]:
    """Norms over the features of one head, with ``whole`` also those over all heads, and the projection before each."""
    head = head_size(tree, parent)
    for name, makers in NORMS.items():
        fqn = f"{parent}.{name}"
        source = next((f"{parent}.{m}" for m in makers if f"{parent}.{m}" in tree.modules), None)
        if fqn not in tree.modules or source is None or head is None:
            continue
        sizes = {t.shape for t in tree.modules[fqn].parameters.values()}
        weight = tree.modules[source].parameters.get("weight")
        if weight is None or weight.shape[0] <= head:
            continue
        if sizes == {(head,)} or (whole and sizes == {weight.shape[:1]}):
            yield fqn, source


def activations_between(tree: ModuleTree, parent: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Activations with numbers of their own between layers that feed one another, and the layers before each."""
    for group in groups_in(tree, parent):
        for name in ACTIVATIONS:
            fqn = f"{parent}.{name}"
            module = tree.modules.get(fqn)
            if module is None or not module.parameters or group.then.endswith(("o_proj", "out_proj")):
                continue
            if all(t.requires_grad and set(t.shape) <= {1} for t in module.parameters.values()):
                yield fqn, group.firsts


def hidden_size(tree: ModuleTree, fqn: str) -> int | None:
    """Size of the hidden states of the model that a module is part of."""
    size = config_of(tree, fqn).get("hidden_size")
    return size if isinstance(size, int) else None
