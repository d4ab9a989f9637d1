"""HPL713 tp-plan-unknown-word: words of a tp_plan that the library does not know, or knows for another plan (K4)."""

import re
from collections.abc import Iterator

from hplint.rule import Case, Finding, listing, near, one_near, quote, rename_to_one
from hplint.style_rule import REMOVED, WORDS, Style, StyleEntry, on_styles

RULE = on_styles("HPL713", "tp-plan-unknown-word", "error", "tp_plan")

CLASSES = {
    "ColwiseParallel": "colwise",
    "RowwiseParallel": "rowwise",
    "SequenceParallel": "sequence_parallel",
    "EmbeddingParallel": "embedding_rowwise",
    "PackedColwiseParallel": "packed_colwise",
    "PackedRowwiseParallel": "packed_rowwise",
    "AllReduceParallel": "all_reduce",
    "MoeExpertsParallel": "moe_tp_experts",
    "ReplicateParallel": "replicate",
    "Replicate": "replicate",
}
"""Classes behind words, and classes of torch that say the same."""
SYNONYMS = {
    "column": "colwise", "columnwise": "colwise", "columnparallel": "colwise", "col": "colwise",
    "colparallel": "colwise", "colwiseparallel": "colwise",
    "row": "rowwise", "rowparallel": "rowwise", "rowwiseparallel": "rowwise",
    "replicated": "replicate", "none": "replicate", "sequence": "sequence_parallel",
}  # fmt: skip
"""What other tools call the same, without case, hyphens and underscores."""
_REFUSED_IN_EP = ("moe_tp_experts", "ep_router")


def check(case: Case) -> Iterator[Finding]:
    carrier = case.plan.carrier
    section = carrier.section if carrier else "tp"
    if section == "pp":
        return
    for entry in case.plan.styles:
        if entry.style is None:
            continue
        if entry.style.kind not in WORDS:
            if not _is_registered(case, entry.style):
                yield _unknown(entry, entry.style, section)
        elif finding := _known(entry, entry.style, section):
            yield finding


def _is_registered(case: Case, style: Style) -> bool:
    """Whether the file itself gives the word a meaning."""
    name = re.escape(style.name)
    return re.search(rf"register\w*\(\s*['\"]{name}['\"]", case.plan.source.text) is not None


def _unknown(entry: StyleEntry, style: Style, section: str) -> Finding:
    word = style.name
    stops = f"the library stops with ValueError (Unsupported `{section}_plan` styles) before any weight is loaded"
    meant = _meant(word, section)
    if word == "auto":
        message = f"`auto` is no word for a module; {stops}"
        advice = f'`{section}_plan="auto"` alone, in place of the mapping, takes the plan that the model ships'
    elif word in REMOVED:
        message = f"{quote(word)} was a word of former versions and is gone; {stops}"
        advice = f"today it is {quote(REMOVED[word])}"
        if not meant:
            advice += ", in an ep_plan; leave the rule out"
    elif meant:
        message = f"{quote(word)} is no word of {section}_plans; {stops}"
        advice = f"did you mean {listing(meant, 'or')}?"
    else:
        message = f"{quote(word)} is no word of {section}_plans; {stops}"
        advice = f"the words are {listing(_allowed(section), most=99)}"
    return _finding(entry, style, message, advice, meant)


def _meant(word: str, section: str) -> list[str]:
    allowed = _allowed(section)
    bare = word.partition("(")[0].strip().rpartition(".")[2]
    folded = re.sub(r"[-_ ]", "", bare).lower()
    sure = CLASSES.get(bare) or SYNONYMS.get(folded) or REMOVED.get(word)
    same = next((name for name in allowed if name.replace("_", "") == folded), None)
    if found := same or sure:
        return [found] if found in allowed else []
    if clear := one_near(word, allowed):
        return [clear]
    return near(word, allowed)


def _allowed(section: str) -> list[str]:
    """The words that belong in a plan, without old names."""
    tp = section == "tp"
    return [name for name, word in WORDS.items() if word.now is None and (word.section == "tp") == tp]


def _known(entry: StyleEntry, style: Style, section: str) -> Finding | None:
    word, name = WORDS[style.kind], style.name
    if section == "ep" and name in _REFUSED_IN_EP:
        return _finding(
            entry, style,
            f"{quote(name)} belongs in the tp_plan; in an ep_plan the library stops with ValueError before any weight "
            "is loaded",
            "experts are spread by `ep_dispatch_experts`, their weights by `grouped_gemm`",
            [],
        )  # fmt: skip
    if section == "tp" and word.section == "ep":
        what = (
            "in a tp_plan the library stops with TypeError, as tp gives it no group of experts"
            if name == "ep_dispatch_experts"
            else "in a tp_plan it cuts experts over tp, and nothing brings them the tokens of other ranks"
        )
        return _finding(
            entry, style,
            f"{quote(name)} belongs in the ep_plan; {what}",
            "write `moe_tp_experts` for the experts and `packed_colwise`, `rowwise` for their weights, or move the "
            "rule to the ep_plan",
            [],
        )  # fmt: skip
    if word.now:
        finding = _finding(
            entry, style, f"{quote(name)} is the old name of {quote(word.now)}; both do the same today",
            f"write {quote(word.now)}", [word.now],
        )  # fmt: skip
        finding.severity = "info"
        return finding
    return None


def _finding(entry: StyleEntry, style: Style, message: str, advice: str, meant: list[str]) -> Finding:
    fixes = () if entry.shipped else rename_to_one([style.span], style.name, meant, sure=True)
    severity = "warning" if entry.conditional else None
    return Finding(style.span, message, advice, entry, fixes=fixes, severity=severity)
