"""Latent attention under a ``tp_plan``: the compressed projection, and the one that makes heads of it."""

from collections.abc import Iterator

from hplint.resolve.styles.projections import config_of
from hplint.resolve.tp_plan.flow import Flow, Flows, is_cut


def latent_pairs(flows: Flows) -> Iterator[tuple[str, Flow, Flow]]:
    """Each compressed projection whose rotary part goes to the heads past the second one; how the two of them flow."""
    for parent in flows.parents():
        first, then = f"{parent}.kv_a_proj_with_mqa", f"{parent}.kv_b_proj"
        if first not in flows.tree.modules or then not in flows.tree.modules:
            continue
        one, other = flows.of(first), flows.of(then)
        if one is None or other is None or "qk_rope_head_dim" not in config_of(flows.tree, parent):
            continue
        missing = [f for f, flow in ((first, one), (then, other)) if flow.entry is None]
        if any(flows.may_be_meant(f) for f in missing) or is_cut(one):
            continue
        yield first, one, other
