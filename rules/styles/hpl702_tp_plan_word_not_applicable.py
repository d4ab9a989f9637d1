"""HPL702 tp-plan-word-not-applicable: words on modules and parameters that they cannot cut (K4)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hplint.rule import Case, Finding, Module, ModuleTree, Span, listing, quote
from hplint.style_rule import WORDS, StyleEntry, cut_dim, experts_of, is_embedding, is_linear, on_styles

RULE = on_styles("HPL702", "tp-plan-word-not-applicable", "error", "tp_plan")

DISPATCH = "ep_dispatch_experts"
LOCAL = frozenset((
    "colwise", "colwise_gather_output", "colwise_rep", "rowwise", "rowwise_split_input", "rowwise_rep",
    "embedding_rowwise", "embedding_colwise", "packed_colwise", "moe_tp_experts", "local_params",
    DISPATCH,
))  # fmt: skip
"""Words under which the forward of a module can use cut parameters of its own."""
_EMBEDDINGS = {"embedding_rowwise": "colwise_gather_output", "embedding_colwise": "rowwise_split_input"}
"""Words for embeddings, and what they come to on a Linear."""
_ROPE = "qk_rope_head_dim"


class Wrong(NamedTuple):
    """What is wrong with a word at a module, and what to do."""

    message: str
    advice: str
    severity: str | None = None


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
            if wrong := _wrong(case, case.tree, name, entry.style.kind):
                yield _finding(entry, name, wrong)


def _finding(entry: StyleEntry, name: str, wrong: Wrong) -> Finding:
    severity = "warning" if entry.conditional else wrong.severity
    return Finding(_place(entry), wrong.message, wrong.advice, entry, name, severity=severity)


def _place(entry: StyleEntry) -> Span:
    return entry.style.span if entry.style else entry.span


def _wrong(case: Case, tree: ModuleTree, name: str, word: str) -> Wrong | None:
    module = tree.modules.get(name)
    if module is None:
        return _on_parameter(case, tree, name, word)
    if module.cls is None:
        return None
    return (
        _on_quantised(module, word)
        or _without_attribute(tree, module, word)
        or _on_other_layer(module, word)
        or _on_container(module, word)
        or _on_experts(case, module, word)
        or _of_the_config(tree, word)
    )


def starred(name: str) -> str:
    """A name as keys spell it."""
    return ".".join("*" if part.isdecimal() else part for part in name.split("."))


def _without_attribute(tree: ModuleTree, module: Module, word: str) -> Wrong | None:
    """The library asks for the size of the layer before it hooks its forward."""
    needs = WORDS[word].needs
    if needs not in ("out_features", "in_features") or needs in module.ints or module.cls is None:
        return None
    if is_embedding(module):
        return None  # HPL710 tells of those.
    message = (
        f"{quote(word)} on a {quote(module.cls.short)}, which has no {quote(needs)}: the library stops with ValueError"
    )
    prefix = f"{module.fqn}."
    below = [starred(m.fqn[len(prefix) :]) for m in tree.modules.values() if m.fqn.startswith(prefix) and is_linear(m)]
    if "base_layer" in below:
        return Wrong(
            message, "an adapter wraps the layer: its base layer and its own weights are cut by rules of theirs"
        )
    if below:
        return Wrong(message, f"name what it holds: {listing(dict.fromkeys(below), most=4)}")
    whole = "`replicated_with_grad_allreduce` or no rule leaves it whole"
    return Wrong(message, f"name its parameters by rules of their own, or leave it whole: {whole}")


def _on_quantised(module: Module, word: str) -> Wrong | None:
    """Layers that keep their weight the other way round, or packed: the dim that is cut holds other features."""
    needs = WORDS[word].needs
    weight = module.parameters.get("weight") or module.parameters.get("qweight")
    size = module.ints.get(needs) if needs else None
    if needs not in ("out_features", "in_features") or weight is None or len(weight.shape) != 2 or size is None:
        return None
    cut = 0 if needs == "out_features" else 1
    if weight.shape[cut] == size or weight.shape[1 - cut] != size or module.cls is None or is_linear(module):
        return None
    return Wrong(
        f"{quote(word)} cuts dim {cut} of a weight of {weight.shape[0]:,} x {weight.shape[1]:,}, but the {size:,} "
        f"{needs.replace('_', ' ')} of this {quote(module.cls.short)} lie along dim {1 - cut}: other features are cut "
        "than the forward expects",
        "leave the layer whole, or load the model without this kind of quantisation",
        "warning",
    )


def _on_other_layer(module: Module, word: str) -> Wrong | None:
    """Words for embeddings on other layers, and what suits norms alone on layers with features."""
    assert module.cls is not None
    kind = quote(module.cls.short)
    if word in _EMBEDDINGS and is_linear(module):
        if word == "embedding_colwise" and "bias" in module.parameters:
            return Wrong(
                f"{quote(word)} cuts dim 1, which the bias of a {kind} has not: the library stops with IndexError",
                f"a linear layer takes {quote(_EMBEDDINGS[word])}",
            )
        return Wrong(
            f"{quote(word)} is meant for embeddings, and this is a {kind}: it comes to "
            f"{quote(_EMBEDDINGS[word])}, by a slower way",
            f"write {quote(_EMBEDDINGS[word])}",
            "warning",
        )
    if word == "sequence_parallel" and (is_linear(module) or is_embedding(module)):
        return Wrong(
            f"`sequence_parallel` on a {kind}: it is meant for norms; the weight stays whole, and where every rank has "
            "the whole sequence its gradient is summed over again",
            "cut the layer by a word for its features, or leave it out of the plan",
            "warning",
        )
    if word == "packed_rowwise" and is_linear(module):
        return Wrong(
            f"`packed_rowwise` cuts the weight of a {kind} and leaves its forward alone: it stops as soon as the plain "
            "input meets the cut weight",
            "name the fused weight of an experts module, or write `rowwise`",
        )
    return None


def _on_container(module: Module, word: str) -> Wrong | None:
    """Rules for modules without parameters of their own."""
    assert module.cls is not None
    known, children = WORDS[word], module.node.children
    if module.parameters or not children or known.needs or word == "replicate":
        return None
    kind, names = quote(module.cls.short), listing(dict.fromkeys(starred(n) for n, _ in children), most=4)
    if module.forward is None:
        return Wrong(
            f"{quote(word)} on a {kind}, whose forward never runs: the rule does nothing",
            f"name what it holds: {names}",
            "warning",
        )
    if word in _EMBEDDINGS or word == "sequence_parallel":
        return Wrong(
            f"{quote(word)} on a {kind}, which has no weight of its own: nothing is cut, and its layers get a DTensor "
            "beside plain weights, which torch refuses",
            f"name what it holds: {names}",
            "warning",
        )
    if known.cuts:
        return Wrong(
            f"{quote(word)} on a {kind}, which has no weight of its own: nothing is cut",
            f"name what it holds: {names}",
            "warning",
        )
    return None


def _on_experts(case: Case, module: Module, word: str) -> Wrong | None:
    """Words for the weights of experts, which the experts' own module needs a word beside."""
    if word != "grouped_gemm" or module.cls is None:
        return None
    wide = [n for n, t in module.parameters.items() if len(t.shape) > 2]
    if not wide:
        return Wrong(
            f"`grouped_gemm` cuts experts, and this {quote(module.cls.short)} has no weight with a dim for them: its "
            "first features are cut, and the forward stops",
            "name the fused weights of the experts, such as `experts.gate_up_proj`",
        )
    return Wrong(
        "`grouped_gemm` on the experts' module cuts their weights and leaves the forward alone: it stops as soon as "
        "a plain input meets a cut weight",
        f"give the module `ep_dispatch_experts`, and `grouped_gemm` to {listing(wide)}",
    )


def _of_the_config(tree: ModuleTree, word: str) -> Wrong | None:
    if word != "mla_kv_a_proj" or not tree.config or _has(tree.config, _ROPE):
        return None
    return Wrong(
        f"`mla_kv_a_proj` splits the output by {quote(_ROPE)}, which the config has not: the first forward stops with "
        "AttributeError",
        "it is a word for projections of latent attention; leave the layer out of the plan",
    )


def _has(config: Mapping[str, object], key: str, depth: int = 0) -> bool:
    return key in config or any(
        _has(v, key, depth + 1) for v in config.values() if isinstance(v, Mapping) and depth < 4
    )


def _on_parameter(case: Case, tree: ModuleTree, name: str, word: str) -> Wrong | None:
    """Rules for one parameter."""
    assert case.styles is not None
    above, _, own = name.rpartition(".")
    tensor, module = tree.parameters.get(name), tree.modules.get(above)
    if tensor is None or module is None or module.cls is None:
        return None
    dim = cut_dim(word, own, len(tensor.shape))
    shape = " x ".join(f"{n:,}" for n in tensor.shape)
    if word == "embedding_colwise" and len(tensor.shape) < 2:
        return Wrong(
            f"`embedding_colwise` cuts dim 1, which a parameter of {shape} has not: the library stops with IndexError",
            "write `colwise` for a parameter with one dim",
        )
    experts = module.ints.get("num_experts")
    if word == "grouped_gemm" and (is_linear(module) or (experts and tensor.shape[:1] != (experts,))):
        return Wrong(
            f"`grouped_gemm` cuts dim 0 of {shape}, which holds no experts",
            "name the fused weights of the experts, such as `experts.gate_up_proj`",
        )
    if dim is None:
        return None
    fused = experts_of(module)
    if fused is not None and name in (fused.up.name, fused.down.name):
        return None  # HPL717 looks at the two weights and their module together.
    over = case.styles.winners.get(above)
    if over is not None and (over.style is None or over.style.kind in LOCAL or over.style.kind not in WORDS):
        return None
    beside = f"the word of the module, {quote(over.style.kind)}, changes" if over and over.style else "no word changes"
    plain = is_linear(module) or is_embedding(module)
    return Wrong(
        f"{quote(word)} cuts this parameter of a {quote(module.cls.short)}, whose forward gets a DTensor beside plain "
        f"tensors and stops; {beside}{' nothing of' if over else ''} that",
        f"name the module instead: {quote(starred(above))}"
        if plain
        else f"give {quote(starred(above))} `local_params`",
        None if plain else "warning",
    )
