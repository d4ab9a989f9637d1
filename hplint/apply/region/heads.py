"""Attributes that count what tp cuts: head counts and the plan's tp_divide_attrs (facts 2.10)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torch import nn

from hplint.apply.plan import ApplyBoundary


def divided(module: nn.Module, boundary: ApplyBoundary, tp: int) -> Mapping[str, int]:
    """Attribute -> its value on one rank. Those that count by themselves and do not divide are left out (R179)."""
    found: dict[str, int] = {}
    for name in (*boundary.auto_divided, *boundary.tp_divide_attrs):
        value = getattr(module, name, None)
        if type(value) is int and value % tp == 0 and tp > 1:
            found[name] = value // tp
    return found


def divide(module: nn.Module, values: Mapping[str, int]) -> None:
    """Set them for good (local mode)."""
    for name, value in values.items():
        setattr(module, name, value)


@contextmanager
def divided_meanwhile(module: nn.Module, values: Mapping[str, int]) -> Iterator[None]:
    """Set them while a region sees local tensors (validate mode)."""
    before = {name: getattr(module, name) for name in values}
    divide(module, values)
    try:
        yield
    finally:
        divide(module, before)
