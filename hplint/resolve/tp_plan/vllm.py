"""How vLLM reads a ``tp_plan`` where it runs a model by the transformers library.

It takes each key for a regular expression that has to match the beginning of a module's name, in the order of the plan;
the first one that does counts. Only nn.Linear modules of the base model are looked at, and a word that vLLM does not
know leaves them whole without a word. What it fuses (gate and up, queries, keys and values) it cuts by itself, whatever
the plan says. Source: vLLM 0.33, ``model_executor/models/transformers/base.py`` and ``utils.py``.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan
from hplint.plan.style import StyleEntry
from hplint.resolve.styles.resolved import ResolvedStyles
from hplint.resolve.torch.layouts import is_linear
from hplint.resolve.tp_plan.match import generic
from hplint.resolve.tp_plan.shipped import shipped_plan
from hplint.resolve.tp_plan.words import WORDS

VLLM_WORDS = frozenset(("colwise", "rowwise", "replicate", "colwise_gather_output", "rowwise_split_input"))
"""What vLLM knows."""
WHOLE = "replicate"


class Reading(NamedTuple):
    """One linear layer: the rule and the word that vLLM gives it, and those that the transformers library gives it.
    Words are today's names; ``replicate`` stands for all that leave a layer whole."""

    fqn: str
    theirs: StyleEntry | None
    their_word: str
    ours: StyleEntry | None
    our_word: str


class Read(NamedTuple):
    """What vLLM makes of a plan. ``broken`` are keys that are no regular expressions, with the reason."""

    layers: tuple[Reading, ...]
    broken: tuple[tuple[StyleEntry, str], ...]


def read_as_vllm(plan: Plan, tree: ModuleTree, styles: ResolvedStyles) -> Read:
    """Both readings of each linear layer of the base model."""
    base = next((o.fqn for o in tree.owners if o.is_base), "")
    rules: list[tuple[re.Pattern[str], StyleEntry]] = []
    broken: list[tuple[StyleEntry, str]] = []
    for key, entry in _in_order(plan, tree, styles, base):
        try:
            rules.append((re.compile(key), entry))
        except re.error as error:
            broken.append((entry, str(error)))
    prefix = f"{base}." if base else ""
    linears = [m.fqn for m in tree.modules.values() if is_linear(m) and m.fqn.startswith(prefix)]
    layers = [_reading(fqn, fqn[len(prefix) :], rules, styles) for fqn in linears]
    return Read(tuple(layers), tuple(broken))


def _reading(fqn: str, name: str, rules: list[tuple[re.Pattern[str], StyleEntry]], styles: ResolvedStyles) -> Reading:
    theirs = next((entry for key, entry in rules if key.match(name)), None)
    word = theirs.style.kind if theirs and theirs.style else WHOLE
    ours = styles.winners.get(fqn)
    return Reading(fqn, theirs, word if word in VLLM_WORDS else WHOLE, ours, _today(ours))


def _today(entry: StyleEntry | None) -> str:
    known = WORDS.get(entry.style.kind) if entry and entry.style else None
    if known is None or not known.cuts or entry is None or entry.style is None:
        return WHOLE
    return known.now or entry.style.kind


def _in_order(plan: Plan, tree: ModuleTree, styles: ResolvedStyles, base: str) -> Iterator[tuple[str, StyleEntry]]:
    """The rules of the base model, keys counted from there, as the merged dict has them: a rule that the plan writes
    anew keeps the place of the shipped one."""
    section = plan.carrier.section if plan.carrier else "tp"
    prefix = f"{generic(base)}." if base else ""
    found: dict[str, StyleEntry] = {}
    for entry in (*styles.beside, *plan.styles):
        roots = styles.roots.get(entry.index, ("",))[:1]
        for root in roots if entry.key else ():
            key = entry.key.value if entry.key else ""
            found[f"{generic(root)}.{key}" if root else key] = entry
    if plan.carrier and plan.carrier.kind == "config":
        order = list(found)[len(styles.beside) :] + list(found)[: len(styles.beside)]
    else:
        order = [k for k in shipped_plan(tree, section) if k in found]
        order += [k for k in found if k not in order]
    for key in order:
        if key.startswith(prefix):
            yield key[len(prefix) :], found[key]
