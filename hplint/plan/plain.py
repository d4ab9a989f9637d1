"""An entry as plain values again: what another entry needs in order to say the same."""

from collections.abc import Iterable
from typing import Any

from hplint.plan.entry import UNKNOWN, ContractField, Entry, Flag, InnerOutSrc, Target, Text
from hplint.plan.layout import OUTPUT
from hplint.plan.placement import Placement


def plain_fields(entry: Entry, fields: Iterable[str] | None = None) -> dict[str, Any] | None:
    """Field name -> plain value (placements as objects) of the fields that were written, in writing order and without
    ``match``; of ``fields`` alone, if given. None where one of them could not be read."""
    names = [f for f in entry.keys if f != "match"] if fields is None else [f for f in entry.keys if f in set(fields)]
    found: dict[str, Any] = {}
    if fields is None and entry.broken:
        return None
    for name in names:
        if name in entry.broken:
            return None
        value = entry.contract[name] if name in entry.contract else getattr(entry, name, UNKNOWN)
        found[name] = plain_value(value)
        if _has_unknown(found[name]):
            return None
    return found


def plain_value(value: object) -> Any:
    """The plain value of what an entry holds in a field; UNKNOWN in the place of what could not be read."""
    match value:
        case Text() | Flag():
            return value.value
        case tuple():
            return [plain_value(v) for v in value]
        case Target():
            return {"_target_": value.path.value} | {k: v.value for k, v in value.keywords.items()}
        case InnerOutSrc():
            return value.written
        case ContractField():
            return _contract(value)
    return value


def _contract(field: ContractField) -> Any:
    if field.sentinel or field.null:
        return field.sentinel
    if field.layouts is None or field.partly_broken:
        return UNKNOWN
    layouts: dict[str, dict[str, Placement | None]] = {n: dict(o.placements) for n, o in field.layouts.items()}
    return layouts[OUTPUT] if field.shorthand and OUTPUT in layouts else layouts


def _has_unknown(value: object) -> bool:
    match value:
        case dict():
            return any(map(_has_unknown, value.values()))
        case list():
            return any(map(_has_unknown, value))
    return value is UNKNOWN
