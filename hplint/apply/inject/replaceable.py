"""Whether an injected function can stand in for a forward."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from hplint.text.near import near
from hplint.text.wording import quote

_OPEN_KINDS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def compute_fault(compute: Callable[..., Any], forward: Callable[..., Any]) -> str:
    """Why a compute function cannot stand in for a forward, "" where it can (R86-R90)."""
    try:
        taken = list(inspect.signature(compute).parameters.values())
    except (TypeError, ValueError) as error:
        return f"has no signature that can be read ({error})"
    if not taken:
        return "takes no parameters; the first one is the module"
    if opened := [p for p in taken if p.kind in _OPEN_KINDS]:
        return f"takes `{_OPEN_KINDS[opened[0].kind]}{opened[0].name}`; give every parameter its name"
    theirs = inspect.signature(forward).parameters
    mine = {p.name: p for p in taken[1:]}
    for name in mine:
        if name not in theirs:
            close = near(name, list(theirs))
            return f"takes {quote(name)}, which the module's forward does not" + (
                f" ({quote(close[0])} is near)" if close else ""
            )
    order = [n for n, p in theirs.items() if p.kind in _POSITIONAL]
    positions = [order.index(n) for n, p in mine.items() if p.kind in _POSITIONAL and n in order]
    if positions != sorted(positions):
        return f"takes its parameters in another order than the module's forward ({', '.join(order)})"
    needed = [n for n, p in theirs.items() if p.default is inspect._empty and p.kind not in _OPEN_KINDS]
    missing = [n for n in needed if n not in mine]
    return f"does not take {quote(missing[0])}, which the module's forward needs" if missing else ""


def forward_fault(replaced: Callable[..., Any], original: Callable[..., Any]) -> str:
    """Why a wrapped forward cannot stand in for the original, "" where it can (R91, R92)."""
    try:
        mine: Mapping[str, inspect.Parameter] = inspect.signature(replaced).parameters
    except (TypeError, ValueError) as error:
        return f"has no signature that can be read ({error})"
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in mine.values()):
        return ""
    theirs = [n for n, p in inspect.signature(original).parameters.items() if p.kind not in _OPEN_KINDS]
    missing = [n for n in theirs if n not in mine or mine[n].kind is inspect.Parameter.POSITIONAL_ONLY]
    return f"cannot take {quote(missing[0])} by name, as the original can" if missing else ""
