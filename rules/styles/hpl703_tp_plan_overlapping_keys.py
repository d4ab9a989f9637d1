"""HPL703 tp-plan-overlapping-keys: rules that say different things of one weight, and who wins (K3)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Related, quote
from hplint.style_rule import (
    VLLM_WORDS,
    WORDS,
    Reading,
    StyleEntry,
    cut_dim,
    is_embedding,
    is_linear,
    on_styles,
    read_as_vllm,
    shipped_plan,
)

RULE = on_styles("HPL703", "tp-plan-overlapping-keys", "error", "tp_plan")


def check(case: Case) -> Iterator[Finding]:
    carrier = case.plan.carrier
    if case.styles is None or case.tree is None or carrier is None or carrier.section == "pp":
        return
    yield from _parameters(case)
    if carrier.section == "tp" and carrier.kind == "argument" and (case.topology.ep or 1) > 1:
        yield from _given_way(case)
    if case.settings.get("reader") == "vllm" and carrier.section == "tp" and carrier.kind != "model":
        yield from _in_vllm(case)


def _parameters(case: Case) -> Iterator[Finding]:
    """A rule for a parameter that cuts it otherwise than the forward, by the rule of the module, takes it to be cut."""
    assert case.styles is not None and case.tree is not None
    for name, entry in case.styles.winners.items():
        above, _, own = name.rpartition(".")
        over, module, tensor = (
            case.styles.winners.get(above),
            case.tree.modules.get(above),
            case.tree.parameters.get(name),
        )
        if over is None or module is None or tensor is None or name in case.tree.modules:
            continue
        if over.style is None or entry.style is None or not (is_linear(module) or is_embedding(module)):
            continue
        outer, inner = WORDS.get(over.style.kind), WORDS.get(entry.style.kind)
        if outer is None or inner is None or not outer.cuts or over.style.kind == "packed_rowwise":
            continue
        dims = len(tensor.shape)
        taken, given = cut_dim(over.style.kind, own, dims), cut_dim(entry.style.kind, own, dims)
        if taken == given and outer.packed == inner.packed:
            continue
        place, other = (entry, over) if not _is_beside(case, entry) else (over, entry)
        if place.key is None or other.key is None or place.style is None or _is_beside(case, place):
            continue
        yield Finding(
            place.style.span,
            f"{quote(entry.key.value if entry.key else name)} is cut by {quote(entry.style.kind)} ({_dim(given)}), but "
            f"the forward of its module goes by {quote(over.style.kind)} ({_dim(taken)}): it stops on the sizes, in "
            "evaluation at the latest",
            "leave the rule of the parameter out, or give both the same word",
            place,
            name,
            related=() if _is_beside(case, other) else (Related("the other rule", other.key.span),),
            severity="warning" if place.conditional or other.conditional else None,
        )


def _is_beside(case: Case, entry: StyleEntry) -> bool:
    return case.styles is not None and any(entry is e for e in case.styles.beside)


def _dim(dim: int | None) -> str:
    return "whole" if dim is None else f"along dim {dim}"


def _given_way(case: Case) -> Iterator[Finding]:
    """Rules for experts that are spread over ranks: those of the ep_plan come first."""
    assert case.styles is not None and case.tree is not None
    experts, shipped = tuple(shipped_plan(case.tree, "ep")), shipped_plan(case.tree)
    for entry in case.plan.styles:
        key = entry.key.value if entry.key else ""
        first = next((e for e in experts if key == e or key.startswith(f"{e}.")), None)
        if entry.key is None or first is None or not case.styles.hits.get(entry.index):
            continue
        if key in shipped and entry.style and shipped[key].word == entry.style.name:
            continue  # What the model ships gives way as well, and is meant to.
        yield Finding(
            entry.key.span,
            f"the rule {quote(key)} is dropped: with ep={case.topology.ep} the ep_plan of the model has "
            f"{quote(first)}, and what that names keeps no rule of the tp_plan",
            "write it into the `ep_plan`, or set `ep_size=1`",
            entry,
            severity="warning",
        )


def _in_vllm(case: Case) -> Iterator[Finding]:
    assert case.styles is not None and case.tree is not None
    read = read_as_vllm(case.plan, case.tree, case.styles)
    for entry, reason in read.broken:
        if entry.key and not _is_beside(case, entry):
            yield Finding(
                entry.key.span,
                f"vLLM reads {quote(entry.key.value)} as a regular expression, and it is none ({reason}): "
                "loading stops",
                "write the path as it stands, with `*` for numbers",
                entry,
            )
    for layer in read.layers:
        if layer.their_word != layer.our_word and (finding := _read_otherwise(case, layer)):
            yield finding


def _read_otherwise(case: Case, layer: Reading) -> Finding | None:
    theirs, ours, name = layer.theirs, layer.ours, layer.fqn.rpartition(".")[2]
    if theirs is None or theirs.key is None or theirs.style is None:
        return None
    after = f"which gives it {quote(layer.their_word)} instead of {quote(layer.our_word)}"
    if theirs is ours:
        if _is_beside(case, theirs):
            return None
        return Finding(
            theirs.style.span,
            f"vLLM does not know {quote(theirs.style.kind)} and leaves the layer whole on every rank, without a word",
            f"it knows {', '.join(quote(w) for w in sorted(VLLM_WORDS))}",
            theirs,
            layer.fqn,
            severity="warning",
        )
    place = ours if _is_beside(case, theirs) else theirs
    if place is None or place.key is None or _is_beside(case, place):
        return None
    if ours is not None and ours.key is not None:
        advice = f"write the longer key first: {quote(ours.key.value)} before {quote(theirs.key.value)}"
    else:
        advice = f"write a rule for {quote(name)} before it, `replicate` say"
    return Finding(
        place.key.span,
        f"vLLM reads {quote(theirs.key.value)} as a regular expression that the beginning of a name has to match, and "
        f"takes it for {quote(name)} too, {after}",
        advice,
        place,
        layer.fqn,
        related=(Related("the rule that transformers takes", ours.key.span),)
        if ours and ours.key and place is theirs and not _is_beside(case, ours)
        else (),
        severity="warning",
    )
