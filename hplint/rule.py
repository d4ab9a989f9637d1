"""The rule API: the one module that a rule imports.

A rule is a module with a ``RULE`` and a ``check(case)`` that yields findings; its page (same stem, ``.md``) documents
and tests it. ``listens`` says when it must run: names of faults (usually its own), or ``"plan"`` for a rule that looks
at every plan of entries by itself, ``"injection"`` for one that does so where an entry injects or replaces something,
``"torch"``, ``"tp_plan"`` or ``"styles"`` (both) for one that looks at plans of styles.
"""

from dataclasses import dataclass

from hplint.derive.boundary import Boundary
from hplint.lint.case import Case
from hplint.lint.diagnostic import Finding, Related
from hplint.lint.fitting import fitting_recipe, fitting_wrapper
from hplint.lint.injections import Injection, injections, replacements, wrapper_names
from hplint.lint.inputs import unknown_inputs
from hplint.lint.narrow import narrow_injection
from hplint.lint.proposal import (
    AddEntries,
    AddItem,
    Change,
    ChangeComment,
    Draft,
    Proposal,
    Remove,
    RemoveEntry,
    Rename,
    Rewrite,
    SetArgument,
    SetField,
    SetStyle,
)
from hplint.lint.relayout import (
    WHOLE,
    add_entries,
    add_params,
    fitting_outputs,
    narrowed,
    on_condition,
    patterns_of,
    plain_layout,
    plain_params,
)
from hplint.lint.remedies import (
    remove_axis,
    remove_entry,
    remove_fields,
    remove_injection,
    remove_item,
    rename,
    rename_in_comment,
    rename_to_near,
    rename_to_one,
    rewrite,
    set_field,
)
from hplint.model.tree import Module, ModuleTree, Tensor
from hplint.plan.entry import SHARDING_FIELDS, UNKNOWN, ContractField, Entry, InnerOutSrc, Keyword, Target, Text
from hplint.plan.fault import Fault
from hplint.plan.layout import CONTRACT_FIELDS, INPUT_FIELDS, OUTPUT, OUTPUT_FIELDS, Layout, Layouts
from hplint.plan.placement import PARTIAL, REPLICATE, Placement, shard
from hplint.plan.placement import parse as parse_placement
from hplint.plan.plain import plain_fields
from hplint.plan.written import Written
from hplint.resolve.biases import BiasedWeight, biased_weights
from hplint.resolve.coverage import Coverage, Declared
from hplint.resolve.experts import is_dense
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.topology import CANONICAL_AXES, FSDP_AXES, WHEN_WORDS, Topology
from hplint.text.near import is_slip, near, one_near
from hplint.text.span import START, Span
from hplint.text.wording import listing, plural, quote


@dataclass(frozen=True, slots=True)
class Rule:
    """Code and name are final once published. ``severity`` is error, warning or info. ``listens``: see above."""

    code: str
    name: str
    severity: str
    listens: frozenset[str]


def on_fault(code: str, name: str, severity: str = "error", *others: str) -> Rule:
    """A rule that words the faults of its own name (and of ``others``)."""
    return Rule(code, name, severity, frozenset((name, *others)))


def on_plan(code: str, name: str, severity: str = "error") -> Rule:
    """A rule that looks at every plan by itself."""
    return Rule(code, name, severity, frozenset(("plan",)))


def on_injection(code: str, name: str, severity: str = "error", *others: str) -> Rule:
    """A rule that looks at every plan whose entries inject or replace something (and words the faults ``others``)."""
    return Rule(code, name, severity, frozenset(("injection", *others)))


__all__ = [
    "CANONICAL_AXES",
    "CONTRACT_FIELDS",
    "FSDP_AXES",
    "INPUT_FIELDS",
    "OUTPUT",
    "OUTPUT_FIELDS",
    "PARTIAL",
    "REPLICATE",
    "SHARDING_FIELDS",
    "START",
    "UNKNOWN",
    "WHEN_WORDS",
    "WHOLE",
    "AddEntries",
    "AddItem",
    "BiasedWeight",
    "Boundary",
    "Case",
    "Change",
    "ChangeComment",
    "ContractField",
    "Coverage",
    "Declared",
    "Draft",
    "Entry",
    "Fault",
    "Finding",
    "Injection",
    "InnerOutSrc",
    "Keyword",
    "Layout",
    "Layouts",
    "Module",
    "ModuleTree",
    "Placement",
    "Proposal",
    "Related",
    "Remove",
    "RemoveEntry",
    "Rename",
    "ResolvedPlan",
    "Rewrite",
    "Rule",
    "SetArgument",
    "SetField",
    "SetStyle",
    "Span",
    "Target",
    "Tensor",
    "Text",
    "Topology",
    "Written",
    "add_entries",
    "add_params",
    "biased_weights",
    "fitting_outputs",
    "fitting_recipe",
    "fitting_wrapper",
    "injections",
    "is_dense",
    "is_slip",
    "listing",
    "narrow_injection",
    "narrowed",
    "near",
    "on_condition",
    "on_fault",
    "on_injection",
    "on_plan",
    "one_near",
    "parse_placement",
    "patterns_of",
    "plain_fields",
    "plain_layout",
    "plain_params",
    "plural",
    "quote",
    "remove_axis",
    "remove_entry",
    "remove_fields",
    "remove_injection",
    "remove_item",
    "rename",
    "rename_in_comment",
    "rename_to_near",
    "rename_to_one",
    "replacements",
    "rewrite",
    "set_field",
    "shard",
    "unknown_inputs",
    "wrapper_names",
]  # fmt: skip
