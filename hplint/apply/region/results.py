"""Reach into what a forward returns: a tensor, a tuple or list, a dict-like model output (2.6)."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor


def output_places(result: Any, declared: Mapping[int, str]) -> dict[int, int]:
    """Position in a result -> position of the declared output that it is; ``declared`` are names by position.

    Dict-like results have the declared names among their keys; where they have none of them, and in tuples and lists,
    the position counts.
    """
    if isinstance(result, Mapping):
        keys = list(result)
        named = {keys.index(name): position for position, name in declared.items() if name in result}
        if named:
            return named
    return {position: position for position in declared if position < count_outputs(result)}


def change_outputs(result: Any, change: Callable[[int, Tensor], Any]) -> Any:
    """``result`` with ``change(position, tensor)`` in the place of each tensor that it holds at its top level.

    Containers keep their type. Dict-like outputs (those of transformers among them) are counted in the order of their
    keys; None is left alone.
    """
    if isinstance(result, Tensor):
        return change(0, result)
    if isinstance(result, Mapping):
        changed = {
            key: change(i, value) if isinstance(value, Tensor) else value
            for i, (key, value) in enumerate(result.items())
        }
        return _like(result, changed)
    if isinstance(result, tuple | list):
        items = [change(i, v) if isinstance(v, Tensor) else v for i, v in enumerate(result)]
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return type(result)(*items)
        return type(result)(items)
    return result


def count_outputs(result: Any) -> int:
    """How many values a forward returned."""
    return len(result) if isinstance(result, Mapping | tuple | list) else 1


def _like(result: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
    if type(result) is dict:
        return items
    if hasattr(result, "to_tuple"):
        # Model outputs are made from keywords; the fields that are unset come back as None.
        return type(result)(**items)
    return type(result)(items)  # type: ignore[call-arg]
