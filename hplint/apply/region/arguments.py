"""Find declared inputs among the arguments of a call (2.5)."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Binding:
    """Where the declared inputs of a forward stand: by position (None: only by keyword) and by keyword."""

    places: dict[str, tuple[int | None, str]]

    def visit(self, args: tuple[Any, ...], kwargs: dict[str, Any], change: dict[str, Callable[[Any], Any]]) -> Any:
        """Arguments and keywords with each declared input that the call passes changed; None is left alone."""
        changed, named = list(args), dict(kwargs)
        for name, (position, keyword) in self.places.items():
            if named.get(keyword) is not None:
                named[keyword] = change[name](named[keyword])
                continue
            there = keyword not in named and position is not None and position < len(changed)
            if there and changed[position or 0] is not None:
                changed[position or 0] = change[name](changed[position or 0])
        return tuple(changed), named


def bind(forward: Callable[..., Any], names: Iterable[str]) -> Binding:
    """Bind input names to the parameters of a forward (a bound method, or a function without self).

    One name alone that is no parameter means the first parameter, however it is passed: derivation names inputs by
    their role (``x_BLD``). Of several, such a name is only found where a caller passes a keyword of that name.
    """
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positions = {p.name: i for i, p in enumerate(q for q in parameters if q.kind in _POSITIONAL)}
    known = {p.name for p in parameters}
    wanted = list(names)
    places = {n: (positions.get(n), n) for n in wanted}
    if len(wanted) == 1 and wanted[0] not in known:
        first = next(iter(positions), wanted[0])
        places[wanted[0]] = (0, first)
    return Binding(places)
