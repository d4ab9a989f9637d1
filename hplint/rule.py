"""The rule API: the one module that a rule imports.

A rule is a module with a ``RULE`` and a ``check(case)`` that yields findings; its page (same stem, ``.md``) documents
and tests it. ``listens`` says when it must run: names of faults (usually its own), or ``"plan"`` for a rule that looks
at every plan of entries by itself, ``"injection"`` for one that does so where an entry injects or replaces something,
``"torch"``, ``"tp_plan"`` or ``"styles"`` (both) for one that looks at plans of styles.
"""

from dataclasses import dataclass

from hplint.derive.boundary import Boundary
from hplint.lint.case import Case
from hplint.lint.coverage_words import bytes_in_words, largest_gaps, odd_layers
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
from hplint.lint.word_fixes import drop_rule, own_word, word_place, write_words
from hplint.model.family_source import family_words
from hplint.model.tree import Module, ModuleTree, Tensor
from hplint.plan.entry import SHARDING_FIELDS, UNKNOWN, ContractField, Entry, InnerOutSrc, Keyword, Target, Text
from hplint.plan.fault import Fault
from hplint.plan.layout import CONTRACT_FIELDS, INPUT_FIELDS, OUTPUT, OUTPUT_FIELDS, Layout, Layouts
from hplint.plan.placement import PARTIAL, REPLICATE, Placement, shard
from hplint.plan.placement import parse as parse_placement
from hplint.plan.plain import plain_fields
from hplint.plan.style import Application, MeshUse, Style, StyleEntry, WrapPolicy
from hplint.plan.written import Written
from hplint.resolve.biases import BiasedWeight, biased_weights
from hplint.resolve.coverage import Coverage, Declared
from hplint.resolve.experts import is_dense
from hplint.resolve.projections import KEYS, PACKED, QUERIES, Group, config_of, groups_in, head_size, looks_linear
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.shipped_plan import shipped_plan
from hplint.resolve.style_coverage import StyleCoverage, style_coverage
from hplint.resolve.styles import ResolvedStyles
from hplint.resolve.topology import CANONICAL_AXES, FSDP_AXES, WHEN_WORDS, Topology
from hplint.resolve.torch_layouts import (
    COLWISE,
    KNOWN,
    PREPARING,
    ROWWISE,
    SEQUENCE,
    cut_dims,
    is_embedding,
    is_known,
    is_linear,
    is_local,
    ties_again,
)
from hplint.resolve.torch_layouts import input_layout as style_input
from hplint.resolve.torch_layouts import output_layout as style_output
from hplint.resolve.torch_match import MODELS, Miss, children
from hplint.resolve.torch_match import miss as key_miss
from hplint.resolve.tp_plan_experts import Experts, experts_in, experts_of
from hplint.resolve.tp_plan_flow import (
    BY_POSITION,
    CUT_THEN_SUMMED,
    SUMMING,
    WHOLE_ALL_ALONG,
    Flow,
    Flows,
    flows_of,
    is_cut,
)
from hplint.resolve.tp_plan_miss import KeyIndex, slips
from hplint.resolve.tp_plan_miss import KeyMiss as TpMiss
from hplint.resolve.tp_plan_words import REMOVED, WORDS, cut_dim
from hplint.resolve.vllm_match import VLLM_WORDS, Reading, read_as_vllm
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


def on_styles(code: str, name: str, severity: str = "error", dialect: str = "styles", *others: str) -> Rule:
    """A rule that looks at every plan of styles of a dialect (``torch``, ``tp_plan``; ``styles``: both), and words the
    faults ``others``."""
    return Rule(code, name, severity, frozenset((dialect, *others)))


__all__ = [
    "BY_POSITION",
    "CANONICAL_AXES",
    "COLWISE",
    "CONTRACT_FIELDS",
    "CUT_THEN_SUMMED",
    "FSDP_AXES",
    "INPUT_FIELDS",
    "KEYS",
    "KNOWN",
    "MODELS",
    "OUTPUT",
    "OUTPUT_FIELDS",
    "PACKED",
    "PARTIAL",
    "PREPARING",
    "QUERIES",
    "REMOVED",
    "REPLICATE",
    "ROWWISE",
    "SEQUENCE",
    "SHARDING_FIELDS",
    "START",
    "SUMMING",
    "UNKNOWN",
    "VLLM_WORDS",
    "WHEN_WORDS",
    "WHOLE",
    "WHOLE_ALL_ALONG",
    "WORDS",
    "AddEntries",
    "AddItem",
    "Application",
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
    "Experts",
    "Fault",
    "Finding",
    "Flow",
    "Flows",
    "Group",
    "Injection",
    "InnerOutSrc",
    "KeyIndex",
    "Keyword",
    "Layout",
    "Layouts",
    "MeshUse",
    "Miss",
    "Module",
    "ModuleTree",
    "Placement",
    "Proposal",
    "Reading",
    "Related",
    "Remove",
    "RemoveEntry",
    "Rename",
    "ResolvedPlan",
    "ResolvedStyles",
    "Rewrite",
    "Rule",
    "SetArgument",
    "SetField",
    "SetStyle",
    "Span",
    "Style",
    "StyleCoverage",
    "StyleEntry",
    "Target",
    "Tensor",
    "Text",
    "Topology",
    "TpMiss",
    "WrapPolicy",
    "Written",
    "add_entries",
    "add_params",
    "biased_weights",
    "bytes_in_words",
    "children",
    "config_of",
    "cut_dim",
    "cut_dims",
    "drop_rule",
    "experts_in",
    "experts_of",
    "family_words",
    "fitting_outputs",
    "fitting_recipe",
    "fitting_wrapper",
    "flows_of",
    "groups_in",
    "head_size",
    "injections",
    "is_cut",
    "is_dense",
    "is_embedding",
    "is_known",
    "is_linear",
    "is_local",
    "is_slip",
    "key_miss",
    "largest_gaps",
    "listing",
    "looks_linear",
    "narrow_injection",
    "narrowed",
    "near",
    "odd_layers",
    "on_condition",
    "on_fault",
    "on_injection",
    "on_plan",
    "on_styles",
    "one_near",
    "own_word",
    "parse_placement",
    "patterns_of",
    "plain_fields",
    "plain_layout",
    "plain_params",
    "plural",
    "quote",
    "read_as_vllm",
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
    "shipped_plan",
    "slips",
    "style_coverage",
    "style_input",
    "style_output",
    "ties_again",
    "unknown_inputs",
    "word_place",
    "wrapper_names",
    "write_words",
]  # fmt: skip
