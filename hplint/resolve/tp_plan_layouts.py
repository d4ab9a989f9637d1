"""How the words of Hugging Face's ``tp_plan`` cut the parameters of a module."""

from hplint.model.tree import Module
from hplint.plan.style import Style
from hplint.resolve.torch_layouts import is_embedding

_FEATURES = ("colwise", "colwise_gather_output", "colwise_rep", "packed_colwise")
_INPUTS = ("rowwise", "rowwise_split_input", "rowwise_rep", "packed_rowwise")


def cut_dims(style: Style, module: Module) -> dict[str, int]:
    """The parameters of the module itself that a word cuts, each with its dim; a bias beside cut inputs stays whole."""
    if style.kind == "embedding_rowwise":
        return {"weight": 0} if "weight" in module.parameters else {}
    if style.kind == "embedding_colwise" or (style.kind == "colwise" and is_embedding(module)):
        return {"weight": 1} if "weight" in module.parameters else {}
    if style.kind in _FEATURES:
        return {name: max(len(t.shape) - 2, 0) for name, t in module.parameters.items()}
    if style.kind in _INPUTS:
        return {name: len(t.shape) - 1 for name, t in module.parameters.items() if len(t.shape) > 1}
    return {}
