"""HPL710 tp-plan-embedding-word: an embedding under a word that is made for linear layers (P6)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, flows_of, is_embedding, on_styles, quote, word_place, write_words

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
