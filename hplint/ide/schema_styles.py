"""The part of the schema that is about ``tp_plan``s: which names a key may be, which words there are."""

from collections.abc import Iterable, Iterator

from hplint.ide.schema_values import Schema, ref
from hplint.model.tree import ModuleTree
from hplint.resolve.tp_plan.match import generic, names_of
from hplint.resolve.tp_plan.shipped import shipped_plan
from hplint.resolve.tp_plan.words import WORDS

SECTIONS = ("tp", "ep")
MOST_NAMES = 3_000
"""Generic names past which keys are no longer checked: no real model has as many."""


def style_definitions(tree: ModuleTree | None) -> dict[str, Schema]:
    """``tp_plan`` and ``ep_plan``, whose keys count from the whole model, and ``base_…`` for those that count from the
    base model. Keys are checked for models of the transformers library alone: others read such plans in no way."""
    found: dict[str, Schema] = {}
    for section in SECTIONS:
        found[f"{section}_word"] = _word(section)
        found[f"{section}_plan"] = _plan(section, list(_names(tree, section, "")))
        bases = [o.fqn for o in tree.owners if o.is_base] if tree else []
        names = (name for fqn in bases for name in _names(tree, section, generic(fqn)))
        found[f"base_{section}_plan"] = _plan(section, list(dict.fromkeys(names)))
    return found


def style_sections() -> Schema:
    """The keys of a file under which such plans stand."""
    plans = {f"{s}_plan": {"anyOf": [ref(f"{s}_plan"), {"enum": ["auto", None]}]} for s in SECTIONS}
    bases = {f"base_model_{s}_plan": {"anyOf": [ref(f"base_{s}_plan"), {"type": "null"}]} for s in SECTIONS}
    config = {"anyOf": [{"type": "object", "properties": dict(plans)}, {"type": "null"}]}
    return {**plans, **bases, "distributed_config": config}


def _word(section: str) -> Schema:
    words = {name: word for name, word in WORDS.items() if word.section == section}
    return {"enum": list(words), "enumDescriptions": [word.doc for word in words.values()]}


def _plan(section: str, names: Iterable[str]) -> Schema:
    keys = {name: ref(f"{section}_word") for name in names}
    known = 0 < len(keys) <= MOST_NAMES
    plan: Schema = {"type": "object", "description": f"module or parameter -> what {section} does to it"}
    return {**plan, "properties": keys, "additionalProperties": False if known else ref(f"{section}_word")}


def _names(tree: ModuleTree | None, section: str, root: str) -> Iterator[str]:
    """The names below a module as keys spell them; what the model ships is a key, whether it names anything or not."""
    if tree is None or not tree.owners:
        return
    prefix = f"{root}." if root else ""
    names = names_of(tree)
    for name in (*names.modules, *names.parameters, *shipped_plan(tree, section)):
        if name.startswith(prefix):
            yield name[len(prefix) :]
