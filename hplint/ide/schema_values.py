"""Schema of the values of fields: placements, layouts, contracts, injected functions."""

from collections.abc import Iterable, Sequence
from typing import Any

from hplint.front.keys import FIRST_INPUT, SENTINELS, TARGET
from hplint.plan.layout import OUTPUT
from hplint.resolve.topology import CANONICAL_AXES, Topology
from hplint.targets.shipped import REGISTRY, TABLE

Schema = dict[str, Any]
REFUSED_AXES = ("dp",)
"""Axes that every mesh has and no plan may use (R101)."""
_AXES = {
    "tp": "tensor-parallel axis",
    "cp": "context-parallel axis",
    "ep": "expert-parallel axis",
}
_MOST_DIMS = 3


def ref(name: str) -> Schema:
    """A reference to a definition."""
    return {"$ref": f"#/definitions/{name}"}


def nullable(schema: Schema) -> Schema:
    """A value that may also be null, which reads as not written."""
    return {"anyOf": [schema, {"type": "null"}]}


def axes(topologies: Sequence[Topology]) -> dict[str, str]:
    """The axes that a plan may name, the active ones first, with a description each."""
    found: dict[str, str] = {}
    meshes = [t.mesh for t in topologies]
    active = dict.fromkeys(a for t in topologies for a in t.active_axes)
    for axis in dict.fromkeys((*active, *CANONICAL_AXES, *(a for m in meshes for a in m))):
        if axis in REFUSED_AXES:
            continue
        sizes = list(dict.fromkeys(str(s) for t in topologies if (s := t.size(axis)) is not None))
        size = f", size {' or '.join(sizes)}" if sizes else ""
        found[axis] = f"{_AXES.get(axis, f'mesh axis {axis}')}{size}"
    return found


def placement(dims: int | None = None) -> Schema:
    """One placement; ``dims`` is the number of dims of the tensor, where that is known."""
    count = _MOST_DIMS if dims is None else dims
    words = ["replicate", "partial", *(f"shard({n})" for n in range(count))]
    told = ["the whole tensor on every rank", "a summand on every rank; their sum is the tensor"]
    told += [f"cut along tensor dim {n}" for n in range(count)]
    return {
        "anyOf": [
            {"enum": words, "enumDescriptions": told},
            # Case and white space do not count.
            {"type": "string", "pattern": rf"^\s*(?:{_any_case('replicate')}|{_any_case('partial')}|"
             rf"{_any_case('shard')}\s*\(\s*[0-9]+\s*\))\s*$"},
        ]
    }  # fmt: skip


def layout(names: dict[str, str], dims: int | None = None) -> Schema:
    """``{axis: placement}`` of one tensor."""
    value = ref("placement" if dims is None else f"placement{dims}")
    return {
        "type": "object",
        "minProperties": 1,
        "properties": {axis: {**value, "description": told} for axis, told in names.items()},
        "additionalProperties": False,
    }


def contract(known: dict[str, Schema], patterns: dict[str, Schema], output: bool = False) -> Schema:
    """A contract field: a sentinel, null, or ``{tensor: {axis: placement}}`` where ``known`` tensors and those whose
    names match ``patterns`` are suggested and explained. An ``output`` field may be one bare layout."""
    named: Schema = {"type": "object", "properties": known, "additionalProperties": ref("layout")}
    if patterns:
        named["patternProperties"] = patterns
    told = ["derive this field", "no layout: nothing is declared"]
    choices = [{"enum": list(SENTINELS), "enumDescriptions": told}, named, {"type": "null"}]
    if output:
        choices.insert(2, ref("layout"))
    return {"anyOf": choices}


def inner_out_src() -> Schema:
    """What the wrapped child returns."""
    named = {"type": "object", "minProperties": 1, "additionalProperties": ref("layout")}
    return {"anyOf": [{"enum": [FIRST_INPUT, None]}, ref("layout"), {**named, "properties": {OUTPUT: ref("layout")}}]}


def target(mark: str) -> Schema:
    """``{_target_: dotted.path, keyword: value}``; shipped functions of that mark are suggested."""
    shipped = sorted(s.dotted for s in TABLE.values() if s.mark == mark)
    path: Schema = {"type": "string", "pattern": r"^[^\W\d]\w*(?:\.[^\W\d]\w*)+$"}
    return {
        "type": "object",
        "required": [TARGET],
        "properties": {TARGET: {"anyOf": [{"enum": shipped}, path]} if shipped else path},
    }


def wrapper(own: Iterable[str]) -> Schema:
    """A name of the wrapper registry (``own`` are those of the project), or a function."""
    return {"anyOf": [{"enum": [*REGISTRY, *own, None]}, target("inner_wrapper")]}


def names(suggested: Iterable[str] = ()) -> Schema:
    """A list of names."""
    words = sorted(suggested)
    item: Schema = {"type": "string"}
    return nullable({"type": "array", "items": {"anyOf": [{"enum": words}, item]} if words else item})


def _any_case(word: str) -> str:
    return "".join(f"[{c}{c.upper()}]" for c in word)
