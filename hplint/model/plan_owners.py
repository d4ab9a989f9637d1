"""The plans that models of the transformers library ship, as they stand on classes and configs.

Runs in the child process alone: it looks at live modules.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torch import nn

from hplint.model.tree import PlanOwner

SECTIONS = ("tp", "ep", "pp")


def plan_owners(modules: Iterable[tuple[str, nn.Module]]) -> tuple[PlanOwner, ...]:
    """The models of the library among modules and their FQNs, in the same order."""
    of_library: dict[type, bool] = {}
    found = []
    for fqn, module in modules:
        cls = type(module)
        if cls not in of_library:
            of_library[cls] = any(c.__name__ == "PreTrainedModel" for c in cls.__mro__)
        if of_library[cls] and hasattr(module, "config"):
            found.append(_owner(fqn, module))
    return tuple(found)


def _owner(fqn: str, module: nn.Module) -> PlanOwner:
    cls, config = type(module), module.config
    kept = module._modules.get("embed_tokens")
    return PlanOwner(
        fqn,
        tuple(_names(cls, "PreTrainedModel")),
        tuple(_names(type(config), "PreTrainedConfig", "PretrainedConfig")),
        str(getattr(config, "model_type", "") or ""),
        _is_base(module),
        isinstance(kept, nn.Embedding),
        _plans(cls, "_{}_plan"),
        _plans(config, "base_model_{}_plan"),
    )


def _names(cls: type, *ends: str) -> Iterator[str]:
    """A class and its bases, up to those that all such classes have."""
    for base in cls.__mro__:
        if base.__name__ in ends:
            return
        yield base.__name__


def _is_base(module: nn.Module) -> bool:
    """What the library asks as ``module.base_model is module``, without calling any property."""
    prefix = str(getattr(type(module), "base_model_prefix", "") or "")
    inside = prefix in module._modules or prefix in vars(module) or hasattr(type(module), prefix)
    return not prefix or not inside


def _plans(holder: object, name: str) -> dict[str, dict[str, Any]]:
    found = {}
    for section in SECTIONS:
        plan = getattr(holder, name.format(section), None)
        if isinstance(plan, Mapping) and plan:
            found[section] = {str(key): _plain(value) for key, value in plan.items()}
    return found


def _plain(value: Any) -> Any:
    """A word, or the names of inputs and outputs of a stage."""
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return str(value)
