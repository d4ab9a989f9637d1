"""How the words of Hugging Face's ``tp_plan`` cut the parameters of a module."""

from hplint.model.tree import Module
from hplint.plan.style import Style
from hplint.resolve.tp_plan.words import cut_dim


def cut_dims(style: Style, module: Module) -> dict[str, int]:
    """The parameters of the module itself that a word cuts, each with its dim."""
    found = {name: cut_dim(style.kind, name, len(t.shape)) for name, t in module.parameters.items()}
    return {name: dim for name, dim in found.items() if dim is not None}
