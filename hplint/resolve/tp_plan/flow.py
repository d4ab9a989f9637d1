"""What a ``tp_plan`` makes of the tensors between modules: how each module wants its input and hands on its output.

Tensors are whole on every rank, or each rank has its slice of the last dim. Source: transformers 5.24,
``distributed/tensor_parallel.py``.
"""

from collections.abc import Iterator
from typing import NamedTuple

from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan
from hplint.plan.style import TP_PLAN, StyleEntry
from hplint.resolve.styles.projections import looks_linear
from hplint.resolve.styles.resolved import ResolvedStyles
from hplint.resolve.tp_plan.words import SLICE, WHOLE, WORDS, cut_dim
from hplint.text.near import one_near

CUT_THEN_SUMMED, WHOLE_ALL_ALONG = ("colwise", "rowwise"), ("colwise_gather_output", "rowwise_split_input")
"""The words of a pair: with a slice between the two layers, and with whole tensors."""
SUMMING = frozenset(("rowwise", "rowwise_split_input", "rowwise_rep"))
"""Words whose output has been summed over the ranks."""
BY_POSITION = frozenset(
    word for word, w in WORDS.items() if w.takes is not None or word in ("sequence_parallel", "moe_identity_expert")
) - {"mla_kv_a_proj"}  # fmt: skip
"""Words whose hook takes the first argument that is given by position."""


class Flow(NamedTuple):
    """``takes`` is how a module wants its input, ``gives`` how it hands its output on (whole, slice); ``entry`` is the
    rule that says so, None without one."""

    takes: str = WHOLE
    gives: str = WHOLE
    entry: StyleEntry | None = None

    @property
    def word(self) -> str | None:
        """The word of the rule."""
        return self.entry.style.kind if self.entry and self.entry.style else None


class Flows:
    """The flows of one plan over one model."""

    def __init__(self, plan: Plan, tree: ModuleTree, styles: ResolvedStyles) -> None:
        self.plan, self.tree, self.styles = plan, tree, styles
        self._written = {id(e) for e in plan.styles}
        self._elsewhere = {fqn for e in plan.other_styles for fqn in styles.hits.get(e.index, ())}
        self._unread = any(e.key is None or e.style is None for e in plan.styles)
        self._lost = {e.key.value.rpartition(".")[2] for e in styles.unmatched if e.key and not e.shipped}

    def of(self, fqn: str) -> Flow | None:
        """How a module takes and gives; None where that cannot be told."""
        entry = self.styles.winners.get(fqn)
        names = self.tree.modules[fqn].parameters if fqn in self.tree.modules else {}
        if any(f"{fqn}.{name}" in self.styles.winners for name in names) or fqn in self._elsewhere:
            return None
        if entry is None:
            return Flow()
        word = WORDS.get(entry.style.kind) if entry.style else None
        if word is None or (word.cuts and word.takes is None):
            return None
        return Flow(word.takes or WHOLE, word.gives or WHOLE, entry)

    def cut(self, parameter: str) -> int | None:
        """The dim along which a parameter is cut; None where it stays whole."""
        owner, _, name = parameter.rpartition(".")
        entry = self.styles.winners.get(parameter) or self.styles.winners.get(owner)
        if entry is None or entry.style is None:
            return None
        return cut_dim(entry.style.kind, name, len(self.tree.parameters[parameter].shape))

    def own(self, *entries: StyleEntry | None) -> StyleEntry | None:
        """The first of the entries that the plan itself has: where a finding may stand."""
        return next((e for e in entries if e is not None and id(e) in self._written), None)

    def parents(self) -> Iterator[str]:
        """The modules below which something has a rule, each once."""
        yield from dict.fromkeys(fqn.rpartition(".")[0] for fqn in self.styles.winners if fqn in self.tree.modules)

    def heads(self) -> list[str]:
        """Linear layers that a model ends in; without knowledge of models those by the usual name."""
        tree, found = self.tree, []
        models = [o.fqn for o in tree.owners if not o.is_base and "For" in o.classes[0]]
        for model in models if tree.owners else [""]:
            for name, _ in tree.modules[model].node.children:
                fqn = f"{model}.{name}" if model else name
                if looks_linear(tree.modules[fqn]) and (tree.owners or name == "lm_head"):
                    found.append(fqn)
        return found

    def is_called_by_keyword(self, fqn: str) -> bool:
        """Whether a module of the library gets no argument by position: attention of decoder layers, base models."""
        module = self.tree.modules[fqn]
        if module.cls is None or not module.cls.name.startswith("transformers.models."):
            return False
        return fqn.endswith("self_attn") or any(o.fqn == fqn and o.is_base for o in self.tree.owners if fqn)

    def may_be_meant(self, fqn: str) -> bool:
        """Whether a key that is misspelt or cannot be read may mean a module that has no rule."""
        name = fqn.rpartition(".")[2]
        return self._unread or name in self._lost or bool(one_near(name, self._lost))


def flows_of(plan: Plan, tree: ModuleTree | None, styles: ResolvedStyles | None) -> Flows | None:
    """The flows of a tp plan; None for other sections and dialects, and without a model."""
    if tree is None or styles is None or plan.dialect != TP_PLAN or (plan.carrier and plan.carrier.section != "tp"):
        return None
    return Flows(plan, tree, styles)


def is_cut(flow: Flow | None) -> bool:
    """Whether a module hands on its slice."""
    return flow is not None and flow.gives == SLICE
