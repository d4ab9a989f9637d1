"""HPL716 tp-plan-global-size: norms and parameters that keep the size of all heads beside projections that are cut by
heads (A1, A2, N1, by names and shapes).
"""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Tensor, quote
from hplint.style_rule import (
    WHOLE_ALL_ALONG,
    Flows,
    flows_of,
    head_size,
    is_cut,
    norms_behind,
    on_styles,
    said,
    word_place,
)

RULE = on_styles("HPL716", "tp-plan-global-size", "error", "tp_plan")


def check(case: Case) -> Iterator[Finding]:
    flows = flows_of(case.plan, case.tree, case.styles)
    if flows is not None:
        yield from (*_norms(flows), *_companions(flows))


def _norms(flows: Flows) -> Iterator[Finding]:
    """Norms over all heads at once, of which each rank has its own alone."""
    for parent in flows.parents():
        for norm, layer in norms_behind(flows.tree, parent, whole=True):
            name, source = (quote(fqn.rpartition(".")[2]) for fqn in (norm, layer))
            size, flow = _width(flows, norm), flows.of(layer)
            if size is None or size != _width(flows, layer) or not is_cut(flow) or flow is None:
                continue
            place = flows.own(flow.entry, flows.styles.winners.get(norm))
            if place is not None:
                yield Finding(
                    word_place(flows.plan, place),
                    f"{name} is a norm over all {size} features of {source}, but {said(layer, flow)} leaves each rank "
                    "its slice: the first forward fails on the size of the norm's weight",
                    f"gather the layers before the norms ({quote(WHOLE_ALL_ALONG[0])}) and split again in the last one "
                    f"({quote(WHOLE_ALL_ALONG[1])})",
                    place,
                    layer,
                    severity="warning" if place.conditional else None,
                )


def _companions(flows: Flows) -> Iterator[Finding]:
    """Parameters with one number for each head, whole beside projections that are cut by heads."""
    for parent in flows.parents():
        head = head_size(flows.tree, parent)
        counts = _cut_heads(flows, parent, head) if head else {}
        for full, tensor in _numbers(flows, parent) if counts else ():
            layer = counts.get(tensor.shape[0])
            flow = flows.of(layer) if layer else None
            place = flows.own(flow.entry) if flow else None
            if layer is None or flow is None or place is None or flows.cut(full) is not None:
                continue
            if flows.may_be_meant(full):
                continue
            name = quote(full[len(parent) + 1 :])
            yield Finding(
                word_place(flows.plan, place),
                f"{name} has one number for each of the {tensor.shape[0]} heads, but {said(layer, flow)} leaves each "
                "rank its own heads: the sizes differ, and the first forward fails",
                f"give {name} the rule `colwise`, and the module that has it `local_params`",
                place,
                parent,
                severity="warning" if place.conditional else None,
            )


def _cut_heads(flows: Flows, parent: str, head: int) -> dict[int, str]:
    """Number of heads -> the projection that is cut by them."""
    found: dict[int, str] = {}
    for name in ("q_proj", "k_proj"):
        layer = f"{parent}.{name}"
        width = _width(flows, layer) if layer in flows.tree.modules else None
        if width is not None and width > head and is_cut(flows.of(layer)):
            found.setdefault(width // head, layer)
    return found


def _numbers(flows: Flows, parent: str) -> Iterator[tuple[str, Tensor]]:
    """Parameters of one dim that an attention or a part of it has for itself; norms work on features, not on heads."""
    modules = flows.tree.modules
    parts = [f"{parent}.{name}" for name, _ in modules[parent].node.children if "norm" not in name.lower()]
    for fqn in (parent, *(p for p in parts if p in modules and "weight" not in modules[p].parameters)):
        for name, tensor in modules[fqn].parameters.items():
            if len(tensor.shape) == 1 and tensor.shape[0] > 1:
                yield f"{fqn}.{name}", tensor


def _width(flows: Flows, fqn: str) -> int | None:
    """Size of the first dim of a module's weight."""
    weight = flows.tree.modules[fqn].parameters.get("weight")
    return weight.shape[0] if weight is not None and weight.shape else None
