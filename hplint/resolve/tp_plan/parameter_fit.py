"""Whether a parameter with a rule of its own can be cut by the word of a ``tp_plan``, beside the word of its module.

Source: transformers 5.24, ``distributed/tensor_parallel.py`` and ``expert_parallel.py``.
"""

from typing import NamedTuple

from hplint.model.tree import ModuleTree
from hplint.resolve.styles.resolved import ResolvedStyles
from hplint.resolve.torch.layouts import is_embedding, is_linear
from hplint.resolve.tp_plan.experts import experts_of
from hplint.resolve.tp_plan.words import WORDS, cut_dim

LOCAL = frozenset((
    "colwise", "colwise_gather_output", "colwise_rep", "rowwise", "rowwise_split_input", "rowwise_rep",
    "embedding_rowwise", "embedding_colwise", "packed_colwise", "moe_tp_experts", "local_params",
    "ep_dispatch_experts",
))  # fmt: skip
"""Words under which the forward of a module can use cut parameters of its own."""


class Unfit(NamedTuple):
    """Why a word does not fit: ``reason`` is a name for it, ``kind`` the class of the module (of the parameter's one).

    ``names`` are the modules or parameters that the word is rather meant for, with ``*`` for numbers; ``shape`` is that
    of the tensor that it cuts along ``dim``; ``over`` is the word of the module around a parameter, None without one.
    """

    reason: str
    kind: str
    names: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    dim: int = 0
    over: str | None = None


def starred(name: str) -> str:
    """A name as keys spell it."""
    return ".".join("*" if part.isdecimal() else part for part in name.split("."))


def unfit_parameter(styles: ResolvedStyles, tree: ModuleTree, name: str, word: str) -> Unfit | None:
    """Rules for one parameter."""
    above, _, own = name.rpartition(".")
    tensor, module = tree.parameters.get(name), tree.modules.get(above)
    if tensor is None or module is None or module.cls is None:
        return None
    kind, shape = module.cls.short, tensor.shape
    if word == "embedding_colwise" and len(shape) < 2:
        return Unfit("one-dim", kind, shape=shape)
    experts = module.ints.get("num_experts")
    if word == "grouped_gemm" and (is_linear(module) or (experts and shape[:1] != (experts,))):
        return Unfit("no-experts-dim", kind, shape=shape)
    fused = experts_of(module)
    if cut_dim(word, own, len(shape)) is None or (fused is not None and name in (fused.up.name, fused.down.name)):
        return None  # HPL717 looks at the two weights of experts and their module together.
    over = styles.winners.get(above)
    if over is not None and (over.style is None or over.style.kind in LOCAL or over.style.kind not in WORDS):
        return None
    plain = is_linear(module) or is_embedding(module)
    return Unfit(
        "layer-parameter" if plain else "parameter",
        kind,
        (starred(above),),
        over=over.style.kind if over and over.style else None,
    )
