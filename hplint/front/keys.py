"""The one table of plan keys: for parsing, near names, documentation and completion."""

from typing import NamedTuple

from hplint.plan.layout import CONTRACT_FIELDS

YAML = "yaml"
PYTHON = "python"


class Key(NamedTuple):
    """One key of an entry or a section.

    ``kind`` says what its value is: match, when, text, bool, target, wrapper, contract, inner_out_src, names or size.
    ``nullable`` keys may be null, which reads as not written. ``allowed`` finishes the sentence "it must be …".
    """

    name: str
    kind: str
    allowed: str
    doc: str
    nullable: bool = True
    dialects: tuple[str, ...] = (YAML, PYTHON)


_ONLY_YAML = (YAML,)
_ONLY_PYTHON = (PYTHON,)
_CONTRACT = "a mapping, `auto` or `none`"
_LAYOUTS = "{tensor: {axis: placement}}"

_ENTRY = (
    Key("match", "match", "a string (or a list of strings, with replace_module alone)",
        "module name or glob that the entry is about", False, _ONLY_YAML),
    Key("when", "when", "one of the words", "apply the entry only while this is active", True, _ONLY_YAML),
    Key("module_type", "text", "a string", "dotted class that replace_module expects", True, _ONLY_YAML),
    Key("exact_type", "bool", "true or false", "refuse subclasses of module_type", False, _ONLY_YAML),
    Key("replace_module", "target", "a mapping with `_target_`", "factory that replaces the module", True, _ONLY_YAML),
    Key("local_compute_fn", "target", "a mapping with `_target_`", "factory of the function that computes the region"),
    Key("inner_target", "text", "a string", "`self` or the child that inner_wrapper wraps"),
    Key("inner_wrapper", "wrapper", "a registry name or a mapping with `_target_`", "wrapper around inner_target"),
    Key("inner_out_src", "inner_out_src", "`first_input` or a mapping", "layout of what the wrapped child returns"),
    Key("region_dispatch", "bool", "true or false", "whether DTensors flow through the injected function"),
    Key("params", "contract", _CONTRACT, f"layouts of parameters, {_LAYOUTS}"),
    Key("in_src", "contract", _CONTRACT, f"layouts in which inputs arrive, {_LAYOUTS}"),
    Key("in_dst", "contract", _CONTRACT, f"layouts that the forward gets, {_LAYOUTS}"),
    Key("out_src", "contract", _CONTRACT, f"layouts that the forward returns, {_LAYOUTS} or {{axis: placement}}"),
    Key("out_dst", "contract", _CONTRACT, f"layouts handed on, {_LAYOUTS} or {{axis: placement}}"),
    Key("tp_divide_attrs", "names", "a list of strings", "int attributes to divide by tp"),
    Key("out_names", "names", "a list of strings", "names of the outputs in tuple order", True, _ONLY_PYTHON),
    Key("is_boundary", "bool", "True or False", "mark of the planner", True, _ONLY_PYTHON),
)  # fmt: skip

_ACCELERATOR = (
    Key("tp_size", "size", "a whole number of at least 1", "tensor-parallel size, 1 by default"),
    Key("cp_size", "size", "a whole number of at least 1", "context-parallel size, 1 by default"),
    Key("ep_size", "size", "a whole number of at least 1", "expert-parallel size, 1 by default"),
    Key("pp_size", "size", "a whole number of at least 1", "pipeline size, 1 by default"),
    Key("sequence_parallel", "bool", "true or false", "whether activations lie cut along the sequence over tp"),
    Key("loss_parallel", "bool", "true or false", "whether logits stay cut over tp for the loss"),
)

ENTRY_KEYS: dict[str, Key] = {k.name: k for k in _ENTRY}
ACCELERATOR_KEYS: dict[str, Key] = {k.name: k for k in _ACCELERATOR}

PYTHON_ORDER = (
    *CONTRACT_FIELDS, "out_names", "tp_divide_attrs", "is_boundary", "region_dispatch", "inner_target",
    "inner_wrapper", "inner_out_src", "local_compute_fn",
)  # fmt: skip
"""Parameters of ModuleShardingSpec, in positional order."""

PYTHON_ALLOWED = {
    "bool": "True or False", "target": "a Target(…) or a function",
    "wrapper": "a registry name, a Target(…) or a function",
}  # fmt: skip
"""Key kind -> what Python values of it must be, where that is spelled otherwise than in YAML."""

SENTINELS = ("auto", "none")
"""Strings that a contract field may be, in exactly this spelling (R39)."""
AXIS_WORDS = ("tp", "cp", "ep", "pp", "dp", "dp_replicate", "dp_shard", "dp_cp", "ep_shard")
"""Axes that every mesh knows: the topology's, which this layer may not import."""
FIRST_INPUT = "first_input"
TARGET = "_target_"
PLAN_OVERRIDES = "plan_overrides"
ACCELERATOR = "accelerator"


def entry_keys(dialect: str) -> tuple[str, ...]:
    """Names of the keys that an entry of this dialect may have."""
    return tuple(k.name for k in _ENTRY if dialect in k.dialects)
