"""What PyTorch's styles do to a module: how they cut its parameters, and the layouts at its entry and exit."""

from hplint.model.tree import Module
from hplint.plan.entry import UNKNOWN
from hplint.plan.placement import REPLICATE, Placement, shard
from hplint.plan.style import Style

LINEAR = "torch.nn.modules.linear.Linear"
EMBEDDING = "torch.nn.modules.sparse.Embedding"
COLWISE, ROWWISE, SEQUENCE = "ColwiseParallel", "RowwiseParallel", "SequenceParallel"
PREPARING = ("PrepareModuleInput", "PrepareModuleOutput", "PrepareModuleInputOutput")
KNOWN = (COLWISE, ROWWISE, SEQUENCE, *PREPARING)
REPLICATING = ("NoParallel",)
"""Styles of trainers that leave parameters whole."""
LAST = shard(-1)
_RETYING = ("tie_weights(", ".weight = ")


def is_linear(module: Module) -> bool:
    """Whether it is an nn.Linear."""
    return module.cls is not None and module.cls.is_a(LINEAR)


def is_embedding(module: Module) -> bool:
    """Whether it is an nn.Embedding."""
    return module.cls is not None and module.cls.is_a(EMBEDDING)


def is_known(style: Style) -> bool:
    """Whether it is known what a style does to parameters."""
    return style.kind in KNOWN or style.name in REPLICATING


def cut_dims(style: Style, module: Module) -> dict[str, int]:
    """The parameters that a style cuts, each with its dim; those that are not named stay whole on every rank. Modules
    of unknown classes (trees of checkpoints) count as what their weight looks like: linear."""
    if style.kind == COLWISE:
        if is_embedding(module):
            return {"weight": 1} if "weight" in module.parameters else {}
        if is_linear(module) or module.cls is None:
            return {name: 0 for name in ("weight", "bias") if name in module.parameters}
    if style.kind == ROWWISE:
        if is_embedding(module):
            return {"weight": 0} if "weight" in module.parameters else {}
        if is_linear(module) or module.cls is None:
            return {"weight": 1} if "weight" in module.parameters else {}
    return {}


def _argument(style: Style, name: str, default: Placement) -> Placement | None:
    """A layout of Colwise or Rowwise; None where it cannot be read."""
    if name not in style.arguments:
        return None if style.open else default
    value = style.arguments[name].value
    if value is None:
        return default
    return value if isinstance(value, Placement) else None


def input_layout(style: Style) -> Placement | None:
    """How a Colwise or Rowwise module is told that its input arrives; None where that cannot be read."""
    return _argument(style, "input_layouts", REPLICATE if style.kind == COLWISE else LAST)


def output_layout(style: Style) -> Placement | None:
    """How a Colwise or Rowwise module hands its output on; None where that cannot be read."""
    return _argument(style, "output_layouts", LAST if style.kind == COLWISE else REPLICATE)


def is_local(style: Style) -> bool | None:
    """Whether the output is a plain tensor, the rank's own part; None where that cannot be read."""
    given = style.arguments.get("use_local_output")
    if given is None:
        return None if style.open else style.kind != SEQUENCE
    return None if given.value is UNKNOWN else bool(given.value)


def ties_again(text: str) -> bool:
    """Whether a file ties weights itself, after a plan has parted them for all one can tell."""
    return any(words in text for words in _RETYING)
