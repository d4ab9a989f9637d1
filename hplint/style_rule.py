"""What a rule on plans of styles imports beside :mod:`hplint.rule`: rules on other plans must not pay for it."""

from hplint.lint.coverage_words import bytes_in_words, largest_gaps, odd_layers
from hplint.lint.misfits import Misfit, advise, said, write_misfits
from hplint.lint.word_fixes import drop_rule, own_word, word_place, write_words
from hplint.model.family_source import family_words
from hplint.plan.style import Application, MeshUse, Style, StyleEntry, WrapPolicy
from hplint.resolve.styles.between import activations_between, hidden_size, norms_behind
from hplint.resolve.styles.coverage import StyleCoverage, style_coverage
from hplint.resolve.styles.projections import (
    KEYS,
    PACKED,
    QUERIES,
    Group,
    config_of,
    groups_in,
    head_size,
    looks_linear,
)
from hplint.resolve.styles.resolved import ResolvedStyles
from hplint.resolve.torch.layouts import (
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
from hplint.resolve.torch.layouts import input_layout as style_input
from hplint.resolve.torch.layouts import output_layout as style_output
from hplint.resolve.torch.match import MODELS, Miss, children
from hplint.resolve.torch.match import miss as key_miss
from hplint.resolve.tp_plan.experts import Experts, experts_in, experts_of
from hplint.resolve.tp_plan.fit import ON_LINEAR, ROPE, unfit
from hplint.resolve.tp_plan.flow import (
    BY_POSITION,
    CUT_THEN_SUMMED,
    SUMMING,
    WHOLE_ALL_ALONG,
    Flow,
    Flows,
    flows_of,
    is_cut,
)
from hplint.resolve.tp_plan.latent import latent_pairs
from hplint.resolve.tp_plan.miss import KeyIndex, slips
from hplint.resolve.tp_plan.miss import KeyMiss as TpMiss
from hplint.resolve.tp_plan.parameter_fit import Unfit
from hplint.resolve.tp_plan.shipped import shipped_plan
from hplint.resolve.tp_plan.vllm import VLLM_WORDS, Reading, read_as_vllm
from hplint.resolve.tp_plan.words import REMOVED, WORDS, cut_dim
from hplint.rule import Rule


def on_styles(code: str, name: str, severity: str = "error", dialect: str = "styles", *others: str) -> Rule:
    """A rule that looks at every plan of styles of a dialect (``torch``, ``tp_plan``; ``styles``: both), and words the
    faults ``others``."""
    return Rule(code, name, severity, frozenset((dialect, *others)))


__all__ = [
    "BY_POSITION",
    "COLWISE",
    "CUT_THEN_SUMMED",
    "KEYS",
    "KNOWN",
    "MODELS",
    "ON_LINEAR",
    "PACKED",
    "PREPARING",
    "QUERIES",
    "REMOVED",
    "ROPE",
    "ROWWISE",
    "SEQUENCE",
    "SUMMING",
    "VLLM_WORDS",
    "WHOLE_ALL_ALONG",
    "WORDS",
    "Application",
    "Experts",
    "Flow",
    "Flows",
    "Group",
    "KeyIndex",
    "MeshUse",
    "Misfit",
    "Miss",
    "Reading",
    "ResolvedStyles",
    "Style",
    "StyleCoverage",
    "StyleEntry",
    "TpMiss",
    "Unfit",
    "WrapPolicy",
    "activations_between",
    "advise",
    "bytes_in_words",
    "children",
    "config_of",
    "cut_dim",
    "cut_dims",
    "drop_rule",
    "experts_in",
    "experts_of",
    "family_words",
    "flows_of",
    "groups_in",
    "head_size",
    "hidden_size",
    "is_cut",
    "is_embedding",
    "is_known",
    "is_linear",
    "is_local",
    "key_miss",
    "largest_gaps",
    "latent_pairs",
    "looks_linear",
    "norms_behind",
    "odd_layers",
    "on_styles",
    "own_word",
    "read_as_vllm",
    "said",
    "shipped_plan",
    "slips",
    "style_coverage",
    "style_input",
    "style_output",
    "ties_again",
    "unfit",
    "word_place",
    "write_misfits",
    "write_words",
]
