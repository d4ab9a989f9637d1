"""HPL707 tp-plan-packed-parameter: several projections in one weight that is cut as if it were one, and the other way
round (D5)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, quote
from hplint.style_rule import (
    PACKED,
    Flows,
    StyleEntry,
    experts_of,
    flows_of,
    is_embedding,
    looks_linear,
    on_styles,
    word_place,
    write_words,
)

RULE = on_styles("HPL707", "tp-plan-packed-parameter", "error", "tp_plan")

PLAIN = {"packed_colwise": "colwise", "packed_rowwise": "rowwise"}
STRIDED = {"colwise": "packed_colwise", "rowwise": "packed_rowwise"}
TWO = ("gate_up_proj", "gate_up", "w13", "kv_proj")
"""Names of weights that hold two projections of one size, as the packed words expect."""
OTHERWISE = ("transformers.models.codegen.", "transformers.models.gpt_oss.")
"""Models whose fused weights do not hold one projection after the other: parts by groups, gate and up by turns."""


def check(case: Case) -> Iterator[Finding]:
    flows = flows_of(case.plan, case.tree, case.styles)
    if flows is None:
        return
    for entry in case.plan.styles:
        word = entry.style.kind if entry.style else ""
        if word not in (*PLAIN, *STRIDED):
            continue
        for fqn in flows.styles.hits.get(entry.index, ()):
            if flows.styles.winners.get(fqn) is entry:
                yield from (
                    _module(flows, entry, fqn, word)
                    if fqn in flows.tree.modules
                    else _parameter(flows, entry, fqn, word)
                )


def _module(flows: Flows, entry: StyleEntry, fqn: str, word: str) -> Iterator[Finding]:
    """What a word does to a linear layer."""
    module, name = flows.tree.modules[fqn], fqn.rpartition(".")[2]
    if not looks_linear(module) and word == "packed_colwise":
        yield from _no_layer(flows, entry, fqn)
    if not looks_linear(module) or (module.cls is not None and _parent(flows, fqn).startswith(OTHERWISE)):
        return
    if word == "packed_colwise" and name not in PACKED:
        instead = "colwise_gather_output" if fqn in flows.heads() else "colwise"
        yield _finding(
            flows,
            entry,
            fqn,
            f"{quote(name)} is one projection, but {quote(word)} cuts it in strides, as if it held two: "
            "the ranks get features that do not belong together, and the results are wrong without an error",
            f"write {quote(instead)}",
            instead,
        )
    elif word == "packed_colwise" and name not in TWO:
        yield _finding(
            flows,
            entry,
            fqn,
            f"{quote(name)} holds {PACKED[name]}, but {quote(word)} cuts it as if it held two parts of one size: the "
            "ranks get a mixture, and the results are wrong without an error",
            "write `colwise_gather_output`, and `rowwise_split_input` for the layer that follows",
        )
    elif word == "colwise" and name in PACKED:
        what = f"{quote(name)} holds {PACKED[name]} one after the other; cut as one weight, the first rank gets other "
        if name in TWO:
            after = "parts than the last, and the results are wrong without an error"
            yield _finding(flows, entry, fqn, what + after, f"write {quote('packed_colwise')}", "packed_colwise")
        else:
            after = "parts than the last: the split after it fails, or takes the wrong features"
            advice = "write `colwise_gather_output`, and `rowwise_split_input` for the layer that follows"
            yield _finding(flows, entry, fqn, what + after, advice, sure=name in ("qkv_proj", "gate_up_proj"))


def _no_layer(flows: Flows, entry: StyleEntry, fqn: str) -> Iterator[Finding]:
    """The word on norms, routers and activations."""
    module = flows.tree.modules[fqn]
    if module.node.children and not module.parameters:
        return  # HPL702 speaks of containers.
    if module.cls is None or is_embedding(module) or flows.is_called_by_keyword(fqn):
        return
    if module.parameters:
        what = "its forward uses the rank's strides of its parameters as if they were all"
    else:
        what = "it has no weight to cut, and the gradient of its input is summed over the ranks"
    message = (
        f"`packed_colwise` on a {quote(module.cls.short)}, which is no fused layer: {what}; it fails, or is wrong "
        "without an error"
    )
    yield _finding(flows, entry, fqn, message, "remove the rule, or name the fused layer")


def _parameter(flows: Flows, entry: StyleEntry, parameter: str, word: str) -> Iterator[Finding]:
    """What a word does to the weights of experts, which are parameters of one module."""
    owner, _, name = parameter.rpartition(".")
    experts = experts_of(flows.tree.modules[owner])
    if experts is None or _class(flows, owner).startswith(OTHERWISE):
        return
    if word in STRIDED and experts.packed and (parameter, flows.cut(parameter)) == experts.up[:2]:
        yield _finding(
            flows,
            entry,
            owner,
            f"{quote(name)} holds gate and up one after the other, but {quote(word)} cuts it as one weight: the first "
            "rank gets gate and the last one up, or, where a checkpoint has them apart, what is saved is mixed up; "
            "wrong without an error",
            f"write {quote(experts.up.word)}",
            experts.up.word,
        )
    elif word in PLAIN and not (experts.packed and parameter == experts.up.name):
        instead = experts.down.word if parameter == experts.down.name else PLAIN[word]
        yield _finding(
            flows,
            entry,
            owner,
            f"{quote(name)} is one projection of each expert, but {quote(word)} cuts it in strides, as if it held two: "
            "the parts of a checkpoint are mixed up without an error",
            f"write {quote(instead)}",
            instead,
        )


def _parent(flows: Flows, fqn: str) -> str:
    return _class(flows, fqn.rpartition(".")[0])


def _class(flows: Flows, fqn: str) -> str:
    """The path of a module's class."""
    module = flows.tree.modules.get(fqn)
    return module.cls.name if module and module.cls else ""


def _finding(
    flows: Flows, entry: StyleEntry, fqn: str, message: str, advice: str, word: str | None = None, sure: bool = True
) -> Finding:  # fmt: skip
    fixes = write_words(flows.plan, [(entry, word)]) if word else ()
    severity = None if sure and not entry.conditional else "warning"
    return Finding(word_place(flows.plan, entry), message, advice, entry, fqn, fixes=fixes, severity=severity)
