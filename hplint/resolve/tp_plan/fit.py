"""Whether a module can be cut, and called after, the way that a word of a ``tp_plan`` says.

Source: transformers 5.24, ``distributed/tensor_parallel.py`` and ``expert_parallel.py``.
"""

from collections.abc import Mapping

from hplint.model.tree import Module, ModuleTree
from hplint.resolve.styles.resolved import ResolvedStyles
from hplint.resolve.torch.layouts import is_embedding, is_linear
from hplint.resolve.tp_plan.parameter_fit import Unfit, starred, unfit_parameter
from hplint.resolve.tp_plan.words import WORDS

ROPE = "qk_rope_head_dim"
"""What the config has where attention has a rotary part of its own."""
ON_LINEAR = {"embedding_rowwise": "colwise_gather_output", "embedding_colwise": "rowwise_split_input"}
"""Words for embeddings, and what they come to on a Linear."""


def unfit(styles: ResolvedStyles, tree: ModuleTree, name: str, word: str) -> Unfit | None:
    """Why a word does not fit the module or parameter of a name; None where it fits, or its class is not known."""
    module = tree.modules.get(name)
    if module is None:
        return unfit_parameter(styles, tree, name, word)
    if module.cls is None:
        return None
    kind = module.cls.short
    return (
        _on_quantised(module, kind, word)
        or _without_size(tree, module, kind, word)
        or _on_other_layer(module, kind, word)
        or _on_container(module, kind, word)
        or _on_experts(module, kind, word)
        or _of_the_config(tree, kind, word)
    )


def _without_size(tree: ModuleTree, module: Module, kind: str, word: str) -> Unfit | None:
    """The library asks for the size of the layer before it hooks its forward."""
    needs = WORDS[word].needs
    if needs not in ("out_features", "in_features") or needs in module.ints or is_embedding(module):
        return None  # HPL710 tells of embeddings.
    prefix = f"{module.fqn}."
    below = [starred(m.fqn[len(prefix) :]) for m in tree.modules.values() if m.fqn.startswith(prefix) and is_linear(m)]
    if "base_layer" in below:
        return Unfit("adapter", kind)
    return Unfit("holder" if below else "no-size", kind, tuple(dict.fromkeys(below)))


def _on_quantised(module: Module, kind: str, word: str) -> Unfit | None:
    """Layers that keep their weight the other way round, or packed: the dim that is cut holds other features."""
    needs = WORDS[word].needs
    weight = module.parameters.get("weight") or module.parameters.get("qweight")
    size = module.ints.get(needs) if needs else None
    if needs not in ("out_features", "in_features") or weight is None or len(weight.shape) != 2 or size is None:
        return None
    cut = 0 if needs == "out_features" else 1
    if weight.shape[cut] == size or weight.shape[1 - cut] != size or is_linear(module):
        return None
    return Unfit("turned", kind, shape=weight.shape, dim=cut)


def _on_other_layer(module: Module, kind: str, word: str) -> Unfit | None:
    """Words for embeddings on other layers, and what suits norms alone on layers with features."""
    linear = is_linear(module)
    if word in ON_LINEAR and linear:
        return Unfit("bias" if word == "embedding_colwise" and "bias" in module.parameters else "embedding", kind)
    if word == "sequence_parallel" and (linear or is_embedding(module)):
        return Unfit("sequence", kind)
    return Unfit("packed", kind) if word == "packed_rowwise" and linear else None


def _on_container(module: Module, kind: str, word: str) -> Unfit | None:
    """Rules for modules without parameters of their own."""
    known, children = WORDS[word], module.node.children
    if module.parameters or not children or known.needs or word == "replicate":
        return None
    names = tuple(dict.fromkeys(starred(n) for n, _ in children))
    if module.forward is None:
        return Unfit("never-called", kind, names)
    if word in ON_LINEAR or word == "sequence_parallel":
        return Unfit("mixed", kind, names)
    return Unfit("weightless", kind, names) if known.cuts else None


def _on_experts(module: Module, kind: str, word: str) -> Unfit | None:
    """Words for the weights of experts, which the experts' own module needs a word beside."""
    if word != "grouped_gemm":
        return None
    wide = tuple(n for n, t in module.parameters.items() if len(t.shape) > 2)
    return Unfit("experts" if wide else "no-experts", kind, wide)


def _of_the_config(tree: ModuleTree, kind: str, word: str) -> Unfit | None:
    fits = word != "mla_kv_a_proj" or not tree.config or _has(tree.config, ROPE)
    return None if fits else Unfit("no-rope", kind)


def _has(config: Mapping[str, object], key: str, depth: int = 0) -> bool:
    return key in config or any(
        _has(v, key, depth + 1) for v in config.values() if isinstance(v, Mapping) and depth < 4
    )
