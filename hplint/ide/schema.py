"""A JSON Schema for plan files, whose names are those of one model and its meshes: what stock YAML editors complete and
explain by. Draft 7, which the YAML extension reads."""

from collections.abc import Mapping, Sequence
from typing import Any

from hplint.derive.boundary import Boundary
from hplint.front.keys import ACCELERATOR, ACCELERATOR_KEYS, ENTRY_KEYS, PLAN_OVERRIDES, YAML, Key, entry_keys
from hplint.ide.schema_kinds import Kind, kinds, united
from hplint.ide.schema_names import Shape, anchored, fold, regex
from hplint.ide.schema_styles import style_definitions, style_sections
from hplint.ide.schema_text import Texts
from hplint.ide.schema_values import (
    Schema,
    axes,
    contract,
    inner_out_src,
    layout,
    names,
    nullable,
    placement,
    ref,
    target,
    wrapper,
)
from hplint.lint.registry import Registry
from hplint.model.tree import ModuleTree
from hplint.plan.layout import OUTPUT, OUTPUT_FIELDS
from hplint.resolve.match import Matcher
from hplint.resolve.topology import WHEN_WORDS, Topology
from hplint.text.wording import plural

DRAFT = "http://json-schema.org/draft-07/schema#"
MARK = "written by hplint schema"
"""Tells a schema that may be written anew from one that somebody keeps by hand."""
GLOB = r"[*?\[]"
MOST_SHAPES = 3_000
"""Shapes of module names past which exact names are no longer checked: no real model has as many."""
MOST_KINDS = 150
_TELLING = sorted(ENTRY_KEYS.keys() - {"match", "when", "params", "out_names", "is_boundary"})
"""Fields that hardly anything but an entry has."""
_MARKS = {"local_compute_fn": "local_compute", "replace_module": "replace_module"}
_WHEN = {
    "cp": "while context parallelism is active",
    "ep": "while expert parallelism is active",
    "low_precision": "while the run computes in low precision",
    "sequence_parallel": "while activations lie cut along the sequence",
}


def plan_schema(
    registry: Registry,
    tree: ModuleTree | None = None,
    topologies: Sequence[Topology] = (),
    boundaries: Mapping[str, Boundary] | None = None,
    wrappers: Sequence[str] = (),
) -> Schema:
    """The schema of plan files: trainer files, lists of entries, and ``{match: fields}``.

    ``boundaries`` are the derived ones; ``wrappers`` the names that the project registers. Without a tree any module
    name passes. Its size hangs on the distinct shapes of module names, not on the number of modules.
    """
    topologies = topologies or (Topology(),)
    named = axes(topologies)
    texts = Texts(registry)
    known = _Known(tree, boundaries or {}) if tree else None
    fields = {name: _described(ENTRY_KEYS[name], texts, wrappers) for name in entry_keys(YAML)}
    module: Schema = known.module() if known else {"anyOf": [{"type": "string", "minLength": 1}]}
    fields["match"] = {**_match(module), **texts.describe(ENTRY_KEYS["match"])}
    definitions: dict[str, Schema] = {
        "placement": placement(),
        "layout": layout(named),
        **{f"placement{n}": placement(n) for n in (1, 2, 3)},
        **{f"layout{n}": layout(named, n) for n in (1, 2, 3)},
        "module": module,
        "entry": {
            "type": "object",
            "required": ["match"],
            "properties": fields,
            "additionalProperties": False,
            **({"allOf": known.conditions()} if known else {}),
        },
        "fields": nullable(
            {
                "type": "object",
                "properties": {k: v for k, v in fields.items() if k != "match"},
                "additionalProperties": False,
            }
        ),
        "entries": {"type": "array", "items": ref("entry")},
        "by_match": {"type": "object", "propertyNames": ref("module"), "additionalProperties": ref("fields")},
        "accelerator": _accelerator(texts),
        **style_definitions(tree),
    }
    return {
        "$schema": DRAFT,
        "$comment": MARK,
        "title": f"Sharding plan{f' for {tree.class_name or tree.spec}' if tree else ''}",
        "definitions": definitions,
        **_root(),
    }


def _root() -> Schema:
    """A list of entries, a trainer file, or a mapping of which some value has fields of an entry: told apart by
    conditions, so that complaints are about one of them."""
    plan = {"description": "the sharding plan", "anyOf": [ref("entries"), ref("by_match"), {"type": "null"}]}
    trainer = {"properties": {PLAN_OVERRIDES: plan, ACCELERATOR: ref("accelerator"), **style_sections()}}
    entry = {"type": "object", "anyOf": [{"required": [name]} for name in _TELLING]}
    some_entry = {"not": {"additionalProperties": {"not": entry}}}
    return {
        "if": {"type": "array"},
        "then": ref("entries"),
        "else": {
            "type": "object",
            "if": {"anyOf": [{"required": [PLAN_OVERRIDES]}, {"required": [ACCELERATOR]}, {"not": some_entry}]},
            "then": trainer,
            "else": ref("by_match"),
        },
    }


def _match(module: Schema) -> Schema:
    several = {"type": "array", "minItems": 1, "items": ref("module")}
    # Editors look for values one level deep.
    return {"anyOf": [*module["anyOf"], several]}


def _described(key: Key, texts: Texts, wrappers: Sequence[str]) -> Schema:
    return {**_value(key, wrappers), **texts.describe(key)}


def _value(key: Key, wrappers: Sequence[str]) -> Schema:
    match key.kind:
        case "when":
            return {"enum": [*WHEN_WORDS, None], "enumDescriptions": [*(_WHEN[w] for w in WHEN_WORDS), "always"]}
        case "contract":
            output = key.name in OUTPUT_FIELDS
            return contract({OUTPUT: ref("layout")} if output else {}, {}, output)
        case "bool":
            return {"type": ["boolean", "null"] if key.nullable else "boolean"}
        case "target":
            return nullable(target(_MARKS[key.name]))
        case "wrapper":
            return wrapper(wrappers)
        case "inner_out_src":
            return inner_out_src()
        case "names":
            return names()
        case "text" if key.name == "inner_target":
            return {"anyOf": [{"enum": ["self"]}, {"type": ["string", "null"]}]}
    return {"type": ["string", "null"]}


def _accelerator(texts: Texts) -> Schema:
    size = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": r"\$\{"}, {"type": "null"}]}
    values: dict[str, Any] = {
        k.name: {**(size if k.kind == "size" else {"type": ["boolean", "null"]}), **texts.describe(k)}
        for k in ACCELERATOR_KEYS.values()
    }
    section = {"type": "object", "properties": values, "additionalProperties": False}
    return {**nullable(section), "description": "sizes and flags of the run"}


class _Known:
    """What the schema takes from one model."""

    def __init__(self, tree: ModuleTree, boundaries: Mapping[str, Boundary]) -> None:
        self.tree = tree
        self.boundaries = boundaries
        self.matcher = Matcher(tree)
        self.shapes = fold(tree.modules)
        self.kinds = kinds(tree, boundaries)
        self.suggested = self._suggested()

    def module(self) -> Schema:
        """A match: a module of the model, or any glob."""
        words = list(self.suggested)
        shown = {"enum": words, "enumDescriptions": [self._told(w) for w in words]}
        choices: list[Schema] = [shown, {"type": "string", "pattern": GLOB}]
        if len(self.shapes) <= MOST_SHAPES:
            choices.append({"type": "string", "pattern": anchored(map(regex, self.shapes))})
        else:
            choices.append({"type": "string", "minLength": 1})
        return {"anyOf": choices}

    def conditions(self) -> list[Schema]:
        """What an entry may name, by the modules that its match hits. Derived boundaries come first."""
        groups: dict[tuple[int, ...], Kind] = {}
        for kind in self.kinds.values():
            groups.setdefault((id(kind),), kind)
        for glob, hits in self.suggested.items():
            several = {id(kind): kind for name in hits for kind in [self.kinds[name]]}
            key = tuple(sorted(several))
            if key not in groups:
                groups[key] = united(several.values())
            if glob not in groups[key].globs and "*" in glob:
                groups[key].globs.append(glob)
        of_boundaries = {id(self.kinds[fqn]) for fqn in self.boundaries if fqn in self.kinds}
        ranked = sorted(groups.items(), key=lambda item: not of_boundaries.intersection(item[0]))
        return [
            {"if": self._condition(kind), "then": {"properties": kind.fields()}}
            for _, kind in ranked[:MOST_KINDS]
            if kind.parameters or kind.inputs
        ]

    def _condition(self, kind: Kind) -> Schema:
        if kind.names:
            return kind.condition()
        return {"required": ["match"], "properties": {"match": {"enum": kind.globs}}}

    def _suggested(self) -> dict[str, tuple[str, ...]]:
        """Globs and names that are offered, with the modules that each hits; derived boundaries first."""
        found: dict[str, tuple[str, ...]] = {}
        shapes = sorted(self.shapes, key=lambda s: not any(n in self.boundaries for n in s.names))
        for shape in shapes[:MOST_SHAPES]:
            for word in self._words(shape):
                if word not in found and (hits := self.matcher.hits(word) if "*" in word else (word,)):
                    found[word] = hits
        return found

    def _words(self, shape: Shape) -> list[str]:
        if not shape.is_folded:
            return [shape.names[0]]
        last = shape.glob.rpartition(".")[2]
        return [shape.glob] if last == "*" else [f"*.{last}", shape.glob]

    def _told(self, word: str) -> str:
        hits = self.suggested[word]
        classes = dict.fromkeys(c for name in hits[:2000] for c in self.kinds[name].classes)
        types = dict.fromkeys(b.kind for name in hits[:2000] if (b := self.boundaries.get(name)) and b.kind)
        parts = [" or ".join(classes) or "module"]
        if types:
            parts.append(f"derived as {' or '.join(types)}")
        if len(hits) > 1:
            parts.append(plural(len(hits), "module"))
        return ", ".join(parts)
