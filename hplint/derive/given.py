"""Boundaries from a JSON file, in place of derivation.

Either what ``hplint plan show --format json`` prints, or a bare ``{FQN: {"params": …, "in_src": …}}``.
"""

import json
from pathlib import Path
from typing import Any

from hplint.derive.boundary import Boundary
from hplint.errors import RequestError
from hplint.plan.entry import InnerOutSrc, Target, Text
from hplint.plan.layout import CONTRACT_FIELDS, Layout, Layouts
from hplint.plan.placement import Placement, parse, shard
from hplint.text.near import near
from hplint.text.span import START
from hplint.text.wording import listing, quote

_SHOWN_ONLY = ("auto_divided", "deferred_biases", "mode", "origin")
"""Fields that ``plan show`` prints and that are worked out anew."""
_OTHER = (
    "kind", "out_names", "region_dispatch", "inner_target", "inner_wrapper", "inner_out_src", "local_compute_fn",
    "tp_divide_attrs", "ep_size", "ep_stack",
)  # fmt: skip
FIELDS = (*CONTRACT_FIELDS, *_OTHER, *_SHOWN_ONLY)


def read_boundaries(path: Path) -> dict[str, Boundary]:
    """Read a file of boundaries. Raises RequestError that names the file and what is wrong in it."""
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise RequestError(f"{path}: the boundaries cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise RequestError(f"{path}: the boundaries cannot be read: not UTF-8 text") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise RequestError(f"{path}: not JSON: {error}") from None
    try:
        return boundaries_from(data)
    except ValueError as error:
        raise RequestError(f"{path}: {error}") from None


def boundaries_from(data: Any) -> dict[str, Boundary]:
    """Boundaries by FQN from plain JSON values. Raises ValueError with a plain reason."""
    if isinstance(data, dict) and (data.keys() == {"boundaries"} or {"version", "boundaries"} <= data.keys()):
        data = data["boundaries"]
    if not isinstance(data, dict):
        raise ValueError("boundaries must be an object from module names to boundaries")
    return {fqn: _boundary(fqn, fields) for fqn, fields in data.items()}


def _boundary(fqn: str, fields: Any) -> Boundary:
    if not isinstance(fields, dict):
        raise ValueError(f'{fqn}: a boundary must be an object of fields, such as {{"params": …}}')
    for name in fields:
        if name not in FIELDS:
            close = near(name, FIELDS)
            hint = f"did you mean {listing(close, 'or')}?" if close else f"allowed are {listing(FIELDS, most=20)}"
            raise ValueError(f"{fqn}: {quote(name)} is no field of a boundary; {hint}")
    boundary = Boundary(fqn)
    for name in CONTRACT_FIELDS:
        setattr(boundary, name, _layouts(f"{fqn}.{name}", fields.get(name)))
    for name in _OTHER:
        value = fields.get(name)
        if value is not None:
            setattr(boundary, name, _OTHER_READERS[name](f"{fqn}.{name}", value))
    return boundary


def _layouts(where: str, value: Any) -> Layouts | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError(f"{where}: layouts must be an object from tensor names to {{axis: placement}}")
    found: Layouts = {}
    for name, placements in value.items():
        if not isinstance(placements, dict):
            raise ValueError(f"{where}.{name}: a layout must be an object from axes to placements")
        found[name] = Layout({axis: _placement(f"{where}.{name}.{axis}", text) for axis, text in placements.items()})
    return found


def _placement(where: str, text: Any) -> Placement:
    found = parse(text) if isinstance(text, str) else None
    if found is None and isinstance(text, str) and text.replace(" ", "") == "shard(-1)":
        # Only templates have it; a plan cannot write it.
        found = shard(-1)
    if found is None:
        raise ValueError(f"{where}: {quote(text)} is not a placement; allowed are replicate, partial and shard(N)")
    return found


def _text(where: str, value: Any) -> Text:
    if not isinstance(value, str):
        raise ValueError(f"{where}: must be a string")
    return Text(value, START)


def _plain_text(where: str, value: Any) -> str:
    return _text(where, value).value


def _flag(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{where}: must be true or false")
    return value


def _size(where: str, value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError(f"{where}: must be a whole number above 0")
    return value


def _texts(where: str, value: Any) -> tuple[Text, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{where}: must be a list of strings")
    return tuple(_text(where, v) for v in value)


def _names(where: str, value: Any) -> tuple[str, ...]:
    return tuple(t.value for t in _texts(where, value))


def _attributes(where: str, value: Any) -> tuple[Text, ...] | None:
    # `plan show` prints an empty list where nobody asked for any.
    return _texts(where, value) or None


def _stack(where: str, value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: must be an object from stacked paths to lists of paths")
    return {name: _names(f"{where}.{name}", paths) for name, paths in value.items()}


def _target(where: str, value: Any) -> Target:
    return Target(_text(where, value))


def _wrapper(where: str, value: Any) -> Text | Target:
    text = _text(where, value)
    return Target(text) if "." in text.value else text


def _inner_out_src(where: str, value: Any) -> InnerOutSrc:
    if value == "first_input":
        return InnerOutSrc(START, first_input=True, written=value)
    if not isinstance(value, dict) or not value:
        raise ValueError(f"{where}: must be first_input or an object of layouts")
    shorthand = not all(isinstance(v, dict) for v in value.values())
    layouts = _layouts(where, {"output": value} if shorthand else value)
    return InnerOutSrc(START, layouts=layouts, shorthand=shorthand, written=value)


_OTHER_READERS: dict[str, Any] = {
    "kind": _plain_text, "out_names": _names, "region_dispatch": _flag, "inner_target": _text,
    "inner_wrapper": _wrapper, "inner_out_src": _inner_out_src, "local_compute_fn": _target,
    "tp_divide_attrs": _attributes, "ep_size": _size, "ep_stack": _stack,
}  # fmt: skip
