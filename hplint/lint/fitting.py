"""Which shipped function fits a module: what to inject where something is missing."""

from hplint.model.tree import Module, ModuleTree


def fitting_wrapper(module: Module) -> str:
    """The registry name of the attention wrapper for a forward; "" where none surely fits."""
    names = {p.name for p in module.forward or ()}
    if "hidden_states" in names:
        return "sdpa_hf"
    return "sdpa_qkv" if {"q", "k", "v"} <= names else ""


def fitting_recipe(tree: ModuleTree, fqn: str) -> str:
    """The dotted path of the factory that computes a module's experts over ep, by its children; "" where none fits.

    Of two that need the same children the family's own comes first; then what the gate returns decides: a plain linear
    layer gives logits, a router the triple of logits, scores and indices.
    """
    from hplint.targets.shipped import TABLE

    module = tree.modules[fqn]
    children = set(tree.children(fqn))
    fitting = [s for s in TABLE.values() if s.mark == "local_compute" and set(s.needs_children) <= children]
    if not fitting or module.cls is None:
        return ""
    most = max(len(s.needs_children) for s in fitting)
    best = {s.name.removesuffix("_ep_compute_fn"): s.dotted for s in fitting if len(s.needs_children) == most}
    if len(best) == 1:
        return next(iter(best.values()))
    gate = tree.modules.get(f"{fqn}.gate")
    logits = gate is not None and gate.cls is not None and gate.cls.is_a("torch.nn.modules.linear.Linear")
    own = next((name for name in best if module.cls.short.lower().startswith(name)), "")
    return best.get(own) or best.get("routed_only" if logits else "mixtral", "")
