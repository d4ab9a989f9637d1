"""HPL710 tp-plan-embedding-word: an embedding under a word that is made for linear layers, or one that does more than
look up under a word that sums what it gives (P6)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, listing, quote
from hplint.style_rule import Flows, StyleEntry, flows_of, is_embedding, on_styles, word_place, write_words

RULE = on_styles("HPL710", "tp-plan-embedding-word", "error", "tp_plan")

REFUSED = {
    "colwise": "out_features", "colwise_gather_output": "out_features", "colwise_rep": "out_features",
    "rowwise": "in_features", "rowwise_split_input": "in_features", "rowwise_rep": "in_features",
}  # fmt: skip
"""Words that the library refuses, and the attribute that it looks for."""
SILENT = {
    "packed_colwise": "cuts the vocabulary in strides and sums nothing: the lookups are wrong without an error",
    "packed_rowwise": "cuts the vectors and gathers nothing: the first forward fails",
    "all_reduce": "sums vectors that every rank has whole: they come out multiplied by the size of tp",
    "moe_tp_experts": "sums vectors that every rank has whole: they come out multiplied by the size of tp",
    "moe_identity_expert": "divides the token ids by the size of tp: the lookup fails",
}
"""Words that it lets pass, and what they do."""
ROWS = "embedding_rowwise"
ADVICE = f"write {quote(ROWS)} (vocabulary cut) or `embedding_colwise` (hidden dim cut)"


def check(case: Case) -> Iterator[Finding]:
    flows = flows_of(case.plan, case.tree, case.styles)
    if flows is None:
        return
    for entry in case.plan.styles:
        word = entry.style.kind if entry.style else ""
        if word == ROWS:
            yield from _summed_too_late(flows, entry)
        if entry.style is None or word not in (*REFUSED, *SILENT):
            continue
        for fqn in flows.styles.hits.get(entry.index, ()):
            owner = fqn if fqn in flows.tree.modules else fqn.rpartition(".")[0]
            if flows.styles.winners.get(fqn) is not entry or not is_embedding(flows.tree.modules[owner]):
                continue
            if fqn != owner:
                continue
            what = SILENT.get(word) or (
                f"is for linear layers: the library looks for {quote(REFUSED[word])}, finds none and raises"
            )
            yield Finding(
                word_place(flows.plan, entry),
                f"{quote(fqn.rpartition('.')[2])} is an embedding, and {quote(word)} {what}",
                ADVICE,
                entry,
                fqn,
                fixes=write_words(flows.plan, [(entry, ROWS)]),
                severity="warning" if entry.conditional else None,
            )


def _summed_too_late(flows: Flows, entry: StyleEntry) -> Iterator[Finding]:
    """Embeddings that norm or add to what they look up: the ranks' lookups are summed after that."""
    for fqn in flows.styles.hits.get(entry.index, ()):
        module = flows.tree.modules.get(fqn)
        if module is None or flows.styles.winners.get(fqn) is not entry or not is_embedding(module):
            continue
        more = [*(name for name, _ in module.node.children), *(n for n in module.parameters if n != "weight")]
        if more:
            yield Finding(
                word_place(flows.plan, entry),
                f"{quote(fqn.rpartition('.')[2])} does more than look up: it has {listing(more)}, which would work on "
                "the rank's own lookups before they are summed; the first forward fails",
                f"write `replicate` for {quote(fqn.rpartition('.')[2])}",
                entry,
                fqn,
                fixes=write_words(flows.plan, [(entry, "replicate")]),
                severity="warning" if entry.conditional else None,
            )
