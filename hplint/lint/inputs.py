"""Which inputs of a boundary its forward does not take."""

from hplint.derive.boundary import Boundary
from hplint.lint.case import Case
from hplint.plan.layout import INPUT_FIELDS
from hplint.text.near import near

DERIVED_NAMES = {"embed": "input", "moe_mlp": "x_BLD"}
"""Derived kind -> the input name that derivation uses for it, whatever the forward calls it."""


def unknown_inputs(case: Case, boundary: Boundary) -> dict[str, list[str]]:
    """Keys of in_src and in_dst that the forward does not take, each with the inputs that it may mean.

    None where that cannot be told: nobody wrote these fields or they could not be read, the forward is unknown or will
    be replaced, or it takes any keyword. A name that derivation itself uses counts as known where it stands alone.
    """
    if "in_src" not in boundary.origin and "in_dst" not in boundary.origin:
        return {}
    module = case.tree.modules.get(boundary.fqn) if case.tree else None
    if module is None or not module.forward or not boundary.broken.isdisjoint(INPUT_FIELDS):
        return {}
    if case.coverage is None or case.coverage.is_replaced(boundary.fqn):
        return {}
    names = {p.name for p in module.forward}
    keys = {*(boundary.in_src or ()), *(boundary.in_dst or ())}
    found: dict[str, list[str]] = {}
    for key in sorted(keys - names):
        if len(keys) == 1 and boundary.kind and key == DERIVED_NAMES.get(boundary.kind, "hidden_states"):
            continue  # Derivation itself relies on callers that pass this one by position.
        # Equal layers share a node: one slip is looked up once for all.
        known = (key, id(module.node))
        if known not in case.near_inputs:
            case.near_inputs[known] = near(key, [p.name for p in module.forward if not p.kind.startswith("var_")])
        meant = case.near_inputs[known]
        if meant or all(p.kind != "var_keyword" for p in module.forward):
            found[key] = meant
    return found
