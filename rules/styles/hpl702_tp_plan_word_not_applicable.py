"""HPL702 tp-plan-word-not-applicable: words on modules and parameters that they cannot cut (K4)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, listing, quote
from hplint.style_rule import ON_LINEAR, ROPE, WORDS, StyleEntry, Unfit, on_styles, unfit

RULE = on_styles("HPL702", "tp-plan-word-not-applicable", "error", "tp_plan")

DISPATCH = "ep_dispatch_experts"
_SIZELESS = "{word} on a {kind}, which has no {needs}: the library stops with ValueError"
_HOLDS = "name what it holds: {some}"
_WEIGHTLESS = "{word} on a {kind}, which has no weight of its own: nothing is cut"
_STOPS = (
    "{word} cuts this parameter of a {kind}, whose forward gets a DTensor beside plain tensors and stops; {beside} that"
)
_EXPERTS = "name the fused weights of the experts, such as `experts.gate_up_proj`"
WARNINGS = frozenset(("turned", "embedding", "sequence", "never-called", "mixed", "weightless", "parameter"))
"""Reasons under which the library may yet go on."""
WORDING = {
    "adapter": (_SIZELESS, "an adapter wraps the layer: its base layer and its own weights are cut by rules of theirs"),
    "holder": (_SIZELESS, _HOLDS),
    "no-size": (
        _SIZELESS,
        "name its parameters by rules of their own, or leave it whole: `replicated_with_grad_allreduce` or no rule "
        "leaves it whole",
    ),
    "turned": (
        "{word} cuts dim {dim} of a weight of {shape}, but the {size} {features} of this {kind} lie along dim "
        "{other_dim}: other features are cut than the forward expects",
        "leave the layer whole, or load the model without this kind of quantisation",
    ),
    "bias": (
        "{word} cuts dim 1, which the bias of a {kind} has not: the library stops with IndexError",
        "a linear layer takes {linear}",
    ),
    "embedding": (
        "{word} is meant for embeddings, and this is a {kind}: it comes to {linear}, by a slower way",
        "write {linear}",
    ),
    "sequence": (
        "{word} on a {kind}: it is meant for norms; the weight stays whole, and where every rank has the whole "
        "sequence its gradient is summed over again",
        "cut the layer by a word for its features, or leave it out of the plan",
    ),
    "packed": (
        "{word} cuts the weight of a {kind} and leaves its forward alone: it stops as soon as the plain input meets "
        "the cut weight",
        "name the fused weight of an experts module, or write `rowwise`",
    ),
    "never-called": ("{word} on a {kind}, whose forward never runs: the rule does nothing", _HOLDS),
    "mixed": (
        _WEIGHTLESS + ", and its layers get a DTensor beside plain weights, which torch refuses",
        _HOLDS,
    ),
    "weightless": (_WEIGHTLESS, _HOLDS),
    "no-experts": (
        "{word} cuts experts, and this {kind} has no weight with a dim for them: its first features are cut, and the "
        "forward stops",
        _EXPERTS,
    ),
    "experts": (
        "{word} on the experts' module cuts their weights and leaves the forward alone: it stops as soon as a plain "
        "input meets a cut weight",
        "give the module `ep_dispatch_experts`, and {word} to {names}",
    ),
    "no-rope": (
        f"{{word}} splits the output by {quote(ROPE)}, which the config has not: the first forward stops with "
        "AttributeError",
        "it is a word for projections of latent attention; leave the layer out of the plan",
    ),
    "one-dim": (
        "{word} cuts dim 1, which a parameter of {shape} has not: the library stops with IndexError",
        "write `colwise` for a parameter with one dim",
    ),
    "no-experts-dim": ("{word} cuts dim 0 of {shape}, which holds no experts", _EXPERTS),
    "layer-parameter": (_STOPS, "name the module instead: {names}"),
    "parameter": (_STOPS, "give {names} `local_params`"),
}
"""Reason -> message and advice."""


def check(case: Case) -> Iterator[Finding]:
    carrier = case.plan.carrier
    if case.styles is None or case.tree is None or not case.tree.has_classes or carrier is None:
        return
    if carrier.section == "pp" or case.topology.size(carrier.section) == 1:
        return
    if carrier.section == "ep" and DISPATCH not in {e.style.kind for e in case.styles.winners.values() if e.style}:
        return  # The library applies none of it: HPL711.
    for entry in case.plan.styles:
        if entry.style is None or entry.style.kind not in WORDS or entry.key is None:
            continue
        for name in case.styles.hits.get(entry.index, ()):
            if case.styles.winners.get(name) is not entry:
                continue
            if why := unfit(case.styles, case.tree, name, entry.style.kind):
                yield _finding(entry, name, entry.style.kind, why)


def _finding(entry: StyleEntry, name: str, word: str, why: Unfit) -> Finding:
    needs = WORDS[word].needs or ""
    values = {
        "word": quote(word), "kind": quote(why.kind), "needs": quote(needs), "features": needs.replace("_", " "),
        "names": listing(why.names), "some": listing(why.names, most=4), "linear": quote(ON_LINEAR.get(word, "")),
        "shape": " x ".join(f"{n:,}" for n in why.shape), "dim": why.dim, "other_dim": 1 - why.dim,
        "size": f"{why.shape[1 - why.dim]:,}" if len(why.shape) > 1 else "",
        "beside": f"the word of the module, {quote(why.over)}, changes nothing of" if why.over else "no word changes",
    }  # fmt: skip
    message, advice = (text.format_map(values) for text in WORDING[why.reason])
    severity = "warning" if entry.conditional or why.reason in WARNINGS else None
    return Finding(entry.style.span if entry.style else entry.span, message, advice, entry, name, severity=severity)
