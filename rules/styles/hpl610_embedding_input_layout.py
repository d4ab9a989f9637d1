"""HPL610 embedding-input-layout: a rowwise embedding whose token ids are declared as cut (P6)."""

from collections.abc import Iterator

from hplint.rule import REPLICATE, Case, Finding, Proposal, SetArgument, quote
from hplint.style_rule import ROWWISE, is_embedding, on_styles, style_input

RULE = on_styles("HPL610", "embedding-input-layout", "error", "torch")

NAMES = ("embed_tokens", "tok_embeddings", "wte", "word_embeddings", "token_embedding", "tok_embedding")


def check(case: Case) -> Iterator[Finding]:
    for entry in case.plan.styles:
        style = entry.style
        if style is None or style.kind != ROWWISE or style.base or entry.key is None:
            continue
        layout = style_input(style)
        if layout is None or not layout.is_shard or layout.dim not in (-1, 1):
            continue
        hits = case.styles.hits.get(entry.index, ()) if case.styles else ()
        if case.tree is not None:
            if not any(is_embedding(case.tree.modules[fqn]) for fqn in hits if fqn in case.tree.modules):
                continue
        elif entry.key.value.rpartition(".")[2] not in NAMES:
            continue
        given = style.arguments.get("input_layouts")
        yield Finding(
            given.span if given else style.span,
            f"the token ids are taken as cut along their last dim ({quote(str(layout))}), but each rank has all of "
            "them: the sequence comes out once for every rank, without an error",
            "write `input_layouts=Replicate()`",
            entry,
            fixes=(Proposal("give it `input_layouts=Replicate()`", (SetArgument(entry, "input_layouts", REPLICATE),)),),
            field="input_layouts",
        )
